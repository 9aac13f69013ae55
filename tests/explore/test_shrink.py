"""What is tried to make a failure smaller, in which order, and what is left.

The runs are played by predicates here; `tests/planted` shrinks failures of a real agent.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from chaos.explore.shrink import Subject, Written, shrink, size
from chaos.points import Schedule

BARE = {"provider": {"turn": [{"content": "done"}]}}

RICH = tomllib.loads(
    """
    target = { profile = "agent", env = { A = "1", B = "2" } }
    files = { "a.txt" = "a", "b.txt" = "b" }
    step = [{ run = "first" }, { run = "second" }, { compact = true }]
    event = [{ launch = 1, at = "provider:1/request", do = "provider:500" }]
    expect = { effects = { deploy = "once", other = "never" }, outcome = "completed" }
    [[provider.turn]]
    tool_calls = [{ name = "read", arguments = {} }, { name = "bash", arguments = {} }]
    usage = { prompt_tokens = 1 }
    [[provider.turn]]
    content = "done"
    [[provider.turn]]
    content = "said"
    when = { prompt = "second" }
    """
)


def subject(schedule: str, document: dict[str, Any] = BARE) -> Subject:
    return Subject(document, Schedule.parse(schedule))


def shrunk(start: Subject, fails: Callable[[Subject], bool], written: Written = ()) -> Subject:
    return shrink(start, written, lambda candidate: written if fails(candidate) else None)


def shrunk_schedule(schedule: str, fails: Callable[[str], bool], written: Written = ()) -> str:
    return str(shrunk(subject(schedule), lambda s: fails(str(s.schedule)), written).schedule)


THREE = "run: log:a#1/torn@7; resume: log:b#1/before; resume: log:c#1/after"


def test_what_needs_no_kill_loses_them_all_at_once() -> None:
    asked: list[str] = []

    def fails(schedule: str) -> bool:
        asked.append(schedule)
        return True

    assert shrunk_schedule(THREE, fails) == "run: none"
    assert set(asked) == {"run: none"}


def test_kills_go_one_by_one_and_roles_stay_with_their_launches() -> None:
    """Only the kill at c matters: it ends up in the first launch, which is a run."""
    assert shrunk_schedule(THREE, lambda s: "log:c#1" in s) == "run: log:c#1/after"


def test_launches_after_the_last_kill_are_not_written() -> None:
    asked: list[str] = []
    shrunk_schedule(THREE, lambda schedule: bool(asked.append(schedule)))
    assert [schedule for schedule in asked if schedule.endswith("none")] == ["run: none"]
    assert len(asked) == len(set(asked))


def test_a_launch_may_stay_where_its_kill_goes() -> None:
    """The kill at b must be in the second launch, whatever ends the first."""
    found = shrunk_schedule("run: log:a#1/after; resume: log:b#1/after", lambda s: "resume: l" in s)
    assert found == "run: none; resume: log:b#1/after"


@pytest.mark.parametrize(
    ("possible", "found"),
    [
        (("after", "before", "torn@1", "torn@7"), "after"),
        (("before", "torn@1", "torn@7"), "before"),
        (("torn@1", "torn@7"), "torn@1"),
        (("torn@7",), "torn@7"),
    ],
)
def test_phases_become_simpler(possible: tuple[str, ...], found: str) -> None:
    fails = [f"run: log:a#1/{phase}" for phase in possible]
    assert shrunk_schedule("run: log:a#1/torn@7", fails.__contains__) == f"run: log:a#1/{found}"


@pytest.mark.parametrize("phase", ["before", "torn@7"])
def test_a_kill_at_a_write_becomes_one_after_the_write_before_it(phase: str) -> None:
    written = [["log:a#1", "log:b#1", "log:c#1"]]
    fails = [f"run: log:c#1/{phase}", "run: log:b#1/after", "run: log:c#1/after"]
    found = shrunk_schedule(fails[0], fails.__contains__, written)
    assert found == "run: log:b#1/after"


def test_everything_that_can_go_goes() -> None:
    end = shrunk(subject(THREE, RICH), lambda _: True)
    assert end.document == {"step": [{"compact": True}], "target": {"profile": "agent"}}
    assert size(end) == {"kill": 0, "step": 1, "turn": 0, "call": 0, "event": 0, "file": 0}


def test_what_is_needed_stays() -> None:
    def fails(candidate: Subject) -> bool:
        turns = candidate.document.get("provider", {}).get("turn", [])
        calls = [call["name"] for turn in turns for call in turn.get("tool_calls", [])]
        return "bash" in calls and "b.txt" in candidate.document.get("files", {})

    end = shrunk(subject("run: none", RICH), fails)
    assert end.document["files"] == {"b.txt": "b"}
    assert end.document["provider"]["turn"] == [
        {"tool_calls": [{"name": "bash", "arguments": {}}]},
    ]
    assert "expect" not in end.document
    assert "env" not in end.document["target"]


def test_a_step_goes_with_the_turns_that_answer_it() -> None:
    seen: list[dict[str, Any]] = []
    shrunk(subject("run: none", RICH), lambda s: bool(seen.append(dict(s.document))))
    without_second = [d for d in seen if {"run": "second"} not in d["step"]]
    assert len(without_second) == 1
    assert all("when" not in turn for turn in without_second[0]["provider"]["turn"])


def test_a_call_that_went_is_not_counted_in_a_kill_point_any_more() -> None:
    """Of two bash calls one is enough; the kill at the second intent becomes one at the first."""
    two = {"provider": {"turn": [{"tool_calls": [{"name": "bash"}, {"name": "bash"}]}]}}

    def fails(candidate: Subject) -> bool:
        calls = size(candidate)["call"]
        return calls > 0 and str(candidate.schedule) == f"run: log:toolStarted[bash]#{calls}/after"

    end = shrunk(subject("run: log:toolStarted[bash]#2/after", two), fails)
    assert (size(end)["call"], str(end.schedule)) == (1, "run: log:toolStarted[bash]#1/after")


def test_nothing_is_asked_twice_and_the_given_is_not_changed() -> None:
    asked: list[Subject] = []
    before = str(RICH)

    def fails(candidate: Subject) -> bool:
        assert candidate not in asked
        asked.append(candidate)
        return len(asked) % 5 == 0

    shrunk(subject(THREE, RICH), fails)
    assert len(asked) > 20
    assert str(RICH) == before


def test_what_cannot_be_smaller_is_left_as_it_is() -> None:
    start = subject(THREE, RICH)
    assert shrunk(start, lambda _: False) == start
