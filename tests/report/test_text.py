"""The report that a person reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.report.text import failures, heading, scenario_line, text_report, totals
from chaos.results import Closure, Verdict
from tests.report import sample


def test_a_line_a_scenario() -> None:
    assert heading() + scenario_line(
        sample.scenario_result(sample.passed(), sample.violated())
    ) == (
        "scenario                             points  kills  exact  images    seconds  verdict\n"
        "deploy                                    2      1      1       2        1.5  "
        "1 passed, 1 VIOLATION\n"
    )


@pytest.mark.parametrize(
    ("wanted", "cut", "left", "said"),
    [
        (1, False, 4, ""),
        (None, False, 0, ", closed at depth 2"),
        (2, False, 4, ", depth 2: 4 images not explored further"),
        (2, True, 4, ", cut at depth 2: 4 images not explored further"),
        (None, True, 4, ", cut at depth 2: 4 images not explored further"),
    ],
)
def test_how_far_a_walk_came(wanted: int | None, cut: bool, left: int, said: str) -> None:
    closure = Closure(not left, 2, 2, 0, 0, left, wanted, cut)
    line = scenario_line(replace(sample.scenario_result(sample.passed()), closure=closure))
    assert line.endswith(f"  1 passed{said}\n")


def test_totals_at_the_end() -> None:
    sweep = sample.sweep_result(sample.passed(), sample.inconclusive(), interrupted=True)
    assert totals(sweep) == (
        "\ninterrupted; so far: 1 scenario, 2 schedules, 1 kill (0 proven exact) in 2.0 s: "
        "1 passed, 1 INCONCLUSIVE (seed 7)\n"
    )


def test_failures_of_one_kind_are_explained_once() -> None:
    same = [replace(sample.violated(), id=f"deploy-other-{n}") for n in range(7)]
    files = {sample.violated().id: "x.json"}
    text = failures(sample.scenario_result(sample.violated(), *same), files)
    assert text.count("  killed ") == 1
    assert text.endswith(
        "  fault     E2 toolStarted > effect\n"
        "  likewise  other-0, other-1, other-2, other-3, other-4 and 2 more\n"
        "  again     chaos replay x.json\n"  # the last thing to read is what to do
    )


def test_kinds_beyond_a_few_are_counted() -> None:
    kinds = [
        replace(sample.violated(), id=f"kind-{n}", violations=(replace(v, id=f"X{n}"),))
        for n in range(5)
        for v in sample.violated().violations
    ]
    text = failures(sample.scenario_result(*kinds), {})
    assert text.endswith("\n2 more of other kinds; the report folder has them all\n")


def test_nothing_to_say_about_what_passed() -> None:
    assert failures(sample.scenario_result(sample.passed()), {}) == ""


def test_the_whole_report_holds_every_part() -> None:
    sweep = sample.sweep_result(sample.violated(), error="no such program")
    text = text_report(sweep, {})
    assert text.startswith("scenario ")
    assert "E2        an effect that may not be replayed" in text
    assert f"{Verdict.HARNESS_ERROR}  deploy-error" in text
    assert "\n1 fault:\n  E2 toolStarted > effect  (1 schedule)\n\n1 scenario, " in text
    assert text.endswith("(seed 7)\n")
