"""The schemas that are shipped tell what the JSON report and the failure file hold: all of it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

from chaos.report.counts import results_of
from chaos.report.failure import Failure, write_failure
from chaos.report.json_ import VERSION, json_report
from chaos.report.known import KnownFault
from chaos.results import SweepResult, Verdict
from tests.report import sample

ROOT = Path(__file__).resolve().parents[2]


def schema(name: str) -> dict[str, Any]:
    """As a user finds it: in the package."""
    text = resources.files("chaos.report").joinpath(f"{name}.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def closed(value: Any, key: str = "") -> Any:
    """The same, that allows no key which it does not name (but for the evidence of a rule)."""
    if isinstance(value, list):
        return [closed(item) for item in value]
    if not isinstance(value, dict):
        return value
    inside = {name: closed(item, name) for name, item in value.items()}
    if "properties" in value and value.get("type") == "object" and key != "evidence":
        inside["additionalProperties"] = False
    return inside


def validator(name: str) -> Draft202012Validator:
    schemas = {name: closed(schema(name)) for name in ("report", "failure")}
    every = [(each["$id"], Resource.from_contents(each)) for each in schemas.values()]
    registry: Registry[Any] = Registry().with_resources(every)
    return Draft202012Validator(schemas[name], registry=registry)


REPORT, FAILURE = validator("report"), validator("failure")


def reported(sweep: SweepResult) -> Any:
    known = {"E2 toolStarted > effect": KnownFault(1, "issue 7")}
    return json.loads(json_report(sweep, {sample.violated().id: "f.json"}, known))


def test_each_needs_no_other() -> None:
    """Whoever checks a failure file has one schema to load."""
    assert "urn:" not in json.dumps({**schema("failure"), "$id": ""})
    for shared in ("violation", "count"):
        assert schema("failure")["$defs"][shared] == schema("report")["$defs"][shared]


@pytest.mark.parametrize("name", ["report", "failure"])
def test_they_are_schemas_of_this_version(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["properties"]["version"] == {"const": VERSION}
    assert schema(name)["$id"] == f"urn:killpoint:{name}:{VERSION}"


@pytest.mark.parametrize(
    "sweep",
    [
        sample.sweep_result(sample.passed(), sample.violated(), sample.inconclusive()),
        sample.sweep_result(error="no such program", interrupted=True),
        sample.sweep_result(),
    ],
)
def test_every_report_follows_the_schema(sweep: SweepResult) -> None:
    REPORT.validate(reported(sweep))


def test_a_failure_file_follows_the_schema(tmp_path: Path) -> None:
    results = sample.sweep_result(sample.violated(), sample.inconclusive(), error="no").scenarios[0]
    for result in results_of(results):
        file = tmp_path / "f.json"
        write_failure(Failure.of(sample.scenario(), result, "warm", 7), file)
        FAILURE.validate(json.loads(file.read_text()))


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every key of an object stands, but for what is within a rule's evidence."""
    if here[-1:] == ("evidence",):
        return []
    if isinstance(value, list):
        return [path for at, item in enumerate(value) for path in paths(item, (*here, at))]
    if not isinstance(value, dict):
        return []
    inside = [path for key, item in value.items() for path in paths(item, (*here, key))]
    return [*((*here, key) for key in value), *inside]


OPTIONAL = {"why", "notes", "interrupted"}


def test_each_key_is_required_and_each_is_typed() -> None:
    whole = reported(sample.sweep_result(sample.passed(), sample.violated()))
    assert len(paths(whole)) > 40
    for path in paths(whole):
        for change in (lambda at, key: at.pop(key), lambda at, key: at.update({key: object})):
            broken = json.loads(json.dumps(whole))
            at = broken
            for step in path[:-1]:
                at = at[step]
            change(at, path[-1])
            if path[-1] not in OPTIONAL:
                with pytest.raises(ValidationError):
                    REPORT.validate(broken)


def test_a_key_that_is_not_told_is_found() -> None:
    whole = reported(sample.sweep_result(sample.violated()))
    whole["scenarios"][0]["schedules"][0]["new"] = 1
    with pytest.raises(ValidationError, match="'new' was unexpected"):
        REPORT.validate(whole)


def test_the_verdicts_are_those_there_are() -> None:
    assert schema("report")["$defs"]["verdict"]["enum"] == [str(verdict) for verdict in Verdict]


def test_a_real_report_and_a_real_failure_follow_them(tmp_path: Path) -> None:
    """A scenario that expects what does not happen: every schedule of it is a failure."""
    source = (ROOT / "scenarios/calls/plain-answer.toml").read_text()
    scenario = source.replace('outcome = "completed"', 'outcome = "failed"')
    assert scenario != source
    (tmp_path / "s.toml").write_text(scenario)
    line = "-m chaos run s.toml --launch warm -k runStarted-1-after --json r.json"
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, *line.split()], cwd=tmp_path, env=env, check=False)
    report = json.loads((tmp_path / "r.json").read_text())
    REPORT.validate(report)
    assert json.loads((tmp_path / "chaos-report/report.json").read_text()) == report
    assert report["summary"]["violations"] == 1
    (schedule,) = report["scenarios"][0]["schedules"]
    FAILURE.validate(json.loads(Path(schedule["artifact"]).read_text()))
