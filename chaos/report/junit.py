"""The JUnit report: a suite for each scenario, a case for each schedule.

The elements and attributes are those that GitHub's reporters, GitLab and Jenkins read. Pure.
VIOLATION is a failure (a known one is skipped, with the reason), INCONCLUSIVE and HARNESS_ERROR are
errors. Messages are one line; the body is the explanation that the terminal shows, cut where it is
long. The XML is valid whatever a target wrote: characters that XML 1.0 does not have are written
as escapes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

from chaos.report.context import Context
from chaos.report.counts import all_results, count, results_of
from chaos.report.explain import explain
from chaos.report.known import accepted
from chaos.report.triage import Fault
from chaos.report.visible import visible
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict

_TAGS = {
    Verdict.VIOLATION: "failure",
    Verdict.INCONCLUSIVE: "error",
    Verdict.HARNESS_ERROR: "error",
}
EXPLAINED = 200  # cases whose body is the whole explanation; GitLab reads reports up to 30 MB
_BODY = 10_000  # characters of one
_MESSAGE = 400


def junit_report(sweep: SweepResult, faults: Sequence[Fault], context: Context) -> str:
    """An XML document. `faults` are those of the sweep."""
    known = accepted(context.known, faults)
    root = ET.Element("testsuites", name="chaos", time=f"{sweep.seconds:.3f}")
    root.attrib |= _sums(tuple(all_results(sweep)), known)
    writer = _Writer(context, known)
    root.extend(writer.suite(scenario, sweep.seed) for scenario in sweep.scenarios)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _sums(results: Sequence[ScheduleResult], known: Collection[str]) -> dict[str, str]:
    counts, skipped = count(results), sum(result.id in known for result in results)
    sums = {
        "tests": counts.schedules,
        "failures": counts.violations - skipped,
        "errors": counts.inconclusive + counts.errors,
        "skipped": skipped,
    }
    return {name: str(number) for name, number in sums.items()}


class _Writer:
    def __init__(self, context: Context, known: Mapping[str, str]) -> None:
        self._context = context
        self._known = known  # schedule id -> why its fault is accepted
        self._explained = 0

    def suite(self, scenario: ScenarioResult, seed: int) -> ET.Element:
        """A scenario."""
        results = results_of(scenario)
        suite = ET.Element(
            "testsuite",
            name=visible(scenario.name),
            file=visible(self._context.file(scenario)),
            time=f"{scenario.seconds:.3f}",
        )
        suite.attrib |= _sums(results, self._known)
        properties = ET.SubElement(suite, "properties")
        for name, value in (("seed", seed), ("launch", self._context.launch)):
            ET.SubElement(properties, "property", name=name, value=str(value))
        suite.extend(self._case(scenario, result) for result in results)
        return suite

    def _case(self, scenario: ScenarioResult, result: ScheduleResult) -> ET.Element:
        """A schedule. Its class is the path of the scenario, so that services group by folder."""
        file = self._context.file(scenario)
        folder = PurePosixPath(file).parent.parts
        within = [] if folder[:1] == ("/",) else [part.replace(".", "_") for part in folder]
        case = ET.Element(
            "testcase",
            classname=visible(".".join((*within, scenario.name))),
            name=visible(result.id),
            file=visible(file),
            line=str(self._context.line(scenario, result)),
            time=f"{result.seconds:.3f}",
        )
        if result.verdict in _TAGS:
            case.append(self._problem(result))
        return case

    def _problem(self, result: ScheduleResult) -> ET.Element:
        said = [f"{v.id}: {v.message}" for v in result.violations] or [result.why]
        tag, message = _TAGS[result.verdict], said[0]
        if result.id in self._known:
            tag, message = "skipped", f"known fault: {self._known[result.id]}"
        one_line = visible(" ".join(message.split()), _MESSAGE)
        problem = ET.Element(tag, type=str(result.verdict), message=one_line)
        problem.text = self._body(result, said)
        return problem

    def _body(self, result: ScheduleResult, said: Sequence[str]) -> str:
        context = self._context
        if self._explained < EXPLAINED:
            self._explained += 1
            text = explain(result, context.artifacts.get(result.id))
        else:
            text = "\n".join([result.schedule, *said, *context.again(result)])
        if len(text) > _BODY:
            text = f"{text[:_BODY]}\n… cut; the report folder has it all"
        return "\n".join(map(visible, text.splitlines()))
