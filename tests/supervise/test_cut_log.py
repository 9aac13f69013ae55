"""A log that is cut anywhere in its last three records: it opens, what is appended next is clean,
and all of it is there after a second death."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from chaos.evidence import Evidence, LogWrite
from chaos.judge import inexact, judge
from chaos.points import Schedule, torn_ends
from chaos.scenario import load_scenario
from chaos.supervise.checkpoint import Checkpoint
from chaos.supervise.course import Course
from chaos.supervise.lane import Lane
from chaos.supervise.workshop import workshop
from tests.library import scenario_file

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = load_scenario(scenario_file("calls/plain-answer"))
RECORDS = 3


class Cuts:
    """One run to its end; each cut of its log starts there."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        course = self.course("run: none")
        self.reference = course.run()
        once = self.course("run: none")
        once.run(known_end=lambda _: True)
        self.start = once.checkpoint()
        self.log = once.stage.room.log()
        self.ends: set[str] = set()  # from which an idle resume and a probe turn were good

    def course(self, schedule: str, start: Checkpoint | None = None) -> Course:
        stage = self.lane.stage(SCENARIO.target, "warm")
        return Course(stage, SCENARIO, Schedule.parse(schedule), start=start)

    def cut(self, size: int) -> Evidence:
        """Cut, resume, die right after the first whole line that is appended, resume again."""
        torn = not self.log[:size].endswith(b"\n")
        position = 2 if torn else 1  # a torn tail is cut off first
        schedule = f"run: none; damage: cut@{size}; resume: log@{position}/after; resume: none"
        course = self.course(schedule, self.start)
        made = course.run(known_end=self.ends.__contains__)
        evidence = replace(made, references=(self.reference,))
        assert judge(evidence) == [], size
        assert inexact(evidence) == [], size
        self.ends.add(course.end)
        return evidence

    def check(self, sizes: Iterable[int]) -> None:
        for size in sizes:
            evidence = self.cut(size)
            damaged, again = evidence.launches[1:3]
            blobs = evidence.blobs
            found, left = blobs.get(damaged.log_before), blobs.get(damaged.log_after)
            good = self.log[: self.log.rfind(b"\n", 0, size) + 1]
            assert found == self.log[:size]
            assert damaged.killed
            assert left.startswith(good), size
            assert left.endswith(b"\n"), size
            assert left.count(b"\n") == good.count(b"\n") + 1, size
            assert again.exit_code in (0, 3), size  # 3: its second attempt died too
            assert blobs.get(evidence.launches[-1].log_after).startswith(left), size


@pytest.fixture(scope="module")
def cuts() -> Iterator[Cuts]:
    with workshop() as root, closing(Lane(root)) as lane:
        yield Cuts(lane)


def starts_of_last(log: bytes) -> list[int]:
    """Where the last records begin, and where the log ends."""
    ends = [at + 1 for at, byte in enumerate(log) if byte == ord("\n")]
    return ends[-RECORDS - 1 :]


def test_where_a_cut_tells(cuts: Cuts) -> None:
    starts = starts_of_last(cuts.log)
    for start, end in pairwise(starts):
        cuts.check([start, *(start + k for k in sorted(torn_ends(cuts.log[start:end])))])


@pytest.mark.slow
def test_every_byte(cuts: Cuts) -> None:
    first, *_, end = starts_of_last(cuts.log)
    cuts.check(range(first, end))


def test_the_second_death_comes_after_a_write_of_the_recovery(cuts: Cuts) -> None:
    """Or nothing would be tested: what dies has appended one line of its own."""
    evidence = cuts.cut(len(cuts.log) - 5)
    calls = [e.call for e in evidence.of_launch(1) if isinstance(e, LogWrite)]
    assert calls == ["ftruncate", "write"]
