"""What a sweep has done so far, and what is promised of the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.cli.tally import ENOUGH, Tally, clock
from tests.report import sample


def tally(*, deep: bool = False) -> Tally:
    return Tally.of(["one", "two"], 100.0, deep=deep)


def test_before_anything_is_done() -> None:
    fresh = tally()
    assert fresh.in_words(100.0) == ["runs without a kill", "0 kills/s", "0 violations", "0:00"]
    assert [track.name for track in fresh.at_work(4)] == ["one", "two"]
    assert not fresh.at_work(4)[0].begun


def test_counts_and_rates() -> None:
    counted = tally()
    counted.plan("one", 10, 101.0)
    counted.plan("one", 5, 102.0)  # a further level
    counted.take("one", sample.passed())
    counted.take("one", replace(sample.violated(), kills=40))
    counted.take("one", sample.inconclusive())
    assert counted.in_words(110.0) == [
        "3 of 15 schedules",
        "4 kills/s",
        "1 violation",
        "1 inconclusive",
        "0:10",
    ]


def test_those_with_results_are_looked_at_first_and_those_that_are_over_not_at_all() -> None:
    counted = tally()
    counted.take("two", sample.passed())
    assert [track.name for track in counted.at_work(4)] == ["two", "one"]
    assert [track.name for track in counted.at_work(1)] == ["two"]
    counted.end("two")
    assert [track.name for track in counted.at_work(4)] == ["one"]
    assert counted.over == 1


def test_a_scenario_that_is_over_has_nothing_left() -> None:
    counted = tally()
    counted.plan("one", 10, 101.0)
    counted.take("one", sample.passed())
    counted.end("one")  # --fail-fast, or an error of the harness
    assert counted.planned == counted.done == 1


def under_way(
    *, deep: bool = False, done: int = ENOUGH, begun: tuple[str, ...] = ("one", "two")
) -> Tally:
    counted = tally(deep=deep)
    for name in begun:
        counted.plan(name, 30, 105.0)
    counted.plan("one", 60 - counted.planned, 106.0)
    for _ in range(done):
        counted.take("one", sample.passed())
    return counted  # fmt: skip


def test_the_time_left_is_told_by_the_time_taken() -> None:
    # 20 of 60 in the 5 s since the first could begin: their runs without a kill are not counted.
    assert under_way().left_s(110.0) == pytest.approx(10.0)
    assert under_way().in_words(110.0)[-1] == "about 0:10 left"


@pytest.mark.parametrize(
    "unknown",
    [under_way(deep=True), under_way(done=ENOUGH - 1), under_way(begun=("one",))],
    ids=["further levels", "too few to go by", "a scenario whose schedules are not known"],
)
def test_what_nobody_knows_is_not_promised(unknown: Tally) -> None:
    assert unknown.left_s(110.0) is None
    assert "left" not in unknown.in_words(110.0)[-1]


@pytest.mark.parametrize(("seconds", "told"), [(9.4, "0:09"), (75, "1:15"), (3725, "1:02:05")])
def test_times(seconds: float, told: str) -> None:
    assert clock(seconds) == told
