"""Was everything killed at? `python -m tests.stress.coverage REPORT.json`, after a whole sweep.

A **place** is a kind of kill point: `log:toolStarted` (any tool, any number), `file:rename`,
`effect`, `provider`. Each place has the phases of its source; a call without bytes cannot be torn.
What must have been killed at:

- every kind of fact that the session contract knows and that begins a line, whether a scenario
  writes it or not: one that no scenario writes is a gap of the library;
- every other place that the runs of the report have;
- every phase of every source; of `state`, which only a target without a log of facts has, where the
  runs have it.

A kill counts where it was proven: not in a schedule that is INCONCLUSIVE or a HARNESS_ERROR. Does
not ask whether the verdicts are good; `chaos run` has said so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chaos.evidence import WRITES
from chaos.judge.log import COMPANIONS, point_name
from chaos.judge.shapes import ENTRIES, ENTRY_OF_ROLE, RECORDS
from chaos.launch.table import ROWS
from chaos.points import SOURCES, KillPoint, Phase, Schedule

Pair = tuple[str, str]  # a place, a phase

_PROVEN = frozenset({"PASS", "VIOLATION"})
_OF_SOME_TARGETS = frozenset({"state"})  # sources that a whole sweep need not have
_NAMED = frozenset({"log", "file", "state"})  # sources whose places differ by name
_WITHOUT_BYTES = frozenset(row.name for row in ROWS) - WRITES


def fact_kinds() -> set[str]:
    """What a line of a log can be named by: the tables of the contract, each read as the judge
    would read such a line. Companions ride on the lines of others."""
    bodies = [
        *({"kind": "record", "record": {"type": kind}} for kind in RECORDS),
        *({"kind": "entry", "entry": {"type": kind}} for kind in ENTRIES if kind != "message"),
        *(
            {"kind": "entry", "entry": {"type": "message", "message": {"role": role}}}
            for role in ENTRY_OF_ROLE
        ),
        {"kind": "header"},
        {"kind": "usage"},
    ]
    names = {point_name(json.dumps(body).encode() + b"\n")[0] for body in bodies}
    return names - COMPANIONS


def place_of(point: KillPoint) -> str:
    """`log:toolStarted` of `log:toolStarted[bash]#1/after`."""
    named = point.source in _NAMED and point.name
    return f"{point.source}:{point.name}" if named else point.source


def phases_of(place: str) -> Iterator[Phase]:
    """The instants at which one can die there."""
    source, _, name = place.partition(":")
    bare = name in _WITHOUT_BYTES
    return (phase for phase in SOURCES[source] if not (bare and phase is Phase.TORN))


def wanted(report: Mapping[str, Any]) -> set[Pair]:
    """What must have been killed at."""
    places = {f"log:{kind}" for kind in fact_kinds()} | _seen(report)
    pairs = {(place, str(phase)) for place in places for phase in phases_of(place)}
    sources = {place.partition(":")[0] for place in places} | (set(SOURCES) - _OF_SOME_TARGETS)
    return pairs | {(source, str(phase)) for source in sources for phase in SOURCES[source]}


def killed(report: Mapping[str, Any]) -> set[Pair]:
    """What was killed at, with proof."""
    pairs: set[Pair] = set()
    for schedule in _schedules(report):
        if schedule["verdict"] not in _PROVEN:
            continue
        for kill in Schedule.parse("; ".join(schedule["schedule"])).kills:
            pairs |= {(place_of(kill), str(kill.phase)), (kill.source, str(kill.phase))}
    return pairs


def gaps(report: Mapping[str, Any]) -> list[str]:
    """What was not killed at, a line each."""
    seen = _seen(report)
    missing = sorted(wanted(report) - killed(report))
    unwritten = {f"log:{kind}" for kind in fact_kinds()} - seen
    whole = [f"{place}: no scenario writes it" for place in sorted(unwritten)]
    return whole + [
        f"{place}/{phase}: no kill" for place, phase in missing if place not in unwritten
    ]


def _seen(report: Mapping[str, Any]) -> set[str]:
    """The places of the runs: those without a kill, and those that were killed at."""
    points = (point for scenario in report["scenarios"] for point in scenario["points"])
    # A point of the report has no phase; any that its source has makes it one to be read.
    read = (KillPoint.parse(f"{point}/{_any_phase(point)}") for point in points)
    return {place_of(point) for point in read} | {place for place, _ in killed(report)}


def _any_phase(point: str) -> Phase:
    return next(all_[0] for source, all_ in SOURCES.items() if point.startswith(source))


def _schedules(report: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (schedule for scenario in report["scenarios"] for schedule in scenario["schedules"])


def main(arguments: list[str]) -> int:
    """Say what was not killed at. 1: there is something."""
    if len(arguments) != 1:
        print("usage: python -m tests.stress.coverage REPORT.json (of a whole sweep)")
        return 4
    try:
        report = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        missing, count = gaps(report), len(wanted(report))
    except (OSError, ValueError, KeyError) as error:
        print(f"{arguments[0]}: not the report.json of a finished run ({error!r}); make one first")
        return 4
    for line in missing:
        print(line)
    places = len({place for place, _ in wanted(report)})
    print(f"coverage: {places} kinds of kill point, {count} with a phase: {len(missing)} gaps")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
