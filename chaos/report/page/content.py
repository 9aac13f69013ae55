"""What the page holds: the whole sweep as JSON-like data, told briefly; failures told in full.

The page is bounded. Every schedule has a line; the smallest schedule of each fault has its whole
story, and so have others, fault by fault, until `MOST_STORIES` or `MOST_BYTES` are told. The rest
say where their evidence lies. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice, zip_longest
from typing import Any

from chaos.options import CLOSURE, FAULTS, SweepOptions
from chaos.points import Schedule
from chaos.report.counts import all_results, results_of, summary_of
from chaos.report.explain import statement
from chaos.report.known import Known
from chaos.report.page.cells import COLUMNS, Row, cell_of
from chaos.report.page.gaps import gaps_of
from chaos.report.page.images import graph_of
from chaos.report.page.story import LANES, story_of
from chaos.report.triage import faults_of_all, unproven, with_evidence
from chaos.report.visible import visible
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict

MOST_STORIES = 60
MOST_BYTES = 2_500_000  # of stories, as JSON
IDLE = "nothing was tried at"
_SAID = 240  # characters of what is said of a schedule without a story
_VERDICTS = tuple(Verdict)


@dataclass(frozen=True, slots=True)
class Told:
    """What a sweep does not say of itself."""

    folder: str  # of the report: failures/ID.json for all that did not pass, and their evidence
    known: Known
    options: SweepOptions = field(default_factory=SweepOptions)
    command: str = ""  # the command line of the sweep


@dataclass(frozen=True, slots=True)
class _Group:
    """Schedules that failed alike, the smallest first."""

    title: str
    rules: tuple[str, ...]
    results: tuple[ScheduleResult, ...]
    reason: str = ""  # why a known fault is accepted


def contents(sweep: SweepResult, told: Told) -> dict[str, Any]:
    """The data that the page draws."""
    groups = tuple(_groups(sweep, told.known))
    group_of = {r.id: number for number, group in enumerate(groups) for r in group.results}
    place_of = {result.id: number for number, result in enumerate(all_results(sweep))}
    return {
        "version": 1,
        "head": {
            **summary_of(sweep),
            "seed": sweep.seed,
            "launch": told.options.launch,
            "faults": told.options.faults,
            "command": visible(told.command),
            "interrupted": sweep.interrupted,
            "gaps": gaps_of(sweep, told.options),
        },
        "again": _options(told.options),
        "columns": COLUMNS,
        "lanes": LANES,
        "verdicts": [str(verdict) for verdict in _VERDICTS],
        "rules": {ident: statement(ident, g.results[0]) for g in groups for ident in g.rules},
        "groups": [
            {
                "title": group.title,
                "rules": group.rules,
                "schedules": [place_of[result.id] for result in group.results],
                "reason": visible(group.reason),
            }
            for group in groups
        ],
        "scenarios": [_scenario(scenario, group_of, told.options) for scenario in sweep.scenarios],
        "stories": dict(_stories(groups)),
        "folder": told.folder,
    }


def _groups(sweep: SweepResult, known: Known) -> Iterator[_Group]:
    """Faults that are news, then what proves nothing, then known faults."""
    faults = faults_of_all(sweep)
    for fault in faults:
        if fault.fingerprint not in known:
            yield _Group(fault.fingerprint, fault.ids, fault.results)
    for alike in reversed(unproven(tuple(all_results(sweep)))):
        yield _Group(str(alike[0].verdict), (), alike)
    for fault in faults:
        if fault.fingerprint in known:
            reason = known[fault.fingerprint].reason
            yield _Group(fault.fingerprint, fault.ids, fault.results, reason)


def _stories(groups: Sequence[_Group]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The smallest schedule of each group, then the second of each, and so on, while there is
    room. One whose image another schedule judged has no evidence of its own."""
    ranks = zip_longest(*([(r, r.evidence) for r in g.results if r.evidence] for g in groups))
    size = 0
    for result, evidence in islice(filter(None, chain.from_iterable(ranks)), MOST_STORIES):
        story = story_of(result, evidence)
        size += len(json.dumps(story))
        if size > MOST_BYTES:
            return
        yield result.id, story


def _scenario(
    scenario: ScenarioResult, group_of: Mapping[str, int], options: SweepOptions
) -> dict[str, Any]:
    results = results_of(scenario)
    kept = with_evidence(scenario, everything=options.keep)
    index = {result.id: number for number, result in enumerate(results)}
    cells = [cell_of(Schedule.parse(result.schedule)) for result in results]
    expected = scenario.points if options.faults == FAULTS[0] else ()
    rows = _rows(scenario.points, expected, [cell.row for cell in cells])
    number_of = {row: number for number, row in enumerate(rows)}
    return {
        "name": visible(scenario.name),
        "path": scenario.path,
        "seconds": round(scenario.seconds, 3),
        "closure": asdict(scenario.closure),
        "notes": [visible(note) for note in scenario.notes],
        "error": visible(scenario.error),
        "points": len(scenario.points),
        "rows": [[row.heading, visible(row.place, 200), row.kills] for row in rows],
        # One schedule: id, schedule, verdict, row, column, label, kills, exact, seconds, merged
        # into, group, broken rules, what is said of it, whether its evidence is on disk.
        "schedules": [
            [
                result.id,
                visible(result.schedule),
                _VERDICTS.index(result.verdict),
                number_of[cell.row],
                cell.column,
                visible(cell.label, 200),
                result.kills,
                result.exact,
                round(result.seconds, 3),
                index.get(result.merged_into or "", -1),
                group_of.get(result.id, -1),
                list(dict.fromkeys(violation.id for violation in result.violations)),
                _said(result),
                int(result.id in kept),
            ]
            for result, cell in zip(results, cells, strict=True)
        ],
        "graph": graph_of(results),
    }


def _rows(points: Sequence[str], expected: Iterable[str], met: Sequence[Row]) -> list[Row]:
    """The rows of the map: by kills and launch, then in the order of the run. An expected point at
    which nothing was tried has an empty row."""
    tried = {row.place for row in met}
    first = next((row.heading for row in met if row.kills == 1 and row.launch == 0), IDLE)
    idle = [Row(1, 0, first, point) for point in expected if point not in tried]
    place = {point: number for number, point in enumerate(points)}
    rows = dict.fromkeys((*met, *idle))
    last = len(place)
    return sorted(rows, key=lambda row: (row.kills, row.launch, place.get(row.place, last)))


def _said(result: ScheduleResult) -> str:
    first = result.violations[0].message if result.violations else result.why
    return visible(first, _SAID)


def _options(options: SweepOptions) -> list[str]:
    """The options that a schedule needs to be chosen again, beside `-k`."""
    default = SweepOptions()
    depth = CLOSURE if options.depth is None else str(options.depth)
    given = (
        ("--launch", options.launch, default.launch),
        ("--faults", options.faults, default.faults),
        ("--torn", options.torn, default.torn),
        ("--depth", depth, str(default.depth)),
        ("--phases", ",".join(options.phases or ()), ""),
    )
    return [word for name, value, usual in given if value != usual for word in (name, value)]
