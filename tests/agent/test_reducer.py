"""The reducer: whole files and single lines, all or nothing, one error a log.

What each rule refuses stands in `tests/corpus/cases.py`; here is what holds for all of them.
"""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import CODES, SessionError
from agent.inspection import inspect
from agent.reducer import SessionReducer, reduce_session
from tests.corpus.cases import ACCEPTED, REFUSED
from tests.corpus.writer import GONE, SNAPSHOT, Log, call, digest, uid

OTHER_SNAPSHOT = SNAPSHOT | {"model": "other"}
OTHER_CONFIGURATION = {
    "configurationSnapshot": OTHER_SNAPSHOT,
    "configurationDigest": digest(OTHER_SNAPSHOT),
}
OTHER_ANSWER = {"role": "assistant", "content": "other"}
ANSWERS_ANOTHER = {
    "role": "tool",
    "content": "Operation aborted before execution.",
    "tool_call_id": "another",
}


def error_of(log: Log) -> dict[str, Any]:
    with pytest.raises(SessionError) as refused:
        reduce_session(log.data())
    return refused.value.to_json()


@pytest.mark.parametrize("name", ACCEPTED)
def test_line_by_line_equals_the_whole(name: str) -> None:
    log = ACCEPTED[name]
    reducer = SessionReducer()
    for line in log.lines:
        reducer.feed(line)
    assert reducer.state.to_json() == reduce_session(log.data()).to_json()


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_prefix_of_complete_lines_is_legal(name: str) -> None:
    data = ACCEPTED[name].data()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 0x0A]
    for end in ends:
        assert reduce_session(data[:end]).repaired_length == end


def test_a_torn_tail_of_any_length_changes_nothing() -> None:
    log = ACCEPTED["tool-answered"]
    whole = log.data()
    before = whole[: -len(log.lines[-1]) - 1]
    expected = reduce_session(before).to_json()
    for end in range(len(before), len(whole)):
        assert reduce_session(whole[:end]).to_json() == expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_line_changes_nothing_and_the_right_one_still_fits(name: str) -> None:
    log, error = REFUSED[name]
    if error["line"] == 1:
        return
    reducer, untouched = SessionReducer(), SessionReducer()
    for line in log.lines[: error["line"] - 1]:
        reducer.feed(line)
        untouched.feed(line)
    before = copy.deepcopy(vars(reducer)["_ledger"])
    for _ in range(2):
        with pytest.raises(SessionError) as refused:
            reducer.feed(log.lines[error["line"] - 1])
        assert refused.value.to_json() == error
    after = vars(reducer)["_ledger"]
    assert after.state == before.state
    assert after.ids == before.ids
    assert (after.attempts, after.intents) == (before.attempts, before.intents)
    assert reducer.state.to_json() == untouched.state.to_json()


def test_the_last_fact_of_a_transaction_takes_the_first_ones_back() -> None:
    log = Log().asked(call("c0"), call("c1")).intent(0)
    reducer = SessionReducer()
    for line in log.lines:
        reducer.feed(line)
    before = copy.deepcopy(reducer.state)
    log.together().result(0).unstarted("aborted", 1).tried(contextThroughEntryId=uid(2)).end()
    with pytest.raises(SessionError, match="contextThroughEntryId"):
        reducer.feed(log.lines[-1])
    assert reducer.state == before


def test_a_line_is_kept_when_it_is_written_down_and_forgotten_when_it_is_not() -> None:
    log = Log().run()
    reducer, fed = SessionReducer(), SessionReducer()
    for line in log.lines:
        with pytest.raises(OSError, match="no space"), reducer.adding(line):
            raise OSError("no space")
        with reducer.adding(line):
            pass
        fed.feed(line)
        assert reducer.state == fed.state
    with pytest.raises(OSError, match="no space"), reducer.adding(log.tried().lines[-1]):
        raise OSError("no space")
    assert reducer.state == fed.state


def test_what_is_not_legal_is_refused_before_it_is_written_down() -> None:
    log = Log().run()
    reducer = SessionReducer()
    for line in log.lines:
        reducer.feed(line)
    written = []
    with pytest.raises(SessionError, match="SEQ_MISMATCH"), reducer.adding(log.lines[-1]):
        written.append("a byte")
    assert written == []


def test_feed_gives_the_facts_of_the_line() -> None:
    log = Log().run()
    reducer = SessionReducer()
    assert reducer.feed(log.lines[0]) == ()
    facts = reducer.feed(log.lines[1])
    assert [(fact.seq, fact.kind, fact.variant) for fact in facts] == [
        (1, "entry", "user"),
        (2, "record", "runStarted"),
    ]
    assert facts[0].body["message"]["content"] == "hello"


def test_feed_takes_one_line() -> None:
    with pytest.raises(ValueError, match="one line without its LF"):
        SessionReducer().feed(b"{}\n{}")


def test_no_state_before_the_header() -> None:
    with pytest.raises(LookupError, match="no header"):
        _ = SessionReducer().state


