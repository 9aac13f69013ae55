"""The report that a person reads: a line for each scenario, what failed, and the totals.

Pure: every function returns text that ends with LF.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.report.counts import Counts, all_results, count, results_of
from chaos.report.explain import Statements, explain
from chaos.report.visible import visible
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict

_NAME_WIDTH = 36
EXPLAINED = 3  # kinds of failure explained for one scenario


def heading() -> str:
    """Names of the columns of `scenario_line`."""
    return f"{'scenario':<{_NAME_WIDTH}} points  kills  exact  images    seconds  verdict\n"


def scenario_line(scenario: ScenarioResult) -> str:
    """One scenario: its kill points, the kills carried out and proven exact, the distinct crash
    images judged to the end, and its verdicts."""
    counts = count(results_of(scenario))
    states = scenario.closure.states
    return (
        f"{visible(scenario.name):<{_NAME_WIDTH}} {len(scenario.points):>6} {counts.kills:>6} "
        f"{counts.exact:>6} {states:>7} {scenario.seconds:>10.1f}  {_verdicts(counts)}\n"
    )


def failures(scenario: ScenarioResult, statements: Statements, artifacts: Mapping[str, str]) -> str:
    """What did not pass in a scenario: the first of each kind explained, the others named."""
    groups: dict[tuple[str, ...], list[ScheduleResult]] = {}
    for result in results_of(scenario):
        if result.verdict is not Verdict.PASS:
            kind = (str(result.verdict), *sorted({v.id for v in result.violations}))
            groups.setdefault(kind, []).append(result)
    parts = [
        explain(group[0], statements, artifacts.get(group[0].id)) + _others(group)
        for group in list(groups.values())[:EXPLAINED]
    ]
    left = sum(map(len, list(groups.values())[EXPLAINED:]))
    if left:
        parts.append(f"{left} more of other kinds; the report folder has them all\n")
    return "".join(f"\n{part}" for part in parts)


def totals(sweep: SweepResult) -> str:
    """The last lines: sums over all scenarios, and the seed."""
    counts = count(all_results(sweep))
    words = "interrupted; so far: " if sweep.interrupted else ""
    return (
        f"\n{words}{_number(len(sweep.scenarios), 'scenario')}, "
        f"{_number(counts.schedules, 'schedule')}, {_number(counts.kills, 'kill')} "
        f"({counts.exact} proven exact) in {sweep.seconds:.1f} s: "
        f"{_verdicts(counts)} (seed {sweep.seed})\n"
    )


def text_report(sweep: SweepResult, statements: Statements, artifacts: Mapping[str, str]) -> str:
    """The whole report, as `--report DIR` keeps it."""
    lines: Sequence[str] = [
        heading(),
        *map(scenario_line, sweep.scenarios),
        *(failures(scenario, statements, artifacts) for scenario in sweep.scenarios),
        totals(sweep),
    ]
    return "".join(lines)


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _others(group: list[ScheduleResult]) -> str:
    shown = ", ".join(visible(result.id) for result in group[1:6])
    more = f" and {len(group) - 6} more" if len(group) > 6 else ""
    return f"  likewise  {shown}{more}\n" if shown else ""


def _verdicts(counts: Counts) -> str:
    rows = (
        (counts.passed, "passed"),
        (counts.violations, "VIOLATION"),
        (counts.inconclusive, "INCONCLUSIVE"),
        (counts.errors, "HARNESS_ERROR"),
    )
    return ", ".join(f"{number} {name}" for number, name in rows if number) or "nothing run"
