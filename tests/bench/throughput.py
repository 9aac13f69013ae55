"""Judged schedules a second: warm over two lanes, against the same schedules cold in one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chaos.options import SweepOptions
from chaos.points import Phase
from chaos.results import SweepResult
from chaos.scenario import load_scenario
from chaos.supervise.sweep import sweep
from tests.bench.figure import Figure
from tests.planted.support import Silent

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
COMPARED = ("plain-answer", "deploy-is-never-repeated")


def measure() -> Iterator[Figure]:
    """Real kills only; the time of the whole sweep, lanes' start included, is what counts."""
    everything = sorted(path.stem for path in SCENARIOS.glob("*.toml"))
    yield from _figures("warm, two lanes, all scenarios", _run(everything, "warm", 2), least=60)
    warm = _run(COMPARED, "warm", 2)
    cold = _run(COMPARED, "exec", 1)
    yield from _figures("warm, two lanes, two scenarios", warm)
    yield from _figures("cold, one lane, the same", cold)
    yield Figure("warm / cold", _rate(warm) / _rate(cold), "times", least=10)


def _run(names: object, launch: str, jobs: int) -> SweepResult:
    scenarios = [load_scenario(str(SCENARIOS / f"{name}.toml")) for name in names]  # type: ignore[attr-defined]
    phases = (Phase.BEFORE, Phase.TORN, Phase.AFTER)
    return sweep(scenarios, SweepOptions(phases, launch=launch, jobs=jobs), Silent())


def _rate(result: SweepResult) -> float:
    return sum(len(s.schedules) for s in result.scenarios) / result.seconds


def _figures(name: str, result: SweepResult, least: float | None = None) -> Iterator[Figure]:
    schedules = sum(len(s.schedules) for s in result.scenarios)
    kills = sum(r.kills for s in result.scenarios for r in s.schedules)
    exact = sum(r.exact for s in result.scenarios for r in s.schedules)
    yield Figure(f"{name}: schedules", schedules, "schedules")
    yield Figure(f"{name}: kills proven exact", 100 * exact / kills, "percent", least=100)
    yield Figure(f"{name}: rate", schedules / result.seconds, "a second", least=least)
