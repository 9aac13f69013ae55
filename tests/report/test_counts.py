"""Sums and exit codes of a sweep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.report.counts import code_of, count, exit_code, results_of
from chaos.results import ScheduleResult, Verdict
from tests.report import sample


def test_verdicts_count_schedules_and_kills_are_added() -> None:
    counts = count([sample.passed(), sample.violated(), sample.inconclusive()])
    assert (counts.schedules, counts.kills, counts.exact) == (3, 2, 1)
    assert (counts.passed, counts.violations, counts.inconclusive, counts.errors) == (1, 1, 1, 0)


def test_a_kill_that_many_schedules_go_on_from_counts_once() -> None:
    first = replace(sample.passed(), kills=1, exact=1)
    further = replace(first, kills=3, exact=3, inherited=2)
    doubtful = replace(further, exact=0)
    counts = count([first, further, further, doubtful])
    assert (counts.kills, counts.exact) == (4, 3)


def test_a_scenario_that_failed_as_a_whole_counts_as_an_error() -> None:
    (result,) = results_of(sample.scenario_result(error="the target does not start"))
    assert result.verdict is Verdict.HARNESS_ERROR
    assert result.why == "the target does not start"


def test_the_secret_leaves_the_results() -> None:
    (result,) = results_of(sample.scenario_result(sample.violated()))
    assert sample.SECRET not in repr(result.violations)
    assert "[api key]" in result.violations[0].message


def test_so_it_does_where_the_verdict_is_that_of_another_schedule() -> None:
    """Its lane had another key."""
    image = sample.violated()
    merged = replace(image, id="merged", merged_into=image.id, evidence=None)
    for result in results_of(sample.scenario_result(image, merged)):
        assert sample.SECRET not in repr(result.violations)


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([sample.passed()], 0),
        ([sample.passed(), sample.violated(), sample.inconclusive()], 1),
        ([sample.passed(), sample.inconclusive()], 3),
        ([], 5),
    ],
)
def test_exit_codes(results: list[ScheduleResult], code: int) -> None:
    assert code_of(results) == code
    assert exit_code(sample.sweep_result(*results)) == code
    assert exit_code(sample.sweep_result(*results, interrupted=True)) == 2


def test_an_error_of_a_scenario_is_never_green() -> None:
    assert exit_code(sample.sweep_result(sample.passed(), error="broken")) == 3
