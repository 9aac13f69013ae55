"""Evidence in words: the kill, the facts of the log, and what happened in which order.

Pure. One line an event; everything that others wrote is made safe to print. Launches are counted
from 1, as a person counts them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any

from chaos.evidence import (
    ABSENT,
    Answered,
    Effect,
    Ended,
    Event,
    Evidence,
    Exec,
    FileChange,
    Injected,
    Kill,
    Launch,
    LogWrite,
    Request,
    Rival,
    Signal,
    StateWrite,
    Sync,
)
from chaos.judge.log import Fact, read_log
from chaos.points import KillPoint, Phase
from chaos.report.visible import visible
from chaos.results import Violation

_SHORT = 100  # characters of a command line or a message
_WORD, _WORD_SHOWN = 60, 24  # characters of one word of it; of one that is longer


def kill_in_words(kill: Kill) -> str:
    """Where the system call stood when SIGKILL came: the proof of what the point promises."""
    point = KillPoint.parse(kill.point)
    size = f"of {kill.length} bytes" if kill.length else "(no data)"
    return {
        Phase.BEFORE: f"on entry of {kill.call} {size}",
        Phase.TORN: f"inside {kill.call} {size}, of which {kill.kept} reached the file",
        Phase.AFTER: f"at the exit of {kill.call} {size}",
        Phase.REQUEST: "as the mock provider had it whole",
        Phase.CHUNK: "as the mock provider had sent them",
        Phase.RESPONSE: "as the mock provider had sent it",
    }[point.phase]


def processes_beside(kill: Kill) -> list[str]:
    """The other processes of the tree, as they stood when the target was held to be killed."""
    return [f"process {p.pid}, {p.status}: {_command(p.argv)}" for p in kill.tree[1:]]


def launch_name(evidence: Evidence, index: int) -> str:
    """`launch 2 (resume)`."""
    known = 0 <= index < len(evidence.launches)
    return f"launch {index + 1}" + (f" ({evidence.launches[index].role})" if known else "")


def launch_end(launch: Launch) -> str:
    """How a launch ended."""
    if launch.timed_out:
        return f"did not end within its limit ({launch.seconds:.1f} s) and was ended"
    if launch.killed:
        return "killed by the schedule"
    if launch.signal is not None:
        return f"ended by signal {launch.signal}"
    return f"exit code {launch.exit_code}"


def number_in(violation: Violation | None, key: str) -> int | None:
    """Where a violation points: its `launch` (0-based), `line` or `order`."""
    value = violation.evidence.get(key) if violation else None
    return value if isinstance(value, int) else None


def log_at(evidence: Evidence, violation: Violation | None) -> tuple[Event | Launch | None, bytes]:
    """The log that a violation speaks of, and when it was so: at its event, after its launch, or at
    the end."""
    order, index = number_in(violation, "order"), number_in(violation, "launch")
    for event in evidence.events:
        if event.order == order and hasattr(event, "log"):
            return event, evidence.blobs.get(event.log)
    named = [launch for launch in evidence.launches if launch.index == index]
    for launch in named or evidence.launches[-1:]:
        return launch, evidence.blobs.get(launch.log_after)
    return None, b""


def facts_around(log: bytes, line: int | None, before: int = 3, after: int = 2) -> list[str]:
    """The facts near `line` of a log, that line marked; the last ones without a line."""
    facts = read_log(log).facts
    shown = []
    last = facts[-1].line if facts else 0
    centre = last if line is None else line
    for fact in facts:
        if centre - before <= fact.line <= centre + after:
            mark = ">" if fact.line == line else " "
            seq = "-" if fact.seq is None else fact.seq
            shown.append(f"{mark} line {fact.line:<3} seq {seq:<3} {fact_in_words(fact)}")
    if line is not None and all(fact.line != line for fact in facts):
        lines = log.split(b"\n")
        text = lines[line - 1].decode("utf-8", "replace") if 0 < line <= len(lines) else ""
        shown.append(f"> line {line:<3} cannot be read as facts: {visible(text, _SHORT)}")
    return shown


def fact_in_words(fact: Fact) -> str:
    """A fact in one line: its type and what tells it from others of its type."""
    body = fact.body
    message = body.get("message")
    details = {
        "attempt": body.get("attempt") if isinstance(body.get("attempt"), int) else None,
        "tool": body.get("toolName"),
        "replay": body.get("replay"),
        "stopReason": body.get("stopReason"),
        "result": _result(body.get("result")),
        "outcome": body.get("outcome"),
        "text": message.get("content") if isinstance(message, dict) else None,
    }
    said = [f"{name}={visible(str(value), _SHORT)!s}" for name, value in details.items() if value]
    return " ".join([visible(fact.type, _SHORT), *said])


def _result(result: object) -> str | None:
    if not isinstance(result, dict):
        return None
    return "/".join(str(result[key]) for key in ("type", "reason") if key in result)


def timeline(evidence: Evidence) -> Iterator[tuple[int, str]]:
    """Every event in order, as (order, line)."""
    launch = -1
    for event in evidence.events:
        if event.launch != launch:
            launch = event.launch
            yield event.order, f"-- {launch_name(evidence, launch)}{_ending(evidence, launch)}"
        yield event.order, f"{event.at_ms:9.1f} ms  {event_in_words(event)}"


def _ending(evidence: Evidence, index: int) -> str:
    """What the launch found changed, and how it ended."""
    if not 0 <= index < len(evidence.launches):
        return ""
    launch = evidence.launches[index]
    found = [visible(what, _SHORT) for what in (*launch.first, *launch.changed)]
    return f": {'; '.join((*found, launch_end(launch)))}"


def event_in_words(event: Event) -> str:
    """One event in one line: who did what."""
    return _WORDS[type(event)](event)


def _log_write(event: LogWrite) -> str:
    if event.returned is None:
        done = ", killed on entry"
    else:
        done = "" if event.returned == event.length else f", returned {event.returned}"
    return f"log      {visible(event.point)}  {event.call} {event.length} bytes{done}"


def _request(event: Request) -> str:
    status = event.status or "no answer"
    why = f" ({visible(event.reason, _SHORT)})" if event.reason else ""
    made = " by the scenario's event" if event.injected else ""
    return f"request  {event.ordinal} {visible(event.path, _SHORT)} -> {status}{made}{why}"


def _answered(event: Answered) -> str:
    return f"answer   {event.ordinal} {'sent' if event.complete else 'cut off'}"


def _effect(event: Effect) -> str:
    return f"effect   {visible(event.name, _SHORT)}  by {_command(event.argv)}"


def _exec(event: Exec) -> str:
    return f"process  {event.pid} runs {_command(event.argv)}"


def _file_change(event: FileChange) -> str:
    gone = " (no file now)" if event.after == ABSENT else ""
    return f"file     {visible(event.path, _SHORT)}  {event.call}{gone}"


def _state_write(event: StateWrite) -> str:
    size = f" {event.length} bytes" if event.length else ""
    return f"state    {visible(event.path, _SHORT)}  {event.call}{size}"


def _sync(event: Sync) -> str:
    return f"sync     {visible(event.path, _SHORT)}  {event.call}"


def _signal(event: Signal) -> str:
    return f"signal   SIG{event.name} at {visible(event.at, _SHORT)}"


def _ended(event: Ended) -> str:
    return f"process  {event.pid} ended by signal {event.signal}  {_command(event.argv)}"


def _injected(event: Injected) -> str:
    return f"event    {visible(event.do, _SHORT)} at {visible(event.at, _SHORT)}  {event.pid}"


def _rival(event: Rival) -> str:
    end = f"signal {event.signal}" if event.signal else f"exit code {event.exit_code}"
    beside = "" if event.held is None else f", while process {event.held} was stopped"
    return f"start    process {event.pid}, a second one, ended: {end}{beside}"


def _kill(event: Kill) -> str:
    return f"KILL     {visible(event.point)}"


_WORDS: dict[type[Event], Callable[[Any], str]] = {
    LogWrite: _log_write,
    Request: _request,
    Answered: _answered,
    Effect: _effect,
    Exec: _exec,
    FileChange: _file_change,
    StateWrite: _state_write,
    Sync: _sync,
    Signal: _signal,
    Ended: _ended,
    Injected: _injected,
    Rival: _rival,
    Kill: _kill,
}


def _command(argv: tuple[str, ...]) -> str:
    """A command line with long words (a program in `-c`) cut short."""
    words = (
        w if len(w) <= _WORD and "\n" not in w else f"{w.strip()[:_WORD_SHOWN]}…" for w in argv
    )
    return visible(shlex.join(words), _SHORT) or "a process that has gone"