def test_other_line_separators_do_not_split() -> None:
    log = Log().run("a\u2028b\u2029c\u0085d")
    assert reduce_session(log.data()).transcript[0]["content"] == "a\u2028b\u2029c\u0085d"


def test_an_error_names_line_and_seq_and_what_was_expected() -> None:
    with pytest.raises(SessionError) as refused:
        reduce_session(Log().run().tried(stepKind="answer").data())
    assert str(refused.value) == (
        "INVALID_FACT at line 3, seq 3: "
        "stepKind: expected 'assistant' or 'compaction', found 'answer'"
    )


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"timestamp": GONE}, "'timestamp'"),
        ({"note": 1}, "'note'"),
        ({"seq": GONE, "note": 1}, "'note', 'seq'"),
    ],
)
def test_what_is_missing_and_what_is_unknown_is_named(changes: dict[str, Any], keys: str) -> None:
    body = {"type": "message", "message": {"role": "user", "content": "hello"}}
    with pytest.raises(SessionError) as refused:
        reduce_session(Log().fact("entry", body, **changes).data())
    assert refused.value.message == f"missing or unknown keys: {keys}"


# The order of the questions about one fact (contract, section 3): of two faults the first counts.
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"seq": 9, "note": 1}, "INVALID_FACT"),
        ({"seq": 9, "id": "x"}, "SEQ_MISMATCH"),
        ({"id": "x", "timestamp": -1}, "INVALID_FACT"),
        ({"id": uid(1), "timestamp": -1}, "INVALID_FACT"),
        ({"id": uid(1), "entry": {}}, "DUPLICATE_ID"),
        ({"kind": ["entry"], "seq": 9}, "INVALID_FACT"),
        ({"seq": 0}, "INVALID_FACT"),
        ({"seq": 2**53}, "INVALID_FACT"),
        ({"timestamp": 1.5}, "INVALID_FACT"),
        ({"timestamp": GONE}, "INVALID_FACT"),
        ({"id": uid(9).upper().replace("01900000", "019AAAAA")}, "INVALID_FACT"),
    ],
)
def test_order_of_questions_about_the_envelope(changes: dict[str, Any], code: str) -> None:
    body = {"type": "message", "message": {"role": "user", "content": "hello"}}
    assert error_of(Log().fact("entry", body, **changes))["code"] == code


def test_shape_comes_before_reference_and_reference_before_reserved_id() -> None:
    run = Log().run()
    assert error_of(run.tried(contextThroughEntryId=uid(77), attemptId="x"))["code"] == (
        "INVALID_FACT"
    )
    run = Log().run()
    assert error_of(run.tried(contextThroughEntryId=uid(77), attemptId=run.operation))["code"] == (
        "INVALID_REFERENCE"
    )


