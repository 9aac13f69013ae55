"""Judged schedules a second: warm over two lanes, against the same schedules cold in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chaos.options import Silent, SweepOptions
from chaos.points import Phase
from chaos.results import SweepResult
from chaos.scenario import load_scenario
from chaos.supervise.sweep import sweep
from tests.bench.figure import Figure
from tests.library import SCENARIOS, scenario_file

FOLDERS = ("abort", "calls", "compaction", "regression")  # what `make chaos` runs
COMPARED = ("plain-answer", "deploy-is-never-repeated")


def measure() -> Iterator[Figure]:
    """Real kills only; the time of the whole sweep, lanes' start included, is what counts."""
    everything = [name for name, path in SCENARIOS.items() if path.parent.name in FOLDERS]
    yield from _figures("warm, two lanes, all scenarios", _run(everything, "warm", 2), least=60)
    warm = _run(COMPARED, "warm", 2)
    cold = _run(COMPARED, "exec", 1)
    yield from _figures("warm, two lanes, two scenarios", warm)
    yield from _figures("cold, one lane, the same", cold)
    yield Figure("warm / cold", _rate(warm) / _rate(cold), "times", least=10)


def _run(names: Iterable[str], launch: str, jobs: int) -> SweepResult:
    scenarios = [load_scenario(scenario_file(name)) for name in names]
    phases = (Phase.BEFORE, Phase.TORN, Phase.AFTER)
    return sweep(scenarios, SweepOptions(phases, launch=launch, jobs=jobs), Silent())


def _rate(result: SweepResult) -> float:
    return sum(len(s.schedules) for s in result.scenarios) / result.seconds


def _figures(name: str, result: SweepResult, least: float | None = None) -> Iterator[Figure]:
    schedules = sum(len(s.schedules) for s in result.scenarios)
    kills = sum(r.made for s in result.scenarios for r in s.schedules)
    exact = sum(r.made_exact for s in result.scenarios for r in s.schedules)
    yield Figure(f"{name}: schedules", schedules, "schedules")
    yield Figure(f"{name}: kills proven exact", 100 * exact / kills, "percent", least=100)
    yield Figure(f"{name}: rate", schedules / result.seconds, "a second", least=least)
