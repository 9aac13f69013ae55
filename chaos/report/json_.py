"""The JSON report: the contract of design section 7, for scripts.

Pure. Keys are only ever added. A schedule has `why` where its verdict is neither PASS nor
VIOLATION; the object has `interrupted` where the sweep was.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import asdict
from typing import Any

from chaos.points import Schedule
from chaos.report.counts import results_of, summary_of
from chaos.report.triage import Fault, faults_of_all
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Violation

VERSION = 1


def json_report(
    sweep: SweepResult, artifacts: Mapping[str, str], known: Container[str] = ()
) -> str:
    """One JSON object and a LF. `artifacts` maps schedule ids to their failure files; `known` holds
    accepted fingerprints."""
    report: dict[str, Any] = {
        "version": VERSION,
        "scenarios": [_scenario(scenario, artifacts) for scenario in sweep.scenarios],
        "groups": [_group(fault, known) for fault in faults_of_all(sweep)],
        "summary": summary_of(sweep),
    }
    if sweep.interrupted:
        report["interrupted"] = True
    # ASCII, so that what an agent wrote can do nothing to a terminal.
    return json.dumps(report, indent=1, default=str) + "\n"


def _scenario(scenario: ScenarioResult, artifacts: Mapping[str, str]) -> dict[str, Any]:
    told: dict[str, Any] = {"notes": list(scenario.notes)} if scenario.notes else {}
    if scenario.not_applicable:
        told["not_applicable"] = dict(scenario.not_applicable)
    return told | {
        "name": scenario.name,
        "points": list(scenario.points),
        "schedules": [_schedule(result, artifacts) for result in results_of(scenario)],
        "closure": asdict(scenario.closure),
    }


def _schedule(result: ScheduleResult, artifacts: Mapping[str, str]) -> dict[str, Any]:
    value = {
        "id": result.id,
        "schedule": schedule_json(result.schedule),
        "verdict": str(result.verdict),
        "violations": [violation_json(violation) for violation in result.violations],
        "artifact": artifacts.get(result.id),
    }
    if result.why:
        value["why"] = result.why
    return value


def _group(fault: Fault, known: Container[str]) -> dict[str, Any]:
    return {
        "fingerprint": fault.fingerprint,
        "ids": list(fault.ids),
        "smallest": fault.smallest.id,
        "count": len(fault.results),
        "known": fault.fingerprint in known,
    }


def violation_json(violation: Violation) -> dict[str, Any]:
    """A broken rule as the JSON report and the failure file write it."""
    return {
        "id": violation.id,
        "message": violation.message,
        "evidence": dict(violation.evidence),
    }


def schedule_json(schedule: str) -> list[str]:
    """A schedule as a list of launches."""
    return [str(launch) for launch in Schedule.parse(schedule).launches] or [str(Schedule())]
