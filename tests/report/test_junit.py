"""The JUnit report is XML that every reader takes."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml, TestSuite

from chaos.report import junit
from chaos.report.junit import junit_report
from chaos.report.known import KnownFault
from chaos.report.triage import faults_of_all
from chaos.results import SweepResult
from tests.report import sample

# What Jenkins' schema (junit-10.xsd) allows, and GitLab and GitHub's reporters read: for each
# element its required attributes, the others, and its children.
_COUNTS = {"tests", "failures", "errors", "skipped", "time"}
_PROBLEM = (set[str](), {"type", "message"}, set[str]())
SCHEMA = {
    "testsuites": (set(), {"name", *_COUNTS}, {"testsuite"}),
    "testsuite": ({"name"}, {"file", *_COUNTS}, {"properties", "testcase"}),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"name"}, {"classname", "file", "line", "time"}, {"failure", "error", "skipped"}),
    "failure": _PROBLEM,
    "error": _PROBLEM,
    "skipped": _PROBLEM,
}
KNOWN = {"E2 toolStarted > effect": KnownFault(1, "issue 7")}


def written(sweep: SweepResult, **more: object) -> ET.Element:
    document = junit_report(sweep, faults_of_all(sweep), sample.context(**more))  # type: ignore[arg-type]
    return ET.fromstring(document.encode("utf-8"))


def check(element: ET.Element) -> None:
    required, others, children = SCHEMA[element.tag]
    assert required <= set(element.attrib) <= required | others, element.tag
    for child in element:
        assert child.tag in children, (element.tag, child.tag)
        check(child)


def whole() -> SweepResult:
    return sample.sweep_result(
        sample.passed(), sample.violated(), sample.inconclusive(), error="no such program"
    )


@pytest.mark.parametrize("known", [{}, KNOWN])
def test_it_follows_the_schema_of_the_field(known: dict[str, KnownFault]) -> None:
    check(written(whole(), known=known))


def test_a_suite_a_scenario_and_a_case_a_schedule() -> None:
    root = written(whole())
    (suite,) = root
    for element in (root, suite):
        counts = [element.get(name) for name in ("tests", "failures", "errors", "skipped")]
        assert counts == ["4", "1", "2", "0"]
    properties, passed, violated, inconclusive, _ = suite
    assert {p.get("name"): p.get("value") for p in properties} == {"seed": "7", "launch": "warm"}
    assert passed.attrib == {
        "classname": "deploy",
        "name": "deploy-baseline",
        "file": "deploy.toml",  # relative to the repository
        "line": "1",
        "time": "0.100",
    }
    assert list(passed) == []
    (failure,) = violated
    assert failure.get("message") == (
        "E2: deploy with key [api key]: expected 0, found 1 at launch 2 (resume), line 4, seq 3"
    )
    assert failure.text == junit.explain(sample.violated(), "rep/failures/x.json").rstrip("\n")
    (error,) = inconclusive
    assert (error.tag, error.get("type")) == ("error", "INCONCLUSIVE")
    assert error.get("message") == "log:header#1/before was never reached"


def test_folders_are_packages() -> None:
    sweep = sample.sweep_result(sample.passed())
    scenario = replace(sweep.scenarios[0], path="/s/scenarios/v1.2/deploy.toml")
    root = written(replace(sweep, scenarios=(scenario,)))
    case = root.find("testsuite/testcase")
    assert case is not None
    assert case.get("classname") == "scenarios.v1_2.deploy"


def test_others_read_it_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("junit") / "r.xml"
    sweep = whole()
    file.write_text(junit_report(sweep, faults_of_all(sweep), sample.context()))
    read = JUnitXml.fromfile(str(file))
    assert (read.tests, read.failures, read.errors, read.skipped) == (4, 1, 2, 0)
    read.update_statistics()  # counted again from the cases
    assert (read.tests, read.failures, read.errors, read.skipped) == (4, 1, 2, 0)
    (suite,) = read
    assert isinstance(suite, TestSuite)
    assert [case.name for case in suite][:2] == ["deploy-baseline", sample.violated().id]


def test_messages_are_one_line_and_bodies_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "EXPLAINED", 1)
    monkeypatch.setattr(junit, "_BODY", 500)
    long = [replace(v, message=f"{v.message}\n" * 200) for v in sample.violated().violations]
    results = [replace(sample.violated(), id=f"r-{n}", violations=tuple(long)) for n in range(3)]
    for failure in written(sample.sweep_result(*results)).iter("failure"):
        assert "\n" not in str(failure.get("message"))
        assert len(str(failure.get("message"))) < 500
        assert str(failure.text).endswith("… cut; the report folder has it all")
        assert len(str(failure.text)) < 600


@given(st.text(st.characters()))
def test_it_is_valid_whatever_a_target_wrote(text: str) -> None:
    broken = [replace(v, message=f"x {text}") for v in sample.violated().violations]
    result = replace(sample.violated(), violations=tuple(broken))
    check(written(sample.sweep_result(result, error=f"before {text}")))