@pytest.mark.parametrize(
    ("log", "code"),
    [
        (Log().run().tried(operationId=uid(77)), "INVALID_REFERENCE"),
        (Log().answered().failed(), "INVALID_TRANSITION"),
        (Log().answered().tried(), "INVALID_TRANSITION"),
        (Log().run().tried(stepKind="compaction"), "INVALID_TRANSITION"),
        (Log().run().tried().tried(2, stepId=uid(77)), "INVALID_REFERENCE"),
        (Log().run().tried().reply(attemptId=uid(77)), "INVALID_REFERENCE"),
        (Log().run().tried().reply().reply(), "INVALID_TRANSITION"),
        (Log().run().tried().reply(stepId=uid(77)), "INVALID_REFERENCE"),
        (Log().run().tried().reply().tried(), "INVALID_TRANSITION"),
        (Log().run().tried().failed().tried(), "INVALID_TRANSITION"),
        (Log().run().tried().reply(stop="toolUse"), "INVALID_TRANSITION"),
        (Log().run().tried().reply(stop="length"), "INVALID_TRANSITION"),
        (Log().asked().intent(toolIndex=1), "INVALID_REFERENCE"),
        (Log().asked().intent(toolCallId="other"), "INVALID_REFERENCE"),
        (Log().asked().intent(toolName="bash"), "INVALID_REFERENCE"),
        (Log().asked().intent(assistantEntryId=uid(77)), "INVALID_REFERENCE"),
        (Log().asked().intent().result().intent(), "INVALID_TRANSITION"),
        (Log().asked().intent().result(toolName="bash"), "INVALID_REFERENCE"),
        (Log().asked().intent().result(toolStartedId=uid(77)), "INVALID_REFERENCE"),
        (Log().asked().intent(resultEntryId=uid(1)), "DUPLICATE_ID"),
        (Log().asked().unstarted("aborted").unstarted("aborted"), "INVALID_TRANSITION"),
        (Log().asked().unstarted("interrupted"), "INVALID_FACT"),
        (Log().run().abort(operationKind="compaction"), "INVALID_REFERENCE"),
        (Log().run().abort("tool"), "INVALID_FACT"),
        (Log().run().abort().tried(), "INVALID_TRANSITION"),
        (Log().asked().abort().intent(), "INVALID_TRANSITION"),
        (Log().run().tried().abort().finish("aborted"), "INVALID_TRANSITION"),
        (Log().asked().abort().finish("aborted"), "INVALID_TRANSITION"),
        (Log().run().tried().failed().abort().finish("failed"), "INVALID_TRANSITION"),
        (Log().run().tried().reply().finish(finalEntryId=uid(77)), "INVALID_REFERENCE"),
        (Log().run().tried().reply().finish(completion="truncated"), "INVALID_TRANSITION"),
        (Log().run().finish(finalEntryId=uid(2)), "INVALID_TRANSITION"),
        (Log().run().finish("failed", error=GONE), "INVALID_FACT"),
        (Log().run().tried().used(operationId=uid(77)), "INVALID_REFERENCE"),
        (
            Log().answered().run().tried().tried(2, contextThroughEntryId=uid(2)),
            "INVALID_TRANSITION",
        ),
        (Log().run().tried().tried(2, **OTHER_CONFIGURATION), "INVALID_TRANSITION"),
        (Log().asked().intent().result(message=ANSWERS_ANOTHER), "INVALID_REFERENCE"),
        (Log().asked().unstarted("aborted", message=ANSWERS_ANOTHER), "INVALID_REFERENCE"),
        (Log().answered().compact(inputThroughEntryId=uid(2)), "INVALID_REFERENCE"),
        (
            Log().answered().compact(1).tried().summary(compactedThroughEntryId=uid(9)),
            "INVALID_REFERENCE",
        ),
        (
            (log := Log().answered().compact(1).tried()).summary(
                retainedTail=[{"sourceEntryId": log.boundary, "message": OTHER_ANSWER}]
            ),
            "INVALID_REFERENCE",
        ),
        (
            Log().asked().unstarted("aborted", assistantEntryId=uid(9)),
            "INVALID_REFERENCE",
        ),  # its own
        (Log().answered().compact().tried().reply(), "INVALID_TRANSITION"),
        (Log().answered().compact().summary(), "INVALID_TRANSITION"),
        (Log().answered().compact().tried().summary(id_=uid(77)), "INVALID_REFERENCE"),
        (Log().answered().compact().user(), "INVALID_TRANSITION"),
        (Log().run().compact(), "INVALID_TRANSITION"),
    ],
)
def test_rules(log: Log, code: str) -> None:
    error = error_of(log)
    assert error["code"] == code
    assert (error["line"], error["seq"]) == (len(log.lines), log.seq)


def test_an_id_reserved_for_a_result_serves_nothing_else() -> None:
    log = Log().asked(call("c0"), call("c1")).intent(0)
    reserved = log.intents[0]["result"]
    body = {
        "type": "message",
        "stepId": log.step,
        "assistantEntryId": log.reply_id,
        "toolIndex": 1,
        "message": {
            "role": "tool",
            "content": "Operation aborted before execution.",
            "tool_call_id": "c1",
        },
        "toolName": "read",
        "result": {"type": "synthetic", "reason": "aborted"},
    }
    assert error_of(log.fact("entry", body, reserved))["code"] == "DUPLICATE_ID"


def test_the_state_knows_the_greatest_id_reserved_ones_too() -> None:
    log = Log().asked().intent()
    assert reduce_session(log.data()).greatest_id == log.intents[0]["result"]


def test_the_boundary_is_the_last_message_whatever_was_compacted() -> None:
    log = Log().answered().compact().tried().summary()
    state = reduce_session(log.data())
    assert state.boundary == log.boundary
    assert state.active_context == [
        {"role": "user", "content": "[Compacted history]\nwhat was said"}
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(ACCEPTED)),
    st.data(),
)
def test_damaged_bytes_raise_nothing_but_session_errors(name: str, data: st.DataObject) -> None:
    log = bytearray(ACCEPTED[name].data())
    position = data.draw(st.integers(0, len(log) - 1))
    log[position : position + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    printed = inspect(bytes(log))
    if printed["ok"]:
        assert printed["state"]["repairedLength"] == bytes(log).rfind(b"\n") + 1
    else:
        assert printed["error"]["code"] in CODES
        assert 1 <= printed["error"]["line"] <= log.count(b"\n") + 1


def test_the_cost_of_a_line_does_not_grow_with_the_log() -> None:
    """Time per run of a late part is that of an early part, within a generous factor."""
    log = Log()
    for _ in range(400):
        log.asked().intent().result().tried().reply().finish()
    reducer = SessionReducer()
    reducer.feed(log.lines[0])
    took = []
    share = (len(log.lines) - 1) // 8
    for part in range(8):
        start = time.process_time()
        for line in log.lines[1 + part * share : 1 + (part + 1) * share]:
            reducer.feed(line)
        took.append(time.process_time() - start)
    assert min(took[4:]) < 3 * min(took[:4])
