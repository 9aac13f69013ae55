"""The report that a person reads: a line for each scenario, what failed, and the totals.

Pure: every function returns text that ends with LF.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.report.counts import Counts, all_results, count, number_of, results_of
from chaos.report.explain import explain
from chaos.report.known import NONE, Known
from chaos.report.triage import Fault, faults_of, faults_of_all, unproven
from chaos.report.visible import visible
from chaos.results import Closure, ScenarioResult, ScheduleResult, SweepResult

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
        f"{counts.exact:>6} {states:>7} {scenario.seconds:>10.1f}  "
        f"{_verdicts(counts)}{_closure(scenario.closure)}\n"
        + "".join(f"  {visible(note)}\n" for note in scenario.notes)
        + _not_applicable(scenario)
    )


def _not_applicable(scenario: ScenarioResult) -> str:
    """What the dialect of the target does not show has not passed."""
    ids = " ".join(scenario.not_applicable)
    return f"  not applicable, since its session is not read so far: {ids}\n" if ids else ""


def schedule_lines(scenario: ScenarioResult) -> str:
    """Every schedule of a scenario, in the order of the walk."""
    return "".join(
        f"  {result.verdict:<13}  {result.seconds:6.2f} s  {visible(result.id)}\n"
        for result in results_of(scenario)
    )


def _closure(closure: Closure) -> str:
    """How far a walk beyond the first kill came; nothing where one kill was all that was asked."""
    if closure.complete:  # without an image there was nothing to close
        return f", closed at depth {closure.depth}" if closure.states else ""
    if closure.wanted == 1:
        return ""
    cut = "cut at " if closure.cut else ""
    what = f"{cut}depth {closure.depth}"
    return f", {what}: {closure.left} images not explored further"


def failures(
    scenario: ScenarioResult,
    artifacts: Mapping[str, str],
    known: Known = NONE,
) -> str:
    """What did not pass in a scenario: the smallest schedule of each fault explained, the others
    named; a known fault in a line."""
    faults = faults_of(scenario)
    groups = [(f.results, [_fault_line(f)]) for f in faults if f.fingerprint not in known]
    groups += [(alike, []) for alike in unproven(results_of(scenario))]
    parts = [
        explain(
            group[0],
            artifacts.get(group[0].id),
            [*fault_line, *_others(scenario.name, group)],
        )
        for group, fault_line in groups[:EXPLAINED]
    ]
    left = sum(len(group) for group, _ in groups[EXPLAINED:])
    if left:
        parts.append(f"{left} more of other kinds; the report folder has them all\n")
    parts += [_known_line(f, known) for f in faults if f.fingerprint in known]
    return "".join(f"\n{part}" for part in parts)


def totals(sweep: SweepResult, known: Known = NONE) -> str:
    """The last lines: the faults, the sums over all scenarios, and the seed."""
    faults = faults_of_all(sweep)
    listed = [f"\n{number_of(len(faults), 'fault')}:\n"] if faults else []
    listed += [
        f"  {f.fingerprint}  ({number_of(len(f.results), 'schedule')}"
        f"{', known' if f.fingerprint in known else ''})\n"
        for f in faults
    ]
    return f"{''.join(listed)}\n{in_numbers(sweep)}\n"


def in_numbers(sweep: SweepResult) -> str:
    """A sweep in one line."""
    counts = count(all_results(sweep))
    words = "interrupted; so far: " if sweep.interrupted else ""
    return (
        f"{words}{number_of(len(sweep.scenarios), 'scenario')}, "
        f"{number_of(counts.schedules, 'schedule')}, {number_of(counts.kills, 'kill')} "
        f"({counts.exact} proven exact) in {sweep.seconds:.1f} s: "
        f"{_verdicts(counts)} (seed {sweep.seed})"
    )


def text_report(
    sweep: SweepResult,
    artifacts: Mapping[str, str],
    known: Known = NONE,
) -> str:
    """The whole report, as `--report DIR` keeps it."""
    lines: Sequence[str] = [
        heading(),
        *map(scenario_line, sweep.scenarios),
        *(failures(scenario, artifacts, known) for scenario in sweep.scenarios),
        totals(sweep, known),
    ]
    return "".join(lines)


def _fault_line(fault: Fault) -> str:
    return f"  fault     {fault.fingerprint}"


def _known_line(fault: Fault, known: Known) -> str:
    reason = visible(known[fault.fingerprint].reason)
    return f"known  {fault.fingerprint}  ({number_of(len(fault.results), 'schedule')}): {reason}\n"


def _others(scenario: str, group: Sequence[ScheduleResult]) -> list[str]:
    """The other schedules, without the scenario's name before each."""
    shown = ", ".join(visible(result.id.removeprefix(f"{scenario}-")) for result in group[1:6])
    more = f" and {len(group) - 6} more" if len(group) > 6 else ""
    return [f"  likewise  {shown}{more}"] if shown else []


def _verdicts(counts: Counts) -> str:
    rows = (
        (counts.passed, "passed"),
        (counts.violations, "VIOLATION"),
        (counts.inconclusive, "INCONCLUSIVE"),
        (counts.errors, "HARNESS_ERROR"),
    )
    return ", ".join(f"{number} {name}" for number, name in rows if number) or "nothing run"
