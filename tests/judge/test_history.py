"""The lenient reading: what a log says at a moment, whatever else is in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.judge.history import CallKey, History, history_of
from tests.judge.build import BASH, COMMAND, READ, Story, deploy


def story() -> Story:
    return Story("deploy it").launch("run").header().prompt()


def read(told: Story) -> History:
    return history_of(told.log)


def test_an_empty_file_says_nothing() -> None:
    history = history_of(b"")
    assert (history.turns, history.open_attempt, history.last_operation) == ([], None, None)


def test_an_attempt_is_open_until_something_closes_it() -> None:
    told = story().attempt()
    first = read(told).open_attempt
    assert first is not None
    assert (first.number, first.kind) == (1, "assistant")
    second = read(told.attempt(2))
    assert [attempt.settled is None for attempt in second.attempts] == [False, True]
    assert read(told.reply()).open_attempt is None


@pytest.mark.parametrize("outcome", ["failed", "aborted"])
def test_an_attempt_of_a_finished_operation_is_not_open(outcome: str) -> None:
    history = read(story().attempt().finish(outcome))
    assert history.open_attempt is None
    assert history.open_operation is None
    assert history.last_operation is not None
    assert history.last_operation.outcome == outcome


def test_a_failed_step() -> None:
    operation = read(story().attempt().step_failed()).open_operation
    assert operation is not None
    assert operation.step_failed
    assert operation.prompt == "deploy it"


def test_calls_and_what_became_of_them() -> None:
    told = story().attempt().reply(READ, BASH).intent(0).result(0).intent(1)
    history = read(told)
    assert [(c.key, c.name, c.replay, c.outcome, c.pending) for c in history.calls] == [
        (CallKey(1, 1, 0), "read", "safe", "success", False),
        (CallKey(1, 1, 1), "bash", "never", "", True),
    ]
    assert [call.name for call in history.pending] == ["bash"]
    assert history.pending[0].texts() == {COMMAND}
    assert read(told.result(1, "interrupted")).calls[1].outcome == "interrupted"


def test_calls_are_counted_anew_in_each_operation() -> None:
    told = deploy().launch("probe").prompt("again").attempt().reply(BASH)
    assert [call.key for call in read(told).calls] == [CallKey(1, 1, 0), CallKey(2, 1, 0)]


def test_turns_belong_to_the_operation_of_their_prompt() -> None:
    told = deploy().launch("probe").prompt("again")
    assert [turn.operation for turn in read(told).turns] == [1, 1, 1, 1, 2]
    assert read(told).prompts == ["deploy it", "again"]


def test_a_compaction_replaces_the_context_and_not_the_transcript() -> None:
    told = deploy().launch("resume")
    kept = {"sourceEntryId": "x", "message": {"role": "user", "content": "kept"}}
    told.write(
        {
            "kind": "entry",
            "seq": 99,
            "id": "y",
            "timestamp": 1,
            "entry": {"type": "compaction", "summary": "it was deployed", "retainedTail": [kept]},
        }
    )
    assert [message["content"] for message in read(told).context] == [
        "[Compacted history]\nit was deployed",
        "kept",
    ]
    assert len(read(told).turns) == 4


def test_the_last_fact_is_not_what_a_reply_cost() -> None:
    last = read(story().attempt().reply()).last_fact
    assert last is not None
    assert last.type == "assistant"


def test_of_an_intent_a_result_and_an_abort_the_first_one_counts() -> None:
    told = story().attempt().reply(BASH).intent()
    intent = json.loads(told.log.splitlines()[-1])
    told.result().abort().write(intent | {"id": "another"})
    told.result(outcome="error").abort("tool", toolCallId="call_0")
    history = read(told)
    (call,) = history.calls
    assert call.intent is not None
    assert (call.intent.line, call.outcome) == (5, "success")
    assert history.operations[0].aborted is not None
    assert history.operations[0].aborted.line == 7


@pytest.mark.parametrize(
    ("index", "answered"), [(0, 0), (1, 1), (2, None), (-1, None), ("1", None)]
)
def test_a_result_is_of_the_call_in_its_place(index: object, answered: int | None) -> None:
    told = story().attempt().reply(READ, BASH, ("x", {}))
    told.unstarted("aborted", 1)
    line = json.loads(told.log.splitlines()[-1])
    line["entry"]["toolIndex"] = index
    whole = told.log.splitlines(keepends=True)[:-1]
    calls = history_of(b"".join([*whole, json.dumps(line).encode() + b"\n"])).calls[:2]
    assert [call.outcome for call in calls] == [
        "aborted" if place == answered else "" for place in range(2)
    ]


def test_arguments_that_are_no_json_hold_no_texts() -> None:
    told = story().attempt().reply(BASH)
    broken = told.log.replace(json.dumps(json.dumps(BASH[1])).encode(), b'"{not json"')
    assert history_of(broken).calls[0].texts() == frozenset()


GOOD = deploy().idle().log


@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=3))
def test_no_bytes_make_it_raise(at: int, inserted: bytes) -> None:
    history = history_of(GOOD[:at] + inserted + GOOD[at + 1 :])
    assert len(history.prompts) <= 1


LINES = [json.loads(line) for line in GOOD.splitlines()]


def slots(lines: Any, number: int) -> list[tuple[Any, str]]:
    """The places for a value on one line: its holder and its key."""
    return [
        (holder, key)
        for fact in (lines[number] if isinstance(lines[number], list) else [lines[number]])
        for holder in (fact, fact.get("entry", fact.get("record", fact)))
        for key in holder
    ]


@pytest.mark.parametrize("value", [None, 7, -1, "x", [], ["x"], {}, {"type": "synthetic"}])
def test_no_wrong_value_in_any_place_makes_it_raise(value: object) -> None:
    """And a reference to nothing is none."""
    for number in range(1, len(LINES)):
        for place in range(len(slots(LINES, number))):
            lines = json.loads(json.dumps(LINES))
            holder, key = slots(lines, number)[place]
            holder[key] = value
            history = history_of(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            assert history.context == [turn.message for turn in history.turns]
            assert all(isinstance(text, str) for call in history.calls for text in call.texts())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@settings(max_examples=40)
@given(st.integers(1, len(LINES) - 1), st.integers(0, 30), JSON)
def test_no_value_in_any_place_makes_it_raise(number: int, place: int, value: object) -> None:
    lines = json.loads(json.dumps(LINES))
    places = slots(lines, number)
    holder, key = places[place % len(places)]
    holder[key] = value
    history = history_of(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert history.context == [turn.message for turn in history.turns]
    assert all(isinstance(text, str) for call in history.calls for text in call.texts())
