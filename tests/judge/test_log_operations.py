"""Rules L4, L7, L9, L10 and L11: operations, their ends, usage, compaction and abort.

The logs of `tests.loggen.small` are legal; each row differs from one of them as little as it says.
Messages show ids by the names they have there.
"""

from __future__ import annotations

import json

import pytest

from chaos.judge.strict import check_log
from tests.judge.build import Story
from tests.loggen.render import digest, flat, render
from tests.loggen.small import (
    ATTEMPT,
    ATTEMPT_3,
    COMPACTION,
    ERROR,
    INTENT,
    PROMPT,
    REPLY,
    RUN,
    STEP_3,
    aborting,
    after,
    answered,
    attempt,
    changed,
    compacted,
    completed,
    failed,
    finish,
    header,
    intent,
    log,
    numbered,
    prompt,
    record,
    reply,
    result,
    tool_run,
    u,
    usage,
    with_names,
)

LEGAL: dict[str, bytes] = {
    "a failed run": log(attempt(), failed(), finish("failed", error=ERROR)),
    "a run that failed before its first step": log(finish("failed", error=ERROR)),
    "a blank answer that ends as failed": log(
        attempt(), reply(" \n"), finish("failed", error=ERROR)
    ),
    "an answer that an abort overtook": log(attempt(), reply(), aborting(), finish("aborted")),
    "usage after the end": log(attempt(), reply(), completed(), usage(attemptId=ATTEMPT)),
    "usage of a tool": log(
        attempt(), reply(None, "c0"), intent(), [result(), usage(toolStartedId=INTENT)]
    ),
}


def test_legal_courses_are_quiet_at_every_line() -> None:
    for make in (answered, tool_run, compacted):
        lines = make()
        for length in range(1, len(lines) + 1):
            assert check_log(render(lines[:length])) == []


@pytest.mark.parametrize("what", LEGAL)
def test_what_the_contract_allows_is_quiet(what: str) -> None:
    assert check_log(LEGAL[what]) == []


def split_turn() -> bytes:
    """A compaction whose cut falls between a call and its result."""
    sources = [
        {"sourceEntryId": fact["id"], "message": fact["entry"]["message"]}
        for fact in flat(tool_run())
        if fact["kind"] == "entry"
    ]
    ids = [source["sourceEntryId"] for source in sources]
    started, began, summary, _ = compacted()[5:]
    del started["id"], began["id"]
    started["record"] |= {
        "inputThroughEntryId": ids[-1],
        "compactedEntryIds": ids[:2],
        "retainedEntryIds": ids[2:],
        "sourceDigest": digest(sources),
    }
    began["record"]["contextThroughEntryId"] = ids[-1]
    summary["entry"] |= {"compactedThroughEntryId": ids[1], "retainedTail": sources[2:]}
    return after(tool_run, 9, started, began, summary)


