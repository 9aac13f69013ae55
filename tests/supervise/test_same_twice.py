"""The first difference of two runs is named; chance that is known of is none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chaos.evidence import Effect, Evidence, Request, StateWrite
from chaos.supervise.same_twice import difference, steady, unsteady_calls
from chaos.supervise.schedules import place_of
from tests.test_saved import evidence

CHANCE = {"/tmp/lane-1": "ROOM", "/tmp/lane-2": "ROOM"}


def ended(log: bytes = b"{}\n", files: bytes = b"content", exit_code: int = 0) -> Evidence:
    made = evidence()
    launch = replace(
        made.launches[0],
        exit_code=exit_code,
        log_after=made.blobs.put(log),
        files_after={"a": made.blobs.put(files)},
    )
    return replace(made, launches=(launch,))


def test_a_run_is_like_itself() -> None:
    assert difference(ended(), ended(), CHANCE) == ""


def test_what_lanes_call_their_own_is_no_difference() -> None:
    one, other = ended(b'{"a":"/tmp/lane-1/x"}\n'), ended(b'{"a":"/tmp/lane-2/x"}\n')
    assert difference(one, other, CHANCE) == ""
    assert difference(one, other, {}) != ""


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (ended(log=b'{"a":1}\n'), "the session log after launch 1 (run): line 1"),
        (ended(files=b"other"), "workspace files after launch 1 (run): a"),
        (ended(exit_code=1), "exit code 0, then 1 after launch 1 (run)"),
        (replace(ended(), launches=()), "1 launches, then 0"),
    ],
)
def test_the_first_difference_is_told(other: Evidence, told: str) -> None:
    assert told in difference(ended(), other, CHANCE)


def opaque(*points: str, said: str = "go, on Monday", effects: tuple[str, ...] = ()) -> Evidence:
    """A run of a target that is not read: calls on its state, effects, and one request."""
    made = ended(log=b"")
    body = {"model": "m", "messages": [{"role": "user", "content": said}]}
    asked = (made.blobs.put(json.dumps(body).encode()), "", 200, "", "")
    request = Request(1, 0, 0.1, 1, "POST", "/v1/chat/completions", *asked)
    calls = [
        StateWrite(n, 0, 0.2, 7, "write", "s.json", "*.json", point, 0, 9, 9)
        for n, point in enumerate(points, start=2)
    ]
    done = [Effect(9, 0, 0.3, 7, ("sh",), name, "", False) for name in effects]
    facts = replace(made.facts, dialect="opaque")
    return replace(made, facts=facts, events=(request, *calls, *done))


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (opaque(said="go, on Tuesday"), ""),  # a date is no difference, a prompt is
        (opaque(said="stop"), "requests after launch 1 (run): [['user go']], then [['user']]"),
        (opaque(effects=("a",)), "effects after launch 1 (run): [], then ['a']"),
        (opaque("state:write[*.json]#1"), ""),  # its calls may differ: `steady` sees to them
    ],
)
def test_a_session_that_is_not_read_is_compared_by_what_it_did(other: Evidence, told: str) -> None:
    assert difference(opaque(), other, {}) == told


def test_calls_that_one_of_two_runs_made_are_no_points() -> None:
    both, once = "state:write[*.json]#1", "state:write[*.json]#2"
    kept = steady(opaque(both, once), opaque(both))
    assert [e.point for e in kept.events if isinstance(e, StateWrite)] == [both, ""]
    assert [call.order for call in unsteady_calls(kept)] == [3]
    assert "provider:1" in [place_of(e) for e in kept.events]
