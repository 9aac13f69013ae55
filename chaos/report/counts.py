"""The sums of a sweep, counted in one place for every form of report. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from chaos.evidence import Evidence, Kill
from chaos.points import Schedule
from chaos.report.visible import without_secret
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict


@dataclass(frozen=True, slots=True)
class Counts:
    """The `summary` of design section 7. Verdicts count schedules, not broken rules."""

    schedules: int
    kills: int  # carried out; one that many schedules go on from counts once
    exact: int  # of these, proven exact by the judge
    passed: int
    violations: int
    inconclusive: int
    errors: int


def results_of(scenario: ScenarioResult) -> tuple[ScheduleResult, ...]:
    """The schedules of a scenario, presentable. A scenario that failed as a whole counts as one
    more: an error of its run without a kill."""
    evidence = {result.id: result.evidence for result in scenario.schedules}
    results = tuple(
        presentable(result, evidence.get(result.merged_into or "")) for result in scenario.schedules
    )
    if not scenario.error:
        return results
    failed = ScheduleResult(
        id=f"{scenario.name}-error",
        schedule=str(Schedule()),
        verdict=Verdict.HARNESS_ERROR,
        violations=(),
        why=scenario.error,
        kills=0,
        exact=0,
        seconds=0.0,
    )
    return (*results, failed)


def count(results: Iterable[ScheduleResult]) -> Counts:
    """Count schedules by their verdict, and their kills."""
    everything = tuple(results)
    verdicts = Counter(result.verdict for result in everything)
    return Counts(
        schedules=len(everything),
        kills=sum(result.made for result in everything),
        exact=sum(result.made_exact for result in everything),
        passed=verdicts[Verdict.PASS],
        violations=verdicts[Verdict.VIOLATION],
        inconclusive=verdicts[Verdict.INCONCLUSIVE],
        errors=verdicts[Verdict.HARNESS_ERROR],
    )


def summary_of(sweep: SweepResult) -> dict[str, Any]:
    """The `summary` of the JSON report."""
    return {
        **asdict(count(all_results(sweep))),
        "harvested": sum(scenario.closure.harvested for scenario in sweep.scenarios),
        "seconds": round(sweep.seconds, 3),
    }


def number_of(number: int, noun: str) -> str:
    """`1 kill`, `2 kills`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def all_results(sweep: SweepResult) -> Iterator[ScheduleResult]:
    """The schedules of every scenario."""
    for scenario in sweep.scenarios:
        yield from results_of(scenario)


def exit_code(sweep: SweepResult, accepted: Collection[str] = ()) -> int:
    """Of a sweep; design section 7. An interrupted one says so first. `accepted` are the ids of
    schedules whose fault is known."""
    if sweep.interrupted:
        return 2
    news = [result for result in all_results(sweep) if result.id not in accepted]
    return code_of(news) if news or not accepted else 0


def code_of(results: Iterable[ScheduleResult]) -> int:
    """Of judged schedules. A broken rule weighs more than a kill that proves nothing."""
    counts = count(results)
    rows = (
        (counts.violations > 0, 1),
        (counts.inconclusive + counts.errors > 0, 3),
        (counts.schedules == 0, 5),
    )
    return next((code for applies, code in rows if applies), 0)


def presentable(result: ScheduleResult, image: Evidence | None = None) -> ScheduleResult:
    """The same without the target's secret in anything but the evidence. `image` is the evidence of
    the schedule that it was merged into, whose violations it has."""
    for evidence in filter(None, (result.evidence, image)):
        secret = evidence.facts.secret
        told = without_secret((result.violations, result.why), secret)
        result = replace(result, violations=told[0], why=told[1])
    return result


def told_of(evidence: Evidence) -> Evidence:
    """The evidence as it may be shown: without the target's secret, which is taken out before
    anything is cut, or half of it could be left. A kill keeps its point, which is parsed."""
    secret = evidence.facts.secret
    events = (
        replace(event, tree=without_secret(event.tree, secret))
        if isinstance(event, Kill)
        else without_secret(event, secret)
        for event in evidence.events
    )
    return replace(
        evidence,
        launches=without_secret(evidence.launches, secret),
        events=tuple(events),
        blobs=without_secret(evidence.blobs, secret),
    )