# what is broken -> the log, the rule, and what is said
BROKEN: dict[str, tuple[bytes, str, str]] = {
    "two runs at once": (
        log(prompt(u(0x90), u(0x91))),
        "L4",
        "INVALID_TRANSITION at line 3, seq 3: expected no open operation before a user "
        "message; found run RUN is not finished",
    ),
    "a run within a run": (
        log(record("runStarted", u(0x90), operationKind="run", inputEntryId=PROMPT)),
        "L4",
        "INVALID_TRANSITION at line 3, seq 3: expected no open operation before runStarted; "
        "found run RUN is not finished",
    ),
    "a compaction within a run": (
        log(attempt(), reply(), compacted()[5]),
        "L4",
        "INVALID_TRANSITION at line 5, seq 5: expected no open operation before "
        "compactionStarted; found run RUN is not finished",
    ),
    "a run whose prompt is in the line before": (
        render(numbered(header(), *prompt())),
        "L4",
        "INVALID_REFERENCE at line 3, seq 2: expected inputEntryId to name the user entry just "
        "before it in the same transaction; found PROMPT",
    ),
    "a run without its prompt": (
        render(numbered(header(), prompt()[1])),
        "L4",
        "INVALID_REFERENCE at line 2, seq 1: expected inputEntryId to name the user entry just "
        "before it in the same transaction; found PROMPT",
    ),
    "a record of an operation that never began": (
        log(attempt(operation=u(0x90))),
        "L4",
        "INVALID_REFERENCE at line 3, seq 3: expected operationId to name an operation that "
        "began; found u(0x90)",
    ),
    "an operation of another kind": (
        log(record("operationFinished", RUN, operationKind="compaction", outcome="aborted")),
        "L4",
        "INVALID_REFERENCE at line 3, seq 3: expected operationKind run, as the operation "
        "began; found compaction",
    ),
    "a reply in a compaction": (
        after(compacted, 7, reply(step=STEP_3, name=ATTEMPT_3, entry_id=u(0x90))),
        "L4",
        "INVALID_TRANSITION at line 8, seq 9: expected an assistant message in a run only; "
        "found one in a compaction",
    ),
    "two ends": (
        log(attempt(), reply(), completed(), completed()),
        "L7",
        "INVALID_TRANSITION at line 6, seq 6: expected operationFinished while its operation "
        "RUN is open; found none is open",
    ),
    "an end without a step": (
        log(completed(PROMPT)),
        "L7",
        "INVALID_TRANSITION at line 3, seq 3: expected a step settled by stop before its end; "
        "found no step",
    ),
    "an end while the attempt is open": (
        log(attempt(), completed(PROMPT)),
        "L7",
        "INVALID_TRANSITION at line 4, seq 4: expected a step settled by stop before its end; "
        "found attempt 1 is open",
    ),
    "a blank answer that ends as completed": (
        log(attempt(), reply(" \n"), completed()),
        "L7",
        "INVALID_TRANSITION at line 5, seq 5: expected a final reply with content; found a "
        "blank one",
    ),
    "a normal end after a tool turn": (
        log(attempt(), reply(None, "c0"), intent(), result(), completed()),
        "L7",
        "INVALID_TRANSITION at line 7, seq 7: expected a step settled by stop before its end; "
        "found toolUse",
    ),
    "an end that names another entry": (
        changed(answered, 5, "record", finalEntryId=PROMPT),
        "L7",
        "INVALID_REFERENCE at line 5, seq 6: expected finalEntryId REPLY, the last reply; "
        "found PROMPT",
    ),
    "usage of an attempt that never began": (
        log(attempt(), usage(attemptId=u(0x90))),
        "L9",
        "INVALID_REFERENCE at line 4, seq 4: expected attemptId u(0x90) to belong to operation "
        "RUN; found no such thing",
    ),
    "usage of another operation's attempt": (
        log(attempt(), usage(u(0x90), attemptId=ATTEMPT)),
        "L9",
        "INVALID_REFERENCE at line 4, seq 4: expected attemptId ATTEMPT to belong to operation "
        "u(0x90); found operation RUN",
    ),
    "usage of both an attempt and a tool": (
        log(attempt(), usage(attemptId=ATTEMPT, toolStartedId=INTENT)),
        "L9",
        "INVALID_FACT at line 4, seq 4: expected exactly one of attemptId and toolStartedId; "
        "found ['attemptId', 'toolStartedId']",
    ),
    "usage beyond all sums": (
        after(answered, 5, usage(attemptId=ATTEMPT, input=2**53 - 1)),
        "L9",
        "INVALID_FACT at line 6, seq 7: expected the sum of input to stay within "
        "9007199254740991; found 9007199254740992",
    ),
    "aborted without an abort": (
        log(attempt(), failed(), finish("aborted")),
        "L11",
        "INVALID_TRANSITION at line 5, seq 5: expected outcome aborted exactly after "
        "abortRequested; found aborted without abortRequested",
    ),
    "completed after an abort": (
        log(attempt(), reply(), aborting(), completed()),
        "L11",
        "INVALID_TRANSITION at line 6, seq 6: expected outcome aborted exactly after "
        "abortRequested; found completed after abortRequested",
    ),
    "aborted with an open attempt": (
        log(attempt(), aborting(), finish("aborted")),
        "L11",
        "INVALID_TRANSITION at line 5, seq 5: expected no open attempt at the end of an "
        "aborted operation; found one is open",
    ),
    "an attempt after the abort": (
        log(aborting(), attempt()),
        "L11",
        "INVALID_TRANSITION at line 4, seq 4: expected no new attempt after the abort; found a "
        "stepAttempt",
    ),
    "an intent after the abort": (
        log(attempt(), reply(None, "c0"), aborting("tool", toolCallId="c0"), intent()),
        "L11",
        "INVALID_TRANSITION at line 6, seq 6: expected no intent after the abort; found "
        "toolStarted",
    ),
    "an abort when nothing runs": (
        log(attempt(), reply(), completed(), aborting()),
        "L11",
        "INVALID_TRANSITION at line 6, seq 6: expected abortRequested while its operation RUN "
        "is open; found none is open",
    ),
    "a compaction that leaves a message out": (
        changed(compacted, 6, "record", retainedEntryIds=[]),
        "L10",
        "INVALID_REFERENCE at line 6, seq 7: expected compacted and retained ids to be the 2 "
        "message entries in order; found 1, ends early",
    ),
    "a compaction in another order": (
        changed(compacted, 6, "record", compactedEntryIds=[REPLY], retainedEntryIds=[PROMPT]),
        "L10",
        "INVALID_REFERENCE at line 6, seq 7: expected compacted and retained ids to be the 2 "
        "message entries in order; found 2, the first difference at 0",
    ),
    "a compaction with another digest": (
        changed(compacted, 6, "record", sourceDigest=digest("x")),
        "L10",
        "INVALID_REFERENCE at line 6, seq 7: expected sourceDigest DIGEST, that of the "
        "sources; found DIGEST",
    ),
    "a compaction through an earlier message": (
        changed(compacted, 6, "record", inputThroughEntryId=PROMPT),
        "L10",
        "INVALID_REFERENCE at line 6, seq 7: expected inputThroughEntryId REPLY, the last "
        "message; found PROMPT",
    ),
    "a compaction through a message that is not there": (
        changed(compacted, 6, "record", inputThroughEntryId=u(0xFF)),
        "L10",
        "INVALID_REFERENCE at line 6, seq 7: expected inputThroughEntryId REPLY, the last "
        "message; found u(0xff)",
    ),
    "a compaction of nothing": (
        changed(compacted, 6, "record", compactedEntryIds=[], retainedEntryIds=[PROMPT, REPLY]),
        "L1",
        "INVALID_FACT at line 6, seq 7: expected record.compactedEntryIds: an array of at least 1; "
        "found []",
    ),
    "a tail that differs": (
        changed(compacted, 8, "entry", "retainedTail", 0, "message", content="x"),
        "L10",
        "INVALID_REFERENCE at line 8, seq 9: expected retainedTail to repeat the 1 retained "
        "messages; found 1, the first difference at 0",
    ),
    "a tail that begins with a result": (
        split_turn(),
        "L10",
        "INVALID_TRANSCRIPT at line 12, seq 12: expected a retained tail that keeps each "
        "result with its call; found a result for c0 without its call",
    ),
    "a summary through another message": (
        changed(compacted, 8, "entry", compactedThroughEntryId=REPLY),
        "L10",
        "INVALID_REFERENCE at line 8, seq 9: expected compactedThroughEntryId PROMPT, as "
        "announced; found REPLY",
    ),
    "a summary under another id": (
        changed(compacted, 8, id=u(0x90)),
        "L10",
        "INVALID_REFERENCE at line 8, seq 9: expected the entry's id SUMMARY, as announced; "
        "found u(0x90)",
    ),
    "a summary after its attempt failed": (
        after(compacted, 7, failed(STEP_3, ATTEMPT_3, COMPACTION), compacted()[7]),
        "L10",
        "INVALID_TRANSITION at line 9, seq 10: expected an open compaction attempt before a "
        "compaction entry; found none is open",
    ),
    "a compaction that ends without its summary": (
        after(compacted, 7, compacted()[8]),
        "L7",
        "INVALID_TRANSITION at line 8, seq 9: expected a step settled by compaction before its "
        "end; found attempt 1 is open",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_breaks_a_rule_is_named_with_its_place(what: str) -> None:
    data, rule, message = BROKEN[what]
    (violation,) = check_log(data)
    assert (violation.id, with_names(violation.message)) == (rule, message)


def test_a_compaction_has_one_summary() -> None:
    """A second one, under an id of its own, answers nobody."""
    story = Story("hello").launch("run").header().prompt().attempt().request().reply("hi").finish()
    story.compact(1).attempt().request().summarised()
    *_, summary = json.loads(story.log.splitlines()[-1])
    again = summary | {"seq": summary["seq"] + 1, "id": next(story._ids)}
    (fault,) = check_log(story.log + json.dumps(again).encode() + b"\n")
    assert fault.id == "L10"
    assert "an open compaction attempt before a compaction entry" in fault.message
