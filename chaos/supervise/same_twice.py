"""Is the run without a kill the same when it is made twice?

Everything the sweep says rests on it: points are found again by their names, images by their keys,
ends by comparison. Pure: it compares evidence, chance taken away (`chaos.canonical`). Of a target
whose session is not read, what it did in the world and on the wire is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest

from chaos.canonical import canonical_log, first_difference
from chaos.evidence import Effect, Event, Evidence, FileChange, Launch, LogWrite, StateWrite
from chaos.flavours import Message
from chaos.judge.case import Case
from chaos.judge.talks import turns
from chaos.supervise.schedules import place_of
from chaos.target_session import FACTS

_Numbered = LogWrite | StateWrite | FileChange


def difference(one: Evidence, other: Evidence, chance: Mapping[str, str]) -> str:
    """The first difference of two lineages, in words; empty where there is none.

    `chance` maps texts that differ from lane to lane (paths, ports) to their labels.
    """
    for a, b in zip_longest(one.launches, other.launches):
        if a is None or b is None:
            return f"{len(one.launches)} launches, then {len(other.launches)}"
        where = f"after launch {a.index + 1} ({a.role})"
        if a.exit_code != b.exit_code:
            return f"exit code {a.exit_code}, then {b.exit_code} {where}"
        if found := _session(one, other, a, b, chance):
            return f"{found[0]} {where}: {found[1]}"
        if a.files_after != b.files_after:
            names = sorted(dict(a.files_after.items() ^ b.files_after.items()))
            return f"workspace files {where}: {', '.join(names)}"
    return ""


def steady(one: Evidence, other: Evidence) -> Evidence:
    """`one` without the names of calls that `other` has not: they happen only sometimes, so a kill
    at one would often not be reached."""
    there = {(event.launch, place_of(event)) for event in other.events}

    def kept(event: Event) -> Event:
        numbered = isinstance(event, _Numbered)
        unsteady = numbered and (event.launch, place_of(event)) not in there
        return replace(event, point="") if unsteady and isinstance(event, _Numbered) else event

    return replace(one, events=tuple(map(kept, one.events)))


def unsteady_calls(reference: Evidence) -> Iterator[_Numbered]:
    """The calls that `steady` has left without a name."""
    return (e for e in reference.events if isinstance(e, _Numbered) and not e.point)


def _session(
    one: Evidence, other: Evidence, a: Launch, b: Launch, chance: Mapping[str, str]
) -> tuple[str, str] | None:
    """What differs of the session after a launch, and how."""
    if one.facts.dialect == FACTS:
        first, second = _log(one, a, chance), _log(other, b, chance)
        return ("the session log", first_difference(first, second)) if first != second else None
    for what, seen in _SEEN.items():
        before, after = seen(one, a), seen(other, b)
        if before != after:
            return what, f"{before}, then {after}"
    return None


def _effects(evidence: Evidence, launch: Launch) -> list[str]:
    """In no order: several tools may run at once."""
    return sorted(e.name for e in evidence.of_launch(launch.index) if isinstance(e, Effect))


def _asked(evidence: Evidence, launch: Launch) -> list[list[str]]:
    """What each request of a launch tells the model, without ids and the texts of results."""
    facts = evidence.facts
    prompts = (*facts.prompts, facts.probe_prompt, facts.goes_on)
    return [
        [word for message in turn.conversation.messages for word in _words(message, prompts)]
        for turn in turns(Case(evidence))
        if turn.request.launch == launch.index
    ]


def _words(message: Message, prompts: tuple[str, ...]) -> Iterator[str]:
    """Of the user's texts, which may hold a date, the prompt that it holds."""
    said = next((prompt for prompt in prompts if prompt and prompt in message.text), "")
    yield f"{message.role} {said}".strip()
    yield from (f"call of {call.name} {call.arguments}" for call in message.calls)


_SEEN: dict[str, Callable[[Evidence, Launch], object]] = {
    "effects": _effects,
    "requests": _asked,
}


def _log(evidence: Evidence, launch: Launch, chance: Mapping[str, str]) -> bytes:
    return canonical_log(evidence.blobs.get(launch.log_after), chance)
