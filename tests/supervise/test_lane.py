"""A lane makes the launches that branches share once, and judges each as if it were alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.errors import ScenarioError
from chaos.explore.work import Branch, Explored, Work
from chaos.points import Schedule
from chaos.results import Verdict
from chaos.scenario import load_scenario
from chaos.supervise.lane import Lane, explore, references
from tests.library import scenario_file

ROOT = Path(__file__).resolve().parents[2]
THREE_RUNS = "run: none; run: none; run: none; "
SCHEDULES = (
    "run: log:stepAttempt#1/after",
    THREE_RUNS + "compact: log:compactionStarted#1/after",
    THREE_RUNS + "compact: log:stepAttempt#1/torn@1",
    THREE_RUNS + "compact: none; run: log:runStarted#1/before",
)


@pytest.fixture(name="lane")
def _lane(tmp_path: Path) -> Iterator[Lane]:
    with closing(Lane(tmp_path)) as lane:
        yield lane


def carry_out(lane: Lane, *schedules: str) -> list[Explored]:
    scenario = load_scenario(scenario_file("compaction/compact-once"))
    branches = tuple(Branch(text, Schedule.parse(text)) for text in schedules)
    runs = references(lane, Work(scenario, "warm"))
    return explore(lane, Work(scenario, "warm", branches, references=runs, keep=True))


def first_logs(explored: Explored) -> list[str]:
    """What the first three launches left. Logs are full of ids: equal ones are of one launch."""
    assert explored.result.evidence is not None
    return [launch.log_after for launch in explored.result.evidence.launches[:3]]


def test_the_rooms_of_all_lanes_have_paths_of_one_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found when the pids began anew: `log:header#1/torn@277` of one lane's run was to be made in
    another lane, whose path was shorter, and its header with it."""
    lengths = set()
    for pid in (305, 32761, 4194304):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        lengths.add(len(str(Lane(tmp_path).root)))
    assert len(lengths) == 1


def test_branches_go_on_from_where_an_earlier_one_stood(lane: Lane) -> None:
    early, one, two, later = carry_out(lane, *SCHEDULES)
    assert first_logs(one) == first_logs(two) == first_logs(later)
    assert not set(first_logs(one)) & set(first_logs(early))


def test_what_is_said_of_them_is_the_same(lane: Lane) -> None:
    together = carry_out(lane, *SCHEDULES)
    alone = [each for schedule in SCHEDULES for each in carry_out(lane, schedule)]
    assert [(e.image, e.result.exact) for e in together] == [(e.image, 1) for e in alone]
    assert {e.result.verdict for e in (*together, *alone)} == {Verdict.PASS}
    for explored in together:  # the judge was shown the whole lineage, in one order
        events = explored.result.evidence.events  # type: ignore[union-attr]
        assert [event.order for event in events] == list(range(1, len(events) + 1))
        assert events[0].launch == 0


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("run: log:header#1/torn@99999", "cannot let 99999 bytes of write happen: it has "),
        ("run: none; damage: cut@99999; resume: none", "the log has no such place; it has "),
    ],
)
def test_a_schedule_that_its_run_does_not_have_is_the_scenarios_fault(
    lane: Lane, schedule: str, message: str
) -> None:
    scenario = load_scenario(scenario_file("calls/plain-answer"))
    asked = replace(scenario, kill=replace(scenario.kill, schedule=Schedule.parse(schedule)))
    branch = Branch("asked", Schedule.parse(schedule))
    with pytest.raises(ScenarioError, match=f"{scenario.path}: .kill. schedule .*{message}"):
        explore(lane, Work(asked, "warm", (branch,)))
    # One that the harness chose itself is no fault of the user's.
    (explored,) = explore(lane, Work(scenario, "warm", (branch,)))
    assert explored.result.verdict is Verdict.HARNESS_ERROR
    assert message in explored.result.why
