"""The JUnit report: a suite for each scenario, a case for each schedule.

Pure. VIOLATION is a failure (a known one is skipped), INCONCLUSIVE and HARNESS_ERROR are errors.
The XML is valid whatever a target wrote: characters that XML 1.0 does not have are written as
escapes.
"""

from __future__ import annotations

from collections.abc import Collection
from xml.etree import ElementTree as ET

from chaos.report.counts import count, results_of
from chaos.report.visible import visible
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict

_TAGS = {
    Verdict.VIOLATION: "failure",
    Verdict.INCONCLUSIVE: "error",
    Verdict.HARNESS_ERROR: "error",
}


def junit_report(sweep: SweepResult, accepted: Collection[str] = ()) -> str:
    """An XML document. `accepted` are ids of schedules whose fault is known: they are skipped."""
    root = ET.Element("testsuites", name="chaos", time=f"{sweep.seconds:.3f}")
    root.extend(_suite(scenario, accepted) for scenario in sweep.scenarios)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(scenario: ScenarioResult, accepted: Collection[str]) -> ET.Element:
    results = results_of(scenario)
    counts = count(results)
    skipped = sum(result.id in accepted for result in results)
    suite = ET.Element(
        "testsuite",
        name=visible(scenario.name),
        tests=str(counts.schedules),
        failures=str(counts.violations - skipped),
        errors=str(counts.inconclusive + counts.errors),
        skipped=str(skipped),
        time=f"{scenario.seconds:.3f}",
    )
    suite.extend(_case(scenario, result, accepted) for result in results)
    return suite


def _case(
    scenario: ScenarioResult, result: ScheduleResult, accepted: Collection[str]
) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=visible(scenario.name),
        name=visible(result.id),
        time=f"{result.seconds:.3f}",
    )
    if result.verdict in _TAGS:
        said = [f"{v.id}: {v.message}" for v in result.violations] or [result.why]
        lines = [visible(line) for text in said for line in text.splitlines()]
        tag = "skipped" if result.id in accepted else _TAGS[result.verdict]
        message = lines[0] if lines else ""
        problem = ET.SubElement(case, tag, type=str(result.verdict), message=message)
        problem.text = "\n".join([visible(result.schedule), *lines])
    return case
