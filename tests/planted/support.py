"""Scenarios whose target is the real agent with one planted bug."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chaos.options import Silent, SweepOptions
from chaos.results import SweepResult
from chaos.scenario import Scenario, load_scenario
from chaos.supervise.sweep import sweep
from chaos.target import parse_target
from tests.library import scenario_file

ROOT = Path(__file__).resolve().parents[2]


def planted(scenario: str, bug: str) -> Scenario:
    """The scenario of this repository, run against the agent with `bug`."""
    sound = load_scenario(scenario_file(scenario))
    source = (
        sound.target.source.replace('"-m", "agent"', f'"-m", "tests.planted", "{bug}"')
        .replace('module = "agent"', 'module = "tests.planted"')
        .replace("[env]", f'[env]\nPYTHONPATH = "{ROOT}"')
        .replace("rehearsal = ", "rehearsal = []  # a bug is planted once in a process; ")
    )
    return replace(sound, target=parse_target(source, sound.target.path))


def options(**chosen: object) -> SweepOptions:
    """Warm, over two lanes, unless chosen otherwise."""
    settings: dict[str, object] = {"launch": "warm", "jobs": 2, **chosen}
    return SweepOptions(**settings)  # type: ignore[arg-type]


def run(scenario: Scenario, **chosen: object) -> SweepResult:
    """Sweep one scenario."""
    return sweep([scenario], options(**chosen), Silent())
