"""The certificate of a target: rule by rule, what was seen without a kill and what after kills.

Pure. Each rule is one of: `ok N` in N schedules; `BROKEN n of N`; not applicable, since the
target's dialect does not give its evidence; not tried, since the course gave it nothing to break.
What breaks without any kill is told there, and is not counted again after kills.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chaos.evidence import Evidence, FileChange, Rival
from chaos.judge import RULES
from chaos.judge.applicable import not_applicable, statements
from chaos.points import Schedule
from chaos.report.counts import all_results, count, results_of
from chaos.report.explain import explain
from chaos.report.json_ import json_report
from chaos.report.triage import Fault, faults_of_all
from chaos.report.visible import visible
from chaos.results import ScheduleResult, SweepResult, Verdict

VERSION = 1
_CELL = 18  # columns
_JUDGED = (Verdict.PASS, Verdict.VIOLATION)


@dataclass(frozen=True, slots=True)
class Subject:
    """What was certified."""

    name: str
    version: str
    dialect: str
    command: tuple[str, ...]  # of `run`, as the target file has it
    path: str  # of the target file


@dataclass(frozen=True, slots=True)
class Cell:
    """One rule over some schedules."""

    judged: int
    broken: int
    before: int = 0  # of the others, those in which it is broken as it is without a kill

    def __str__(self) -> str:
        if self.broken:
            return f"BROKEN {self.broken} of {self.judged}"
        if self.before:
            return "as without a kill"
        return f"ok {self.judged}" if self.judged else "not tried"


@dataclass(frozen=True, slots=True)
class Row:
    """One rule. `why` says why it has no cells."""

    id: str
    statement: str
    why: str = ""
    without_kill: Cell | None = None
    after_kills: Cell | None = None


def rows_of(sweep: SweepResult) -> list[Row]:
    """The table; empty where no schedule left evidence."""
    evidence = [r.evidence for r in all_results(sweep) if r.evidence is not None]
    if not evidence:
        return []
    facts = evidence[0].facts
    missing, judged = not_applicable(RULES, facts), statements(RULES, facts)
    rows = []
    for ident in sorted({rule.id for rule in RULES} & (missing.keys() | judged), key=_by_family):
        shows, why = _TRIED.get(ident, (None, ""))
        if ident in missing:
            rows.append(Row(ident, "", f"not applicable: {missing[ident]}"))
        elif shows and not any(map(shows, evidence)):
            rows.append(Row(ident, judged[ident], f"not tried: {why}"))
        else:
            rows.append(Row(ident, judged[ident], "", *_cells(sweep, ident)))
    return rows


def _by_family(ident: str) -> tuple[int, int]:
    return "LPERX".index(ident[0]), int(ident[1:])


def _cells(sweep: SweepResult, ident: str) -> tuple[Cell, Cell]:
    without, after, before = Cell(0, 0), Cell(0, 0), 0
    for scenario in sweep.scenarios:
        judged = [r for r in results_of(scenario) if r.verdict in _JUDGED]
        alive, killed = _split(judged)
        known = _broken(alive, ident)
        broken = _broken(killed, ident)
        without = Cell(without.judged + len(alive), without.broken + known)
        before += broken if known else 0
        after = Cell(after.judged + len(killed), after.broken + (0 if known else broken), before)
    return without, after


def _split(results: Iterable[ScheduleResult]) -> tuple[list[ScheduleResult], list[ScheduleResult]]:
    alive: list[ScheduleResult] = []
    killed: list[ScheduleResult] = []
    for result in results:
        (killed if Schedule.parse(result.schedule).kills else alive).append(result)
    return alive, killed


def _broken(results: Sequence[ScheduleResult], ident: str) -> int:
    return sum(any(v.id == ident for v in result.violations) for result in results)


def _has(evidence: Evidence, kind: type[Any]) -> bool:
    return any(isinstance(event, kind) for event in evidence.events)


def _has_role(evidence: Evidence, role: str) -> bool:
    return any(launch.role == role for launch in evidence.launches)


def _ended_blocked(evidence: Evidence) -> bool:
    code = evidence.facts.exit_codes.get("blocked", -1)
    return any(launch.exit_code == code for launch in evidence.launches)


# What a course must show before these rules can be said to hold.
_TRIED: Mapping[str, tuple[Callable[[Evidence], bool], str]] = {
    "L10": (lambda e: _has_role(e, "compact"), "nothing was compacted"),
    "L11": (lambda e: _has_role(e, "abort"), "nothing was aborted"),
    "E5": (lambda e: _has(e, FileChange), "it wrote no file of the workspace"),
    "R4": (_ended_blocked, "nothing held the session up"),
    "X2": (lambda e: _has(e, Rival), "it was never started twice at once"),
}


# -- text ---------------------------------------------------------------------------------------


def certificate(subject: Subject, sweep: SweepResult, artifacts: Mapping[str, str]) -> str:
    """The whole of it for a person. Ends with LF."""
    parts = [
        _head(subject, sweep),
        _table(rows_of(sweep)),
        *(f"{visible(line)}\n" for line in _notes(sweep)),
    ]
    for number, fault in enumerate(faults_of_all(sweep), start=1):
        parts.append(f"\n{_of_fault(number, fault)}\n")
        parts.append(explain(fault.smallest, artifacts.get(fault.smallest.id)))
    return "".join(parts)


def _head(subject: Subject, sweep: SweepResult) -> str:
    counts = count(all_results(sweep))
    return (
        f"target     {visible(subject.name)} {visible(subject.version)}, {subject.dialect}\n"
        f"command    {visible(' '.join(subject.command))}\n"
        f"course     {counts.schedules} schedules, {counts.kills} kills ({counts.exact} proven "
        f"exact), {counts.inconclusive} inconclusive, {counts.errors} errors, "
        f"{sweep.seconds:.0f} s\n"
    )


def _table(rows: Sequence[Row]) -> str:
    if not rows:
        return "\nno schedule came to an end: nothing was judged\n"
    lines = [f"\n{'rule':<6}{'without a kill':<{_CELL}}{'after kills':<{_CELL}}"]
    for row in rows:
        if row.without_kill is not None:
            cells = f"{row.without_kill!s:<{_CELL}}{row.after_kills!s:<{_CELL}}"
            lines.append(f"{row.id:<6}{cells}{row.statement}")
    whys: dict[str, list[str]] = {}
    for row in rows:
        if row.why:
            whys.setdefault(row.why, []).append(row.id)
    lines += [f"{why}: {' '.join(ids)}" for why, ids in whys.items()]
    return "\n".join(lines) + "\n"


def _notes(sweep: SweepResult) -> Iterator[str]:
    yield from (f"note       {s.name}: {note}" for s in sweep.scenarios for note in s.notes)
    yield from (f"error      {s.name}: {s.error}" for s in sweep.scenarios if s.error)
    doubts = (r for r in all_results(sweep) if r.verdict not in _JUDGED)
    yield from (f"{r.verdict}  {r.id}: {r.why}" for r in doubts if r.evidence is not None)


def _of_fault(number: int, fault: Fault) -> str:
    kills = Schedule.parse(fault.smallest.schedule).kills
    when = f"after {len(fault.results)} of the kills" if kills else "without any kill"
    return f"fault {number}    {' '.join(fault.ids)}, {when}; the smallest:"


# -- JSON ---------------------------------------------------------------------------------------


def certificate_json(subject: Subject, sweep: SweepResult, artifacts: Mapping[str, str]) -> str:
    """The same for programs; `report` is the object that `chaos run --json` writes."""
    value = {
        "version": VERSION,
        "target": asdict(subject),
        "rules": [asdict(row) for row in rows_of(sweep)],
        "report": json.loads(json_report(sweep, artifacts)),
    }
    return json.dumps(value, indent=1, default=str) + "\n"
