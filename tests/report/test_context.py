"""Where a CI service shows a schedule: the scenario file in the repository, and a line of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.results import ScheduleResult
from tests.report import sample

STEPS = '[[step]]\nrun = "one"\n[[step]]\nrun = "two"\n'


def line(source: str, result: ScheduleResult | None = None) -> int:
    shown = sample.context(source)
    if "[kill]" in source:
        parsed = replace(
            shown.scenarios["deploy"],
            kill=replace(shown.scenarios["deploy"].kill, points=("provider", "log:toolStarted")),
        )
        shown = replace(shown, scenarios={"deploy": parsed})
    return shown.line(sample.scenario_result(), result)


def test_files_are_named_from_the_root_of_the_repository() -> None:
    scenario = sample.scenario_result()
    assert sample.context().file(scenario) == "deploy.toml"
    elsewhere = replace(scenario, path="/elsewhere/deploy.toml")
    assert sample.context().file(elsewhere) == "/elsewhere/deploy.toml"
    beside = replace(scenario, path="/s-two/deploy.toml")  # not below /s
    assert sample.context().file(beside) == "/s-two/deploy.toml"


def in_step(step: int) -> ScheduleResult:
    """The violation, with its kill in this step."""
    result = sample.violated()
    assert result.evidence is not None
    first, *rest = result.evidence.launches
    launches = (replace(first, step=step), *rest)
    return replace(result, evidence=replace(result.evidence, launches=launches))


@pytest.mark.parametrize(
    ("source", "result", "expected"),
    [
        ('about = ""\nname = "deploy"\n', None, 2),
        ('about = ""\nname = "deploy"\n', sample.violated(), 2),  # its one step is not written
        (f'about = ""\nname = "deploy"\n{STEPS}', in_step(0), 3),
        (f'about = ""\nname = "deploy"\n{STEPS}', in_step(1), 5),
        (f'name = "deploy"\n{STEPS}', sample.passed(), 1),
        (f'name = "deploy"\n{STEPS}[kill]\nschedule = "…"\n', in_step(1), 7),
        (
            'name = "deploy"\n[kill]\npoints = [\n"provider",\n"log:toolStarted"]\n',
            sample.violated(),
            5,
        ),
        ("", sample.violated(), 1),
    ],
)
def test_the_line_that_tells_most(
    source: str, result: ScheduleResult | None, expected: int
) -> None:
    assert line(source, result) == expected


def test_a_scenario_that_is_not_known_has_a_first_line() -> None:
    unknown = replace(sample.context(), scenarios={})
    assert unknown.line(sample.scenario_result(), sample.violated()) == 1
