"""Killpoint's harness: kill a real agent at exact instants, resume it, judge what is left.

What a Python program may use is here (`docs/python.md`); everything else may change. Names are
imported when they are first used, so that `import chaos` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.api import Harness, kill_points, replay, run, sweep
    from chaos.api_run import NotPassed, Run, Sweep
    from chaos.api_scenario import make_scenario, vary
    from chaos.errors import ChaosError, HarnessError, ScenarioError, UsageError
    from chaos.evidence import Evidence
    from chaos.kill import after, before, chunk, request, response, torn
    from chaos.points import KillPoint, Phase, Schedule
    from chaos.results import Verdict, Violation
    from chaos.scenario import Scenario, load_scenario

__all__ = [
    "ChaosError",
    "Evidence",
    "Harness",
    "HarnessError",
    "KillPoint",
    "NotPassed",
    "Phase",
    "Run",
    "Scenario",
    "ScenarioError",
    "Schedule",
    "Sweep",
    "UsageError",
    "Verdict",
    "Violation",
    "after",
    "before",
    "chunk",
    "kill_points",
    "load_scenario",
    "make_scenario",
    "replay",
    "request",
    "response",
    "run",
    "sweep",
    "torn",
    "vary",
]

_HOME = {
    "chaos.api": ("Harness", "kill_points", "replay", "run", "sweep"),
    "chaos.api_run": ("NotPassed", "Run", "Sweep"),
    "chaos.api_scenario": ("make_scenario", "vary"),
    "chaos.errors": ("ChaosError", "HarnessError", "ScenarioError", "UsageError"),
    "chaos.evidence": ("Evidence",),
    "chaos.kill": ("after", "before", "chunk", "request", "response", "torn"),
    "chaos.points": ("KillPoint", "Phase", "Schedule"),
    "chaos.results": ("Verdict", "Violation"),
    "chaos.scenario": ("Scenario", "load_scenario"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
