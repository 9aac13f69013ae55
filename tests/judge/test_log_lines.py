"""Rules L1 and L3: framing, shape, seq and ids, each with the smallest log that breaks it.

The logs of `tests.loggen.small` are legal; each row differs from one of them as little as it says.
Messages show ids by the names they have there.
"""

from __future__ import annotations

import json

import pytest

from chaos.judge.strict import check_log
from chaos.judge.strict_json import decode_json
from tests.loggen.render import raw, render
from tests.loggen.small import (
    ATTEMPT,
    PROMPT,
    REPLY,
    RESULT,
    RUN,
    SESSION,
    answered,
    attempt,
    changed,
    header,
    intent,
    log,
    reply,
    u,
    usage,
    with_names,
)

LEGAL: dict[str, bytes] = {
    "a header alone": render([header()]),
    "a torn tail, even one that parses": render(answered()) + b"{}",
    "integers with an empty fraction": changed(answered, 3, seq=raw("3.0"), timestamp=raw("1e3")),
    "spaces": render(answered()).replace(b'{"kind"', b'{ "kind"'),
    "a line separator that is none here": changed(
        answered, 2, 0, "entry", "message", content="a\u2028b\u0085c"
    ),
    "an escaped pair of surrogates": changed(
        answered, 2, 0, "entry", "message", content=raw(r'"\ud83d\ude00"')
    ),
}


@pytest.mark.parametrize("what", LEGAL)
def test_what_the_contract_allows_is_quiet(what: str) -> None:
    assert check_log(LEGAL[what]) == []


