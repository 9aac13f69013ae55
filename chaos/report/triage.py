"""Triage: a thousand broken schedules, read as a few faults.

A **fingerprint** is what a fault looks like from outside: the first broken rule in the order of the
judge (which has causes before their effects), what the session was doing when it broke, and what
happened next.

    L6 unanswered-calls > toolStarted    calls were unanswered, and this intent broke L6
    E4 unanswered-calls > effect         calls were unanswered, and this effect broke E4
    R1 assistant > end                   the launch that broke R1 left an answer as the last fact
    R1 torn-write                        only a kill inside a write shows it, whatever was written
    E1 no-kill                           the run without a kill breaks the same rules already
    R1 unread > request                  a session that tells no facts broke R1 with this request

The kill itself is not in it: a recovery that goes wrong at its end does so after a kill at any
earlier point, and that is one fault. Nor are ids, ordinals and the scenario, so that a fault has
one fingerprint wherever it is met. Schedules of one fingerprint are one `Fault`; the smallest of
them stands for the others.

Pure. Does not decide which faults are accepted: `chaos.report.known`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from chaos.damage import Damage
from chaos.evidence import Evidence, Launch
from chaos.judge import RULES, judge
from chaos.judge.history import history_of, tool_calls
from chaos.judge.log import LF, read_log
from chaos.points import DAMAGE, Phase, Schedule, told
from chaos.report.counts import results_of
from chaos.report.timeline import log_at, number_in
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict, Violation

NO_KILL = "no-kill"
TORN_WRITE = "torn-write"
UNANSWERED = "unanswered-calls"
ANSWERED = "answered-calls"
NOTHING = "nothing"  # an empty log
HEADER = "header"  # a log without facts
END = "end"  # of a launch
UNREADABLE = "unreadable"
UNREAD = "unread"  # a session that tells no facts
UNKNOWN = "unknown"
KEPT = 10  # schedules of a fault whose evidence is put on disk: half a megabyte each

# The first row of a rule: it may have others, for sessions that are not read.
_PLACE_OF_RULE = {rule.id: place for place, rule in reversed([*enumerate(RULES)])}
_IN_A_TURN = frozenset({"assistant", "toolStarted", "toolResult"})
_SIMPLEST = (
    Phase.AFTER,
    Phase.BEFORE,
    Phase.REQUEST,
    Phase.RESPONSE,
    Phase.CHUNK,
    Phase.TORN,
)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """Schedules that broke the same rule in the same way, the smallest first."""

    fingerprint: str
    ids: tuple[str, ...]  # of all rules that they broke, in the order of the judge
    results: tuple[ScheduleResult, ...]

    @property
    def smallest(self) -> ScheduleResult:
        """Fewest kills, then the simplest phases, then the earliest."""
        return self.results[0]


def faults_of(scenario: ScenarioResult) -> tuple[Fault, ...]:
    """The faults that one scenario shows, in the order in which they were met."""
    broken = [r for r in results_of(scenario) if r.verdict is Verdict.VIOLATION]
    anyway = _broken_anyway(broken)
    printed = {result.id: _fingerprint(result, anyway) for result in broken}
    whole = {printed[result.id] for result in broken if not _torn(result)}
    for ident, fingerprint in printed.items():
        if fingerprint not in whole:
            printed[ident] = f"{fingerprint.partition(' ')[0]} {TORN_WRITE}"
    # The schedule that judged the crash image speaks for those that came to the same image.
    groups: dict[str, list[ScheduleResult]] = {}
    for result in broken:
        speaker = result.merged_into if result.merged_into in printed else result.id
        groups.setdefault(printed[speaker], []).append(result)
    return _faults(groups)


def faults_of_all(sweep: SweepResult) -> tuple[Fault, ...]:
    """The faults of a whole sweep: those of several scenarios that look the same are one."""
    groups: dict[str, list[ScheduleResult]] = {}
    for scenario in sweep.scenarios:
        for fault in faults_of(scenario):
            groups.setdefault(fault.fingerprint, []).extend(fault.results)
    return _faults(groups)


def with_evidence(scenario: ScenarioResult, *, everything: bool) -> frozenset[str]:
    """The ids of the schedules whose evidence is put on disk: of each fault, and of what proves
    nothing, the smallest ones, or `everything` there is."""
    results = results_of(scenario)
    most = None if everything else KEPT
    groups = [*(fault.results for fault in faults_of(scenario)), *unproven(results)]
    broken = ((r.id for r in group if r.evidence is not None) for group in groups)
    passed = (r.id for r in results if r.verdict is Verdict.PASS and r.evidence is not None)
    return frozenset((*passed, *(ident for ids in broken for ident in islice(ids, most))))


def unproven(results: Sequence[ScheduleResult]) -> list[tuple[ScheduleResult, ...]]:
    """Those that prove nothing, by their verdict, the smallest first."""
    verdicts = (Verdict.INCONCLUSIVE, Verdict.HARNESS_ERROR)
    groups = ((r for r in results if r.verdict is verdict) for verdict in verdicts)
    return [group for each in groups if (group := tuple(sorted(each, key=_size)))]


def simplicity(schedule: Schedule) -> tuple[int, int]:
    """To sort by: the number of kills, then their phases (after, before, torn)."""
    return len(schedule.kills), sum(_SIMPLEST.index(kill.phase) for kill in schedule.kills)


def _size(result: ScheduleResult) -> tuple[int, int]:
    return simplicity(Schedule.parse(result.schedule))


def broken_ids(violations: Iterable[Violation]) -> tuple[str, ...]:
    """Ids of the broken rules, once each, in the order of the judge: causes before effects."""
    return _in_order({violation.id for violation in violations})


def _in_order(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda ident: (_PLACE_OF_RULE.get(ident, len(RULES)), ident)))


def _faults(groups: dict[str, list[ScheduleResult]]) -> tuple[Fault, ...]:
    """Sorting is stable, and results come in the order of the run: the earliest stays first."""
    faults = []
    for fingerprint, group in groups.items():
        ordered = sorted(group, key=_size)
        ids = broken_ids(v for result in group for v in result.violations)
        faults.append(Fault(fingerprint, ids, tuple(ordered)))
    return tuple(faults)


def _damage(result: ScheduleResult) -> str:
    """The kind of the first damage of the log, if there is any."""
    launches = Schedule.parse(result.schedule).launches
    damages = (how for launch in launches for how in told(launch.first, DAMAGE))
    return next((Damage.parse(how).kind for how in damages), "")


def _torn(result: ScheduleResult) -> bool:
    return any(kill.phase is Phase.TORN for kill in Schedule.parse(result.schedule).kills)


def _broken_anyway(broken: Sequence[ScheduleResult]) -> frozenset[str]:
    """The rules that the run without a kill breaks: what they say after a kill is no news."""
    references = (r.evidence.references for r in broken if r.evidence)
    first = next((known[0] for known in references if known), None)
    return frozenset(violation.id for violation in judge(first)) if first else frozenset()


def _fingerprint(result: ScheduleResult, anyway: frozenset[str]) -> str:
    """As if every write were whole. `anyway` are the rules that break without a kill."""
    ids = {violation.id for violation in result.violations}
    news = ids - anyway
    first = _in_order(news or ids)[0]
    if news and (damage := _damage(result)):
        return f"{first} {DAMAGE}-{damage}"
    if not news or not Schedule.parse(result.schedule).kills:
        return f"{first} {NO_KILL}"
    if result.evidence is None:
        return f"{first} {UNKNOWN}"
    told = [violation for violation in result.violations if violation.id == first]
    earliest = min(told, key=lambda v: (number_in(v, "line") or 0, number_in(v, "order") or 0))
    return f"{first} {' > '.join(map(_plain, _around(result.evidence, earliest)))}"


def _around(evidence: Evidence, violation: Violation) -> tuple[str, str]:
    """By the event, the line or the launch that the violation names, in this order."""
    at, log = log_at(evidence, violation)
    read = evidence.facts.dialect == "session-v2"
    doing = _doing(log) if read else UNREAD
    if not isinstance(at, Launch | None):
        return doing, type(at).__name__.lower()
    line = number_in(violation, "line")
    if line is None or not read:
        return doing, END
    before = LF.join(log.split(LF)[: line - 1]) + LF
    said = (fact.type for fact in read_log(log).facts if fact.line == line)
    return _doing(before), next((kind for kind in said if kind != "usage"), UNREADABLE)


def _doing(log: bytes) -> str:
    """What a session is doing, by its last fact; within a turn, whether calls wait for results."""
    history = history_of(log)
    last = history.last_fact
    if last is None:
        return HEADER if history.view.header else NOTHING
    final = last.type == "assistant" and not tool_calls(history.turns[-1].message)
    if last.type not in _IN_A_TURN or final or not history.calls:
        return last.type
    turn = history.calls[-1].key[:2]
    waiting = (call.result is None for call in history.calls if call.key[:2] == turn)
    return UNANSWERED if any(waiting) else ANSWERED


def _plain(name: str) -> str:
    """A name that a target wrote, as one word."""
    return _NOT_PLAIN.sub("-", name) or UNKNOWN
