"""Of all kills that a run offers, those that tell most, the most telling first. Pure.

A real agent takes seconds to start, so `chaos certify` cannot try every point. Kinds of instants,
in the order in which they have shown faults of agents: the arrival of a request, the end of an
effect, the end of an answer, the middle of an answer, the beginning of an effect; then the calls
that change the session. Those come in bursts, between one thing that the world sees and the next:
of each burst, its first call done and its last one not, and its longest write torn in the middle.
What is chosen takes a kill of each kind in turn, so that a budget which ends early has seen all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from chaos.evidence import STEP_ROLES, Effect, Event, Evidence, LogWrite, Request, StateWrite
from chaos.explore.work import Branch
from chaos.points import KillPoint, Phase
from chaos.supervise.schedules import place_of

_HOLDS_SESSION = LogWrite | StateWrite


def telling(branches: Sequence[Branch], reference: Evidence) -> list[Branch]:
    """The telling ones of `branches`, which have one kill each; none twice."""
    by_point = {(len(b.schedule.launches), str(_kill(b))): b for b in branches}
    kinds = [
        [by_point[key] for key in dict.fromkeys(kind) if key in by_point]
        for kind in _kinds(reference, [_kill(b) for b in branches])
    ]
    turns = zip_longest(*kinds)
    return list(dict.fromkeys(b for turn in turns for b in turn if b is not None))


_Key = tuple[int, str]  # launch, from 1; the point


def _kinds(reference: Evidence, kills: Sequence[KillPoint]) -> Iterator[list[_Key]]:
    """The points of each kind, in the order of the run."""
    events = [e for e in _seen(reference) if isinstance(e, Request | Effect)]
    requests = [e for e in events if isinstance(e, Request)]
    effects = [e for e in events if isinstance(e, Effect)]
    yield _at(requests, Phase.REQUEST)
    yield _at(effects, Phase.AFTER)
    yield _at(requests[::-1], Phase.RESPONSE)  # the last one is the answer to the user
    yield [key for e in requests for key in _middle(e, kills, Phase.CHUNK)]
    yield _at(effects, Phase.BEFORE)
    bursts = list(_bursts(reference))
    longest = [max(burst, key=lambda e: e.length) for burst in bursts]
    yield [key for e in longest for key in _middle(e, kills, Phase.TORN)]
    yield _at([burst[0] for burst in bursts], Phase.AFTER)
    yield _at([burst[-1] for burst in bursts], Phase.BEFORE)


def _at(events: Sequence[Event], phase: Phase) -> list[_Key]:
    return [(event.launch + 1, f"{place_of(event)}/{phase}") for event in events]


def _middle(event: Event, kills: Sequence[KillPoint], phase: Phase) -> list[_Key]:
    """Of the kills at this event that let a part out, the middle one."""
    place = place_of(event)
    parts = sorted({k.part or 0 for k in kills if k.place == place and k.phase is phase})
    return [(event.launch + 1, f"{place}/{phase}@{part}") for part in parts[len(parts) // 2 :][:1]]


def _bursts(reference: Evidence) -> Iterator[list[LogWrite | StateWrite]]:
    """Calls that change the session, by what the world sees between them."""
    burst: list[LogWrite | StateWrite] = []
    for event in _seen(reference):
        if isinstance(event, _HOLDS_SESSION):
            burst.append(event)
        elif burst:
            yield burst
            burst = []
    if burst:
        yield burst


def _seen(reference: Evidence) -> Iterator[Event]:
    """What has a name, in launches where kills are tried."""
    for event in reference.events:
        role = reference.launches[event.launch - reference.launches[0].index].role
        if role in STEP_ROLES and place_of(event):
            yield event


def _kill(branch: Branch) -> KillPoint:
    kill = branch.schedule.launches[-1].kill
    assert kill is not None  # noqa: S101 - such branches are what is chosen from
    return kill
