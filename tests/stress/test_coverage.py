"""What a sweep left out is told: a phase, a kind of fact, a source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.judge.shapes import RECORDS
from tests.stress.coverage import fact_kinds, gaps, main, phases_of

CALLS = ("before", "torn@1", "after")


def whole() -> dict[str, list[str]]:
    """Every place that must be killed at, and its phases."""
    facts = {f"log:{kind}#1": list(CALLS) for kind in fact_kinds()}
    return facts | {
        "log:ftruncate#1": ["before", "after"],
        "file:write[notes.txt]#1": list(CALLS),
        "effect:deploy#1": ["before", "after"],
        "provider:1": ["request", "chunk@1", "response"],
    }


def report(places: dict[str, list[str]], verdict: str = "PASS") -> dict[str, Any]:
    """Of one scenario with these points, killed at in these phases."""
    schedules = [
        {"schedule": [f"run: {place}/{phase}"], "verdict": verdict}
        for place, phases in places.items()
        for phase in phases
    ]
    return {"scenarios": [{"points": list(places), "schedules": schedules}]}


def test_a_sweep_that_left_nothing_out() -> None:
    assert gaps(report(whole())) == []


def test_kinds_of_facts_are_those_of_the_contract() -> None:
    assert fact_kinds() == {*RECORDS, "header", "assistant", "toolResult", "compaction"}


def test_a_call_without_bytes_has_no_torn_phase() -> None:
    assert list(phases_of("file:rename")) == ["before", "after"]
    assert list(phases_of("file:writev")) == ["before", "torn", "after"]
    assert list(phases_of("log:partial")) == ["before", "torn", "after"]


@pytest.mark.parametrize(
    ("place", "phase", "told"),
    [
        ("log:toolStarted#1", "torn@1", ["log:toolStarted/torn: no kill"]),
        ("log:ftruncate#1", "before", ["log:ftruncate/before: no kill"]),
        ("effect:deploy#1", "after", ["effect/after: no kill"]),
        ("provider:1", "chunk@1", ["provider/chunk: no kill"]),
    ],
)
def test_a_phase_without_a_kill_is_a_gap(place: str, phase: str, told: list[str]) -> None:
    places = whole()
    places[place].remove(phase)
    assert gaps(report(places)) == told


def test_a_kind_of_fact_that_no_scenario_writes_is_a_gap() -> None:
    places = whole()
    del places["log:abortRequested#1"]
    assert gaps(report(places)) == ["log:abortRequested: no scenario writes it"]


def test_a_source_that_only_some_targets_have_counts_where_it_is() -> None:
    places = whole() | {"state:write[chat.json]#1": ["before", "after"]}
    assert gaps(report(places)) == ["state/torn: no kill", "state:write/torn: no kill"]


def test_a_kill_that_proved_nothing_does_not_count() -> None:
    assert "log:header/before: no kill" in gaps(report(whole(), "INCONCLUSIVE"))
    assert gaps(report(whole(), "VIOLATION")) == []


def test_what_only_a_recovery_writes_counts() -> None:
    places = whole()
    phases = places.pop("log:stepFailed#1")
    made = report(places)
    made["scenarios"][0]["schedules"] += [
        {
            "schedule": ["run: log@3/after", f"event: signal:INT at log@1/after; resume: {kill}"],
            "verdict": "PASS",
        }
        for kill in (f"log:stepFailed#1/{phase}" for phase in phases)
    ]
    assert gaps(made) == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report(whole())))
    assert main([str(file)]) == 0
    assert ": 0 gaps" in capsys.readouterr().out
    del (places := whole())["provider:1"]
    file.write_text(json.dumps(report(places)))
    assert main([str(file)]) == 1
    assert "provider/request: no kill\n" in capsys.readouterr().out
    file.write_text("{}")  # of a run that was cut short
    assert main([str(file)]) == 4
    assert "not the report.json of a finished run" in capsys.readouterr().out
