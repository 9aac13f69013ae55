"""Failure files: one schedule that did not pass, with all that is needed to run it again.

A `FAILURE.json` embeds the text of its scenario and target, so it replays from any directory even
when the files have changed or gone since. The target's API key is not in it: each run makes its
own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.errors import ChaosError, UsageError
from chaos.points import Schedule
from chaos.regular import read_regular
from chaos.report.json_ import schedule_json, violation_json
from chaos.results import ScheduleResult, Verdict, Violation
from chaos.scenario import Scenario, parse_scenario
from chaos.target import parse_target

VERSION = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """A schedule and what was said of it."""

    id: str
    scenario: Scenario
    schedule: Schedule
    verdict: Verdict
    violations: tuple[Violation, ...]
    why: str
    launch: str = "exec"  # how its launches were started: exec | warm
    seed: int = 0

    @classmethod
    def of(cls, scenario: Scenario, result: ScheduleResult, launch: str, seed: int) -> Failure:
        """The failure of one schedule of a sweep."""
        return cls(
            id=result.id,
            scenario=scenario,
            schedule=Schedule.parse(result.schedule),
            verdict=result.verdict,
            violations=result.violations,
            why=result.why,
            launch=launch,
            seed=seed,
        )


def write_failure(failure: Failure, path: Path) -> None:
    """Write the file; its folder exists."""
    scenario, target = failure.scenario, failure.scenario.target
    value = {
        "version": VERSION,
        "id": failure.id,
        "schedule": schedule_json(str(failure.schedule)),
        "verdict": str(failure.verdict),
        "violations": [violation_json(violation) for violation in failure.violations],
        "why": failure.why,
        "launch": failure.launch,
        "seed": failure.seed,
        "scenario": {"path": scenario.path, "source": scenario.source},
        "target": {"path": target.path, "source": target.source},
    }
    path.write_text(json.dumps(value, indent=1, default=str) + "\n", encoding="utf-8")


def read_failure(path: Path) -> Failure:
    """Read a file that `write_failure` wrote. Raises UsageError, or ScenarioError for a scenario
    or target inside that today's chaos refuses."""
    try:
        value = json.loads(read_regular(path).decode("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a failure file: {error}") from None
    if not isinstance(value, dict) or value.get("version") != VERSION:
        raise UsageError(
            f"{path}: not a failure file of version {VERSION}; "
            "`chaos run --report DIR` writes them to DIR/failures/"
        )
    try:
        return _failure(value)
    except ChaosError:
        raise
    except KeyError as error:
        raise UsageError(
            f"{path}: not a failure file, or damaged: it has no {error}; "
            "`chaos run --report DIR` writes them to DIR/failures/"
        ) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path}: damaged failure file: {error!r}") from None


def _failure(value: dict[str, Any]) -> Failure:
    scenario, target = value["scenario"], value["target"]
    resolved = parse_target(target["source"], target["path"])
    return Failure(
        id=value["id"],
        scenario=parse_scenario(scenario["source"], scenario["path"], lambda _: resolved),
        schedule=Schedule.parse("; ".join(value["schedule"])),
        verdict=Verdict(value["verdict"]),
        violations=tuple(
            Violation(v["id"], v["message"], dict(v["evidence"])) for v in value["violations"]
        ),
        why=value["why"],
        launch=value["launch"],
        seed=value["seed"],
    )
