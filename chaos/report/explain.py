"""One schedule that did not pass, explained from the top down.

The broken rule and its statement, the kill in words, the facts around it, what happened on the
wire and outside, and the command that runs it again. Pure. Bounded: the whole evidence is in the
report folder, this is what a person reads first.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby

from chaos.evidence import Evidence, Kill
from chaos.judge import unaccounted
from chaos.report.counts import presentable
from chaos.report.timeline import (
    facts_around,
    kill_in_words,
    launch_name,
    processes_beside,
    timeline,
)
from chaos.report.visible import visible, without_secret
from chaos.results import ScheduleResult, Violation

Statements = Mapping[str, str]  # rule id -> its one-line statement

_EVENTS_BEFORE, _EVENTS_AFTER = 8, 5  # around the instant that a violation names
_STREAM_LINES = 5


def explain(result: ScheduleResult, statements: Statements, artifact: str | None) -> str:
    """A few tens of lines, ending with LF. `artifact` is the failure file, if one was written."""
    result = presentable(result)
    lines = [f"{result.verdict}  {visible(result.id)}", f"  schedule  {visible(result.schedule)}"]
    for ident, group in groupby(result.violations, key=lambda violation: violation.id):
        lines.append(f"  {ident:<9} {statements.get(ident, '')}".rstrip())
        lines += [line for violation in group for line in _broken(violation)]
    if result.why:
        lines += [f"  why       {visible(line)}" for line in result.why.splitlines()]
    if result.evidence is not None:
        lines += _found(result, result.evidence)
    if artifact is not None:
        lines.append(f"  again     chaos replay {shlex.quote(artifact)}")
    return "\n".join(lines) + "\n"


def _broken(violation: Violation) -> Iterator[str]:
    yield from (f"            {visible(line)}" for line in violation.message.splitlines())
    for key in ("expected", "found"):
        value = str(violation.evidence.get(key, ""))
        if value and value not in violation.message:
            yield f"            {key} {visible(value)}"


def _found(result: ScheduleResult, evidence: Evidence) -> Iterator[str]:
    secret = evidence.facts.secret
    for kill in (event for event in evidence.events if isinstance(event, Kill)):
        where = launch_name(evidence, kill.launch)
        yield f"  killed    {where} at {visible(kill.point)}"
        yield f"            {kill_in_words(kill)}"
        yield from _section("  beside it", processes_beside(kill), secret)
    first = result.violations[0] if result.violations else None
    order = _number(first, "order")
    title, log = _log(evidence, first, order)
    yield from _section(f"  log       {title}", facts_around(log, _number(first, "line")), secret)
    yield from _section("  happened", _around(evidence, order), secret)
    yield from _section(*_last_words(evidence, first), secret)
    yield from _section("  lost      replies that were paid for", unaccounted(evidence), secret)


def _section(title: str, lines: list[str], secret: str) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"    {without_secret(line, secret)}" for line in lines)


def _log(evidence: Evidence, violation: Violation | None, order: int | None) -> tuple[str, bytes]:
    """The log that a violation speaks of: at its event, after its launch, or at the end."""
    for event in evidence.events:
        if event.order == order and hasattr(event, "log"):
            return f"as of event {order}", evidence.blobs.get(event.log)
    launch = _number(violation, "launch")
    if not evidence.launches:
        return "", b""
    index = len(evidence.launches) - 1 if launch is None else launch
    index = min(max(index, 0), len(evidence.launches) - 1)
    name = launch_name(evidence, index)
    return f"after {name}", evidence.blobs.get(evidence.launches[index].log_after)


def _around(evidence: Evidence, order: int | None) -> list[str]:
    """The timeline near an event; near the last kill where no event is named."""
    kills = [event.order for event in evidence.events if isinstance(event, Kill)]
    centre = order if order is not None else kills[-1] if kills else len(evidence.events)
    rows = list(timeline(evidence))
    near = [
        f"{'>' if at == order and not line.startswith('--') else ' '} {line}"
        for at, line in rows
        if centre - _EVENTS_BEFORE <= at <= centre + _EVENTS_AFTER
    ]
    left_out = len(rows) - len(near)
    return [*near, f"  … {left_out} more in the evidence"] if left_out else near


def _last_words(evidence: Evidence, violation: Violation | None) -> tuple[str, list[str]]:
    """The last lines on stderr of the launch in question."""
    launch = _number(violation, "launch")
    chosen = [item for item in evidence.launches if launch in (None, item.index)]
    for item in reversed(chosen):
        text = evidence.blobs.get(item.stderr).decode("utf-8", "replace")
        if lines := text.splitlines()[-_STREAM_LINES:]:
            title = f"  stderr    {launch_name(evidence, item.index)}, last lines"
            return title, [visible(line) for line in lines]
    return "", []


def _number(violation: Violation | None, key: str) -> int | None:
    value = violation.evidence.get(key) if violation else None
    return value if isinstance(value, int) else None