# what is broken -> the log, the rule, and what is said
BROKEN: dict[str, tuple[bytes, str, str]] = {
    "an empty file": (
        b"",
        "L1",
        "MISSING_HEADER at line 1: expected a header line that ends in LF; found 0 bytes",
    ),
    "no complete line": (
        render([header()])[:-1],
        "L1",
        "MISSING_HEADER at line 1: expected a header line that ends in LF; found 152 bytes",
    ),
    "a header of another version": (
        changed(answered, 1, version=1),
        "L1",
        "UNSUPPORTED_VERSION at line 1: expected version 2; found 1",
    ),
    "a header with an unknown key": (
        changed(answered, 1, mac="x"),
        "L1",
        "INVALID_HEADER at line 1: expected mac: only the keys kind, version, id, createdAt, "
        "cwd, provider, model, environmentIdentity; found an unknown key",
    ),
    "no header": (
        render(answered()[2:]),
        "L1",
        "INVALID_HEADER at line 1: expected version: this required key; found none",
    ),
    "bytes that are no UTF-8": (
        render(answered()) + b"\xff\n",
        "L1",
        "INVALID_UTF8 at line 6: expected strict UTF-8; found byte 0 does not decode",
    ),
    "a blank line": (
        render(answered()) + b" \t\n",
        "L1",
        "BLANK_LINE at line 6: expected a header or a transaction; found a blank line",
    ),
    "CR LF": (
        render(answered()).replace(b"\n", b"\r\n"),
        "L1",
        "CRLF_NOT_ALLOWED at line 1: expected lines that end in LF alone; found CR LF",
    ),
    "a line cut short that has its LF": (
        render(answered()) + b'{"kind":\n',
        "L1",
        "MALFORMED_JSON at line 6: expected one strict JSON value; found Expecting value: line "
        "1 column 9 (char 8)",
    ),
    "a key twice": (
        render(answered()).replace(b'"role"', b'"role":"user","role"'),
        "L1",
        "MALFORMED_JSON at line 2: expected one strict JSON value; found the key 'role' twice "
        "in one object",
    ),
    "a lone surrogate": (
        changed(answered, 2, 0, "entry", "message", content=raw(r'"\ud800"')),
        "L1",
        "MALFORMED_JSON at line 2: expected one strict JSON value; found a lone surrogate in a "
        "string",
    ),
    "NaN": (
        changed(answered, 3, timestamp=raw("NaN")),
        "L1",
        "MALFORMED_JSON at line 3: expected one strict JSON value; found NaN, which is no JSON",
    ),
    "an empty transaction": (
        log([]),
        "L1",
        "EMPTY_TRANSACTION at line 3: expected at least one fact in a transaction; found none",
    ),
    "a transaction that is a number": (
        render(answered()) + b"7\n",
        "L1",
        "INVALID_FACT at line 6: expected a fact, which is an object; found 7",
    ),
    "an unknown key in a fact": (
        changed(answered, 3, mac="x"),
        "L1",
        "INVALID_FACT at line 3, seq 3: expected the keys of a record fact; found missing or "
        "unknown: mac",
    ),
    "a fact without one of its keys": (
        log(
            attempt(),
            {k: v for k, v in usage(attemptId=ATTEMPT).items() if k != "usage"},
        ),
        "L1",
        "INVALID_FACT at line 4, seq 4: expected the keys of a usage fact; found missing or "
        "unknown: usage",
    ),
    "a fact of an unknown kind": (
        changed(answered, 3, kind="note"),
        "L1",
        'INVALID_FACT at line 3, seq 3: expected kind entry, record or usage; found "note"',
    ),
    "usage of an operation whose name is no id": (
        changed(answered, 4, 1, operationId="x"),
        "L1",
        'INVALID_FACT at line 4, seq 5: expected operationId: a lower-case UUIDv7; found "x"',
    ),
    "usage of an attempt whose name is no id": (
        changed(answered, 4, 1, attemptId="x"),
        "L1",
        'INVALID_FACT at line 4, seq 5: expected attemptId: a lower-case UUIDv7; found "x"',
    ),
    "a negative counter": (
        changed(answered, 4, 1, "usage", input=-1),
        "L1",
        "INVALID_FACT at line 4, seq 5: expected usage.input: an integer from 0 to "
        "9007199254740991; found -1",
    ),
    "an unknown record": (
        changed(answered, 3, "record", type="note"),
        "L1",
        'INVALID_FACT at line 3, seq 3: expected record.type: "runStarted" or '
        '"compactionStarted" or "stepAttempt" or "stepFailed" or "toolStarted" or '
        '"abortRequested" or "operationFinished"; found "note"',
    ),
    "a number for a text": (
        changed(answered, 4, 0, "entry", "message", content=7),
        "L1",
        "INVALID_FACT at line 4, seq 4: expected entry.message.content: a string or null; found 7",
    ),
    "a negative timestamp": (
        changed(answered, 3, timestamp=-1),
        "L1",
        "INVALID_FACT at line 3, seq 3: expected timestamp: an integer from 0 to "
        "9007199254740991; found -1",
    ),
    "a gap in seq": (
        changed(answered, 3, seq=4),
        "L3",
        "SEQ_MISMATCH at line 3, seq 4: expected seq 3; found 4",
    ),
    "an id that is no UUIDv7": (
        changed(answered, 3, id=u(1).upper()),
        "L3",
        "INVALID_FACT at line 3, seq 3: expected id: a lower-case UUIDv7; found "
        '"018F0000-0000-7000-8000-000000000001"',
    ),
    "a fact id twice": (
        changed(answered, 3, id=PROMPT),
        "L3",
        "DUPLICATE_ID at line 3, seq 3: expected an id that stands for nothing else; found PROMPT",
    ),
    "the session's id again": (
        changed(answered, 3, id=SESSION),
        "L3",
        "DUPLICATE_ID at line 3, seq 3: expected an id that stands for nothing else; found SESSION",
    ),
    "an attempt under the run's id": (
        log(attempt(name=RUN)),
        "L3",
        "DUPLICATE_ID at line 3, seq 3: expected a new id that stands for nothing else; found RUN",
    ),
    "a step under the id of its own attempt": (
        log(attempt(step=ATTEMPT)),
        "L3",
        "DUPLICATE_ID at line 3, seq 3: expected a new id that stands for nothing else; found "
        "ATTEMPT",
    ),
    "a reserved result id used by another fact": (
        log(attempt(), reply(None, "c0"), intent(), {**usage(attemptId=ATTEMPT), "id": RESULT}),
        "L3",
        "DUPLICATE_ID at line 6, seq 6: expected an id reserved for a result to be used by "
        "that result alone; found RESULT",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_breaks_a_rule_is_named_with_its_place(what: str) -> None:
    data, rule, message = BROKEN[what]
    (violation,) = check_log(data)
    assert (violation.id, with_names(violation.message)) == (rule, message)


def test_the_evidence_says_code_line_and_seq() -> None:
    (violation,) = check_log(changed(answered, 5, "record", finalEntryId=PROMPT))
    assert violation.evidence == {
        "code": "INVALID_REFERENCE",
        "line": 5,
        "seq": 6,
        "expected": f"finalEntryId {REPLY}, the last reply",
        "found": PROMPT,
    }


@pytest.mark.parametrize("seq", [0, -1, 1.5, "3", None, True, 2**53])
def test_an_unusable_seq_is_not_in_the_evidence(seq: object) -> None:
    (violation,) = check_log(changed(answered, 3, seq=seq))
    assert (violation.evidence["code"], violation.evidence["line"]) == ("INVALID_FACT", 3)
    assert "seq" not in violation.evidence


def test_the_questions_about_a_fact_come_in_the_order_of_the_contract() -> None:
    """One fact with every fault at once; each one mended shows the next."""
    lines = answered()
    fact = lines[2]
    fact |= {"mac": 1, "seq": 9, "id": PROMPT.upper(), "timestamp": -1}
    fact["record"] |= {"attemptId": RUN, "stepKind": "compaction", "attempt": 3}

    def found() -> str:
        (violation,) = check_log(render(lines))
        return with_names(violation.message).partition(": ")[2].partition(";")[0]

    said = [found()]
    for mended in (
        lambda: fact.pop("mac"),
        lambda: fact.update(seq=3),
        lambda: fact.update(id=PROMPT),
        lambda: fact.update(timestamp=1),
        lambda: fact.update(id=u(0x90)),
        lambda: fact["record"].update(attempt=1),
        lambda: fact["record"].update(stepKind="assistant"),
    ):
        mended()
        said.append(found())
    assert said == [
        "expected the keys of a record fact",
        "expected seq 3",
        "expected id: a lower-case UUIDv7",
        "expected timestamp: an integer from 0 to 9007199254740991",
        "expected an id that stands for nothing else",
        "expected record.attempt: an integer from 1 to 2",
        "expected stepKind assistant in a run",
        "expected a new id that stands for nothing else",
    ]


def test_a_log_is_judged_up_to_its_first_broken_fact_only() -> None:
    lines = answered()
    lines[2]["seq"], lines[4]["timestamp"] = 7, -1
    (violation,) = check_log(render(lines))
    assert violation.evidence["line"] == 3


def test_an_object_of_many_keys_has_none_twice() -> None:
    """More than there are small integers."""
    many = {str(number): number for number in range(300)}
    assert decode_json(json.dumps(many)) == many


def test_json_nested_beyond_all_bounds_is_malformed_and_no_crash() -> None:
    (violation,) = check_log(render(answered()) + b"[" * 100_000 + b"\n")
    assert (violation.id, violation.evidence["code"]) == ("L1", "MALFORMED_JSON")
