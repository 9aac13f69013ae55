"""What a kill means, in plain words.

    agent killed after `toolStarted[bash]` was durable, before its result

Pure. The point's name says all that is needed; how the system call stood is the proof, told apart
(`timeline.kill_in_words`).
"""

from __future__ import annotations

from collections.abc import Callable

from chaos.evidence import Kill
from chaos.points import KillPoint, Phase, Scope
from chaos.report.visible import visible

_WHO = {
    Scope.PROCESS: "agent killed",
    Scope.GROUP: "agent and its process group killed",
    Scope.TREE: "agent and all its processes killed",
}
# What each fact of the log waits for: the first thing that cannot have followed it yet.
_AWAITED = {
    "header": "the prompt",
    "runStarted": "the first step",
    "compactionStarted": "the summary",
    "stepAttempt": "its answer",
    "stepFailed": "what follows from it",
    "assistant": "what follows from it",
    "toolStarted": "its result",
    "toolResult": "the next step",
    "compaction": "the compaction had finished",
    "abortRequested": "the abort had finished",
    "operationFinished": "the agent had ended",
}


def kill_meaning(kill: Kill) -> str:
    """One line: who was killed, and what had and had not happened by then."""
    point = KillPoint.parse(kill.point)
    return f"{_WHO[Scope(kill.scope)]} {_WHEN[point.source](point, kill)}"


def _log(point: KillPoint, kill: Kill) -> str:
    what = _named(point)
    awaited = _AWAITED.get(point.name or "")
    if awaited is None and point.name is not None:  # a call that writes no line
        what += " on the session log"
    return {
        Phase.BEFORE: f"before {what} was written" if awaited else f"before {what}",
        Phase.TORN: f"inside {what}: {kill.kept} of its {kill.length} bytes are in the log",
        Phase.AFTER: f"after {what} was durable, before {awaited}" if awaited else f"after {what}",
    }[point.phase]


def _file(point: KillPoint, kill: Kill) -> str:
    what = _named(point)
    return {
        Phase.BEFORE: f"before {what}: the file is as it was",
        Phase.TORN: f"inside {what}: {kill.kept} of its {kill.length} bytes are in the file",
        Phase.AFTER: f"after {what} was done",
    }[point.phase]


def _effect(point: KillPoint, _: Kill) -> str:
    what = f"effect {_named(point)}"
    before = point.phase is Phase.BEFORE
    return f"before {what} happened" if before else f"after {what} had happened, before its result"


def _provider(point: KillPoint, _: Kill) -> str:
    number = point.ordinal
    return {
        Phase.REQUEST: f"when request {number} had arrived, before any of its answer",
        Phase.CHUNK: f"inside answer {number}: {point.part} events of the stream were sent",
        Phase.RESPONSE: f"when answer {number} had been sent, before any of it was durable",
    }[point.phase]


_WHEN: dict[str, Callable[[KillPoint, Kill], str]] = {
    "log": _log,
    "file": _file,
    "state": _file,
    "effect": _effect,
    "provider": _provider,
}


_OF = {
    "log": "session log",
    "file": "workspace",
    "state": "state",
    "effect": "effect journal",
}
_OF_A_FILE = ("file", "state")


def _named(point: KillPoint) -> str:
    """`` `toolStarted[bash]` ``, `` `write` of notes.txt ``, or the position, where that is all."""
    if point.name is None:
        return f"call {point.ordinal} on the {_OF[point.source]}"
    detail = visible(point.detail or "")
    name = f"{point.name}[{detail}]" if detail and point.source not in _OF_A_FILE else point.name
    of = f" of {detail}" if detail and point.source in _OF_A_FILE else ""
    number = f" number {point.ordinal}" if point.ordinal > 1 else ""
    return f"`{visible(name)}`{of}{number}"
