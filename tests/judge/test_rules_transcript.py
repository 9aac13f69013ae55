"""Rules over a transcript of JSON lines: each fault with its message, and what is none."""

from __future__ import annotations

import json
from typing import Any

from chaos.evidence import LogWrite
from chaos.judge import judge
from tests.judge.wire import WireStory

PATHS = {"role": "role", "call": "calls[].id", "result": "result"}
USER, CALL = {"role": "user"}, {"role": "assistant", "calls": [{"id": "a"}, {"id": "b"}]}
RESULTS = [{"role": "tool", "result": "a"}, {"role": "tool", "result": "b"}]


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def story(*logs: bytes, killed: bool = False) -> WireStory:
    """Launches that leave these logs, the first of them killed if so."""
    told = WireStory("do it", dialect="transcript", transcript=PATHS)
    for number, log in enumerate(logs):
        told.launch("resume" if number else "run")
        told.log = log
        told.ask().say("done")
        if killed and not number:
            told.die()
        else:
            told.end()
    return told


def said(told: WireStory, *references: WireStory) -> list[str]:
    found = judge(told.evidence(*(known.evidence() for known in references)))
    return [f"{v.id} {v.message}" for v in found]


def test_a_log_that_only_grows() -> None:
    whole = lines(USER, USER, CALL, *RESULTS)
    assert said(story(lines(USER, USER), whole)) == []


def test_a_torn_tail_may_stand_until_the_next_launch_is_over() -> None:
    torn = lines(USER) + b'{"role": "assi'
    assert said(story(torn, lines(USER, CALL, *RESULTS), killed=True)) == []
    assert said(story(torn, torn, killed=True)) == [
        'L1 a line cannot be read: expected a JSON value, found {"role": "assi at launch 2 '
        "(resume), line 2"
    ]


def test_a_line_that_was_appended_to_a_torn_one() -> None:
    torn = lines(USER) + b'{"role": "assi'
    assert said(story(torn, torn + lines(USER), killed=True)) == [
        'L1 a line cannot be read: expected a JSON value, found {"role": "assi{"role": "user"} at '
        "launch 2 (resume), line 2"
    ]


def test_a_line_that_is_gone_or_changed() -> None:
    assert said(story(lines(USER), b"")) == [
        'L2 a line is changed: expected {"role": "user"}, found no line at launch 2 (resume), '
        "line 1"
    ]


def writing(*logs: bytes) -> WireStory:
    """A run without a kill whose calls leave the log like this, one after the other."""
    told = story(logs[-1])
    for order, log in enumerate(logs, 7):
        name, where = told.blobs.put(log), f"log:write#{order}"
        told.events.append(LogWrite(order, 0, 1.0, 1, "rename", where, 1, -1, 0, 0, name))
    return told


def test_a_log_that_is_always_written_anew_may_change() -> None:
    for anew in (
        writing(lines(USER), lines(CALL)),
        writing(lines(USER, USER), lines(USER, CALL)),
    ):
        assert said(story(lines(USER), lines(RESULTS[0])), anew) == [
            "L6 result of 'a' answers no call: expected a call of this id, found none at launch 2 "
            "(resume)"
        ]


def test_a_log_that_always_grows_may_not_change() -> None:
    grown = writing(lines(USER), lines(USER, CALL), lines(USER, CALL) + b'{"to')
    assert said(story(lines(USER, USER), lines(USER, {"role": "x"})), grown) == [
        'L2 a line is changed: expected {"role": "user"}, found {"role": "x"} at launch 2 '
        "(resume), line 2"
    ]


def test_a_call_that_a_kill_left_without_a_result_may_stay_so() -> None:
    assert said(story(lines(USER, CALL, RESULTS[0]), killed=True)) == []


def test_a_call_without_a_result_and_one_with_two() -> None:
    assert said(story(lines(USER, CALL, RESULTS[0], RESULTS[0]))) == [
        "L6 call 'a' has not one result: expected 1, found 2 at launch 1 (run)",
        "L6 call 'b' has not one result: expected 1, found 0 at launch 1 (run)",
    ]
