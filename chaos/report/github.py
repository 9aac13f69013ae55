"""What GitHub shows of a sweep: annotations in the log, and a summary of the step.

    ::error file=scenarios/deploy.toml,line=12,title=E2: …::agent killed after …%0Aexpected …

Pure. An annotation stands for a fault (at its smallest schedule), on the scenario's line that tells
most; there are at most ten, as many as GitHub keeps of a step. The summary is Markdown: the sums,
the faults, each explained, and the kill map as a table; bounded, what tells most comes first. What
others wrote is escaped, so that it is neither a command nor Markdown. A known fault is not
annotated.

Source of the syntax: GitHub's workflow commands.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterator, Sequence

from chaos.points import Schedule
from chaos.report.context import Context
from chaos.report.counts import number_of, results_of
from chaos.report.explain import explain, said, statement
from chaos.report.meaning import kill_meaning
from chaos.report.page.cells import COLUMNS, Row, cell_of
from chaos.report.text import in_numbers
from chaos.report.triage import Fault, unproven
from chaos.report.visible import visible
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict

MOST_ANNOTATIONS = 10
MOST_BYTES = 1_000_000  # of a step's summary; GitHub takes 1 MiB
_EXPLAINED = 5  # faults
_LINE = 300  # characters of a line of an annotation
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
_LEFT_OUT = "\n_The rest is left out here: GitHub takes 1 MiB. The report folder has it all._\n"


def annotations_of(sweep: SweepResult, faults: Sequence[Fault], context: Context) -> str:
    """Workflow commands, a line each."""
    homes = {r.id: scenario for scenario in sweep.scenarios for r in results_of(scenario)}
    told = [
        _of_fault(fault, homes[fault.smallest.id], context)
        for fault in faults
        if fault.fingerprint not in context.known
    ]
    for scenario in sweep.scenarios:
        told += _of_unproven(scenario, context)
    return "".join(f"{line}\n" for line in told[:MOST_ANNOTATIONS])


def _of_fault(fault: Fault, scenario: ScenarioResult, context: Context) -> str:
    result = fault.smallest
    first = next(v for v in result.violations if v.id == fault.ids[0])
    parts = said(first)
    kills = result.evidence.kills if result.evidence else ()
    more = len(fault.results) - 1
    labelled = (("expected", parts.expected), ("found", parts.found), ("at", parts.where))
    lines = [
        *(kill_meaning(kill) for kill in kills),
        parts.what,
        *(f"{label} {text}" for label, text in labelled if text),
        *context.again(result),
        *([f"and in {number_of(more, 'more schedule')}"] if more else []),
    ]
    title = f"{first.id}: {statement(first.id, result)}"
    return _command(context, scenario, result, title, lines)


def _of_unproven(scenario: ScenarioResult, context: Context) -> Iterator[str]:
    """The smallest of those that prove nothing, by scenario."""
    for first, *others in unproven(results_of(scenario)):
        more = [f"and {len(others)} more"] if others else []
        lines = [*first.why.splitlines()[:5], *context.again(first), *more]
        yield _command(context, scenario, first, f"{first.verdict}: {first.id}", lines)


def _command(
    context: Context,
    scenario: ScenarioResult,
    result: ScheduleResult,
    title: str,
    lines: Sequence[str],
) -> str:
    properties = {
        "file": context.file(scenario),
        "line": str(context.line(scenario, result)),
        "title": title,
    }
    told = ",".join(f"{name}={_escaped(visible(v), _PROPERTY)}" for name, v in properties.items())
    data = "\n".join(visible(line, _LINE) for line in lines)
    return f"::error {told}::{_escaped(data, _DATA)}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(character, character) for character in text)


def summary(
    sweep: SweepResult, faults: Sequence[Fault], context: Context, most_bytes: int = MOST_BYTES
) -> str:
    """Markdown of at most `most_bytes` (UTF-8)."""
    text, size = "", len(_LEFT_OUT.encode())
    for part in _parts(sweep, faults, context):
        size += len(part.encode("utf-8", "replace"))
        if size > most_bytes:
            return text + _LEFT_OUT
        text += part
    return text


def _parts(sweep: SweepResult, faults: Sequence[Fault], context: Context) -> Iterator[str]:
    """Each makes sense without those after it."""
    yield f"## Killpoint\n\n{_safe(in_numbers(sweep))}\n"
    if faults:
        yield "\n| fault | broken rule | schedules | known |\n|---|---|---:|---|\n"
        yield from (_fault_row(fault, context) for fault in faults)
    news = [fault for fault in faults if fault.fingerprint not in context.known]
    for place, fault in enumerate(news[:_EXPLAINED]):
        file = context.artifacts.get(fault.smallest.id)
        text = html.escape(explain(fault.smallest, file))
        title = f"<code>{_safe(fault.fingerprint)}</code>"
        yield _folded(title, f"<pre>\n{text}</pre>\n", is_open=place == 0)
    yield "\n### Kill map\n\nSchedules that passed ✓, broke a rule ✗, proved nothing ?\n"
    red = {
        s.name: any(r.verdict is not Verdict.PASS for r in results_of(s)) for s in sweep.scenarios
    }
    for scenario in sorted(sweep.scenarios, key=lambda each: not red[each.name]):
        title = f"{_safe(scenario.name)}: {number_of(len(scenario.schedules), 'schedule')}"
        yield _folded(title, _map(scenario), is_open=red[scenario.name])


def _fault_row(fault: Fault, context: Context) -> str:
    rules = "<br>".join(
        f"{ident}: {_safe(statement(ident, fault.smallest))}" for ident in fault.ids
    )
    known = context.known.get(fault.fingerprint)
    reason = _safe(known.reason) if known else ""
    return f"| {_code(fault.fingerprint)} | {rules} | {len(fault.results)} | {reason} |\n"


def _map(scenario: ScenarioResult) -> str:
    """A row for each boundary, a column for each phase."""
    cells: dict[Row, list[list[Verdict]]] = defaultdict(lambda: [[] for _ in COLUMNS])
    for result in results_of(scenario):
        cell = cell_of(Schedule.parse(result.schedule))
        cells[cell.row][cell.column].append(result.verdict)
    lines = [f"| boundary | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for row, columns in cells.items():
        name = f"{row.heading}: {row.place}" if row.heading else row.place
        lines.append(f"| {_code(name)} | {' | '.join(map(_in_a_cell, columns))} |")
    return "\n".join(lines) + "\n"


def _in_a_cell(verdicts: Sequence[Verdict]) -> str:
    bad = sum(verdict is Verdict.VIOLATION for verdict in verdicts)
    doubtful = len(verdicts) - bad - sum(verdict is Verdict.PASS for verdict in verdicts)
    if bad:
        return f"✗ **{bad}** of {len(verdicts)}"
    if doubtful:
        return f"? {doubtful} of {len(verdicts)}"
    return f"✓ {len(verdicts)}" if verdicts else ""


def _folded(title: str, body: str, *, is_open: bool = False) -> str:
    return (
        f"\n<details{' open' if is_open else ''}><summary>{title}</summary>\n\n{body}\n</details>\n"
    )


def _code(text: str) -> str:
    """In code, where GitHub makes neither links nor mentions of it."""
    return f"<code>{_safe(text)}</code>"


def _safe(text: str) -> str:
    """Text that is neither Markdown nor HTML: most of what is no letter is written as a number."""
    return "".join(c if c.isalnum() or c in " .,/()-;" else f"&#{ord(c)};" for c in visible(text))
