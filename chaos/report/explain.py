"""One schedule that did not pass, explained from the top down.

The broken rules and their statements; the kill in words and its proof; what was expected and what
was found; the facts around it; what happened on the wire and outside; and the command that runs it
again. Pure. Bounded: the whole evidence is in the report folder, this is what a person reads first.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chaos.evidence import Evidence, Launch
from chaos.judge import RULES, STATEMENTS, unaccounted
from chaos.judge.applicable import statements
from chaos.points import Schedule
from chaos.report.counts import presentable, told_of
from chaos.report.meaning import kill_meaning
from chaos.report.timeline import (
    facts_around,
    kill_in_words,
    launch_name,
    log_at,
    number_in,
    processes_beside,
    timeline,
)
from chaos.report.visible import visible
from chaos.results import ScheduleResult, Violation

_EVENTS_BEFORE, _EVENTS_AFTER = 8, 5  # around the instant that a violation names
_STREAM_LINES = 5
_LINES = 12  # of one value that was expected or found
_ALSO = 4  # further violations that are told, a line each
_SEAMS = (", ", "; ")  # of the rules over events; of those over the log alone
_WIDE = 240  # characters of such a line, and of a line on stderr


@dataclass(frozen=True, slots=True)
class Said:
    """A violation's message, taken apart."""

    what: str
    expected: str  # empty where the rule names none, as `found` and `where`
    found: str
    where: str  # "launch 2 (resume), line 5, seq 6"


def said(violation: Violation) -> Said:
    """Take a message apart by the values that its evidence names."""
    message = violation.message
    expected, found = (str(violation.evidence.get(key, "")) for key in ("expected", "found"))
    for seam in _SEAMS:
        what, told, where = message.partition(f": expected {expected}{seam}found {found}")
        if told:
            return Said(what, expected, found, where.removeprefix(" at ").removeprefix(", "))
    # The rule worded it otherwise: what it says already is not said again.
    expected, found = ("" if value in message else value for value in (expected, found))
    return Said(message, expected, found, "")


def explain(result: ScheduleResult, artifact: str | None, group: Sequence[str] = ()) -> str:
    """A few tens of lines, ending with LF. `artifact` is the failure file, if one was written;
    `group` are lines about what the failure belongs to."""
    result = presentable(result)
    shown = told_of(result.evidence) if result.evidence else None
    lines = [f"{result.verdict}  {visible(result.id)}"]
    rules = dict.fromkeys(violation.id for violation in result.violations)
    lines += [_labelled(ident, statement(ident, result)) for ident in rules]
    if not _kill_says_it_all(result):
        lines.append(_labelled("schedule", visible(result.schedule)))
    lines += _value("why", result.why)
    if shown is not None:
        lines += _killed(shown)
    lines += _broken(result.violations)
    if shown is not None:
        lines += _found(result, shown)
    lines += group
    if artifact is not None:
        lines.append(_labelled("again", f"chaos replay {shlex.quote(artifact)}"))
    return "\n".join(lines) + "\n"


def statement(ident: str, result: ScheduleResult) -> str:
    """What a rule promises, as far as the target's dialect lets it be seen."""
    seen = statements(RULES, result.evidence.facts) if result.evidence else STATEMENTS
    return seen.get(ident, "")


def _labelled(label: str, text: str) -> str:
    return f"  {label:<9} {text}".rstrip()


def _kill_says_it_all(result: ScheduleResult) -> bool:
    """Is the schedule nothing but the one kill that was made?"""
    schedule = Schedule.parse(result.schedule)
    if any(launch.first or launch.starts > 1 for launch in schedule.launches):
        return False
    made = [kill.point for kill in result.evidence.kills] if result.evidence else []
    return len(made) == 1 and made == list(map(str, schedule.kills))


def _killed(evidence: Evidence) -> Iterator[str]:
    for kill in evidence.kills:
        yield _labelled("killed", f"{launch_name(evidence, kill.launch)}: {kill_meaning(kill)}")
        yield _labelled("", f"{visible(kill.point)}: SIGKILL {kill_in_words(kill)}")
        yield from _section("  beside it", processes_beside(kill))


def _broken(violations: Sequence[Violation]) -> Iterator[str]:
    """The first violation in full, the others a line each."""
    for violation in violations[:1]:
        first = said(violation)
        yield from _value("broken", first.what)
        yield from _value("expected", first.expected)
        yield from _value("found", first.found)
        yield from _value("where", first.where)
    for violation in violations[1 : _ALSO + 1]:
        message = " ".join(violation.message.split())
        yield _labelled("also", f"{violation.id}  {visible(message, _WIDE)}")
    if len(violations) > _ALSO + 1:
        yield _labelled("", f"… {len(violations) - _ALSO - 1} more in the failure file")


def _value(label: str, text: str) -> Iterator[str]:
    lines = text.splitlines()
    for number, line in enumerate(lines[:_LINES]):
        yield _labelled("" if number else label, visible(line))
    if len(lines) > _LINES:
        yield _labelled("", f"… {len(lines) - _LINES} more lines in the failure file")


def _found(result: ScheduleResult, evidence: Evidence) -> Iterator[str]:
    first = result.violations[0] if result.violations else None
    order = number_in(first, "order")
    at, log = log_at(evidence, first)
    launch = at if isinstance(at, Launch) else None
    when = f"after {launch_name(evidence, launch.index)}" if launch else "as it was then"
    yield from _section(f"  log       {when}", facts_around(log, number_in(first, "line")))
    yield from _section("  happened", _around(evidence, order))
    yield from _section(*_last_words(evidence, first))
    yield from _section("  lost      replies that were paid for", unaccounted(evidence))


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"    {line}" for line in lines)


def _around(evidence: Evidence, order: int | None) -> list[str]:
    """The timeline near an event (near the last kill where none is named), and every kill."""
    kills = [kill.order for kill in evidence.kills]
    centre = order if order is not None else kills[-1] if kills else len(evidence.events)
    lines: list[str] = []
    left_out = 0
    for at, line in timeline(evidence):
        heading = line.startswith("--")
        if not heading and at not in kills and not -_EVENTS_BEFORE <= at - centre <= _EVENTS_AFTER:
            left_out += 1
            continue
        if left_out:
            lines.append(f"  … {left_out} more")
            left_out = 0
        lines.append(f"{'>' if at == order and not heading else ' '} {line}")
    return [*lines, f"  … {left_out} more"] if left_out else lines


def _last_words(evidence: Evidence, violation: Violation | None) -> tuple[str, list[str]]:
    """The last lines on stderr of the launch in question."""
    launch = number_in(violation, "launch")
    chosen = [item for item in evidence.launches if launch in (None, item.index)]
    for item in reversed(chosen):
        text = evidence.blobs.text(item.stderr)
        if lines := text.splitlines()[-_STREAM_LINES:]:
            title = f"  stderr    {launch_name(evidence, item.index)}, last lines"
            return title, [visible(line, _WIDE) for line in lines]
    return "", []
