"""The JUnit report is XML that every reader takes."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from chaos.report.junit import junit_report
from tests.report import sample


def test_a_suite_a_scenario_and_a_case_a_schedule() -> None:
    sweep = sample.sweep_result(sample.passed(), sample.violated(), sample.inconclusive())
    root = ET.fromstring(junit_report(sweep))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    passed, violated, inconclusive = suite
    assert passed.get("name") == "deploy-baseline"
    assert list(passed) == []
    failure = violated.find("failure")
    assert failure is not None
    assert str(failure.get("message")).startswith("E2: deploy with key [api key]")
    assert "run: log:toolStarted[bash]#1/after" in str(failure.text)
    error = inconclusive.find("error")
    assert error is not None
    assert error.get("type") == "INCONCLUSIVE"


@given(st.text(st.characters()))
def test_it_is_valid_whatever_a_target_wrote(text: str) -> None:
    document = junit_report(sample.sweep_result(error=f"before {text}"))
    ET.fromstring(document.encode("utf-8"))
