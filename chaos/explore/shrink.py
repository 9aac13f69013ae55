"""Shrink: from a failure to a smaller one that still breaks the same rule.

Pure: it proposes, and others carry out. Fewer kills come first, then simpler phases (after, before,
torn at the first byte), then a shorter script, then fewer files; whatever is taken is tried on its
own, and kept away if the failure stays. All is gone through again until nothing more can go, so
what is left is 1-minimal: no single one of these steps makes it smaller.

Source: design section 7, `chaos shrink`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chaos.points import KillPoint, Phase, PlannedLaunch, Schedule

Document = Mapping[str, Any]  # a scenario file as TOML reads it


@dataclass(frozen=True, slots=True)
class Subject:
    """What is shrunk: the data of a scenario file, and the schedule that fails in it."""

    document: Document
    schedule: Schedule


# The points that each launch of a run wrote, in order, without phases: ("log:header#1", …).
Written = Sequence[Sequence[str]]
# Carries a subject out: what its launches wrote if it breaks the same rule, None if it does not.
Attempt = Callable[[Subject], Written | None]


def shrink(subject: Subject, written: Written, attempt: Attempt) -> Subject:
    """The smallest that single steps lead to, from a subject that failed and what it `written`.
    What did not fail is not tried again."""
    refused: list[Subject] = []
    while True:
        for smaller in _smaller(subject, written):
            if smaller in refused:
                continue
            found = attempt(smaller)
            if found is not None:
                subject, written = smaller, found
                break
            refused.append(smaller)
        else:
            return subject


def size(subject: Subject) -> dict[str, int]:
    """What a person counts, by name."""
    turns = subject.document.get("provider", {}).get("turn", [])
    return {
        "kill": len(subject.schedule.kills),
        "step": len(subject.document.get("step", [])),
        "turn": len(turns),
        "call": sum(len(turn.get("tool_calls", [])) for turn in turns),
        "event": len(subject.document.get("event", [])),
        "file": len(subject.document.get("files", {})),
    }


def _smaller(subject: Subject, written: Written) -> Iterator[Subject]:
    """Everything one step smaller, what is worth most first."""
    for schedule in (*_fewer_kills(subject.schedule), *_simpler_phases(subject.schedule, written)):
        yield replace(subject, schedule=schedule)
    for family in (_without_steps, _without_items, _without_files):
        for document in family(subject.document):
            yield Subject(document, subject.schedule)
            # A call that went may have counted in the name of a kill point after it.
            for schedule in _earlier(subject.schedule):
                yield Subject(document, schedule)


# -- the schedule ----------------------------------------------------------------------------------


def _fewer_kills(schedule: Schedule) -> Iterator[Schedule]:
    if schedule.kills:
        yield Schedule()
    kills = [launch.kill for launch in schedule.launches]
    for index, kill in enumerate(kills):
        yield _with_kills(schedule, [*kills[:index], *kills[index + 1 :]])
        if kill:
            yield _with_kills(schedule, [*kills[:index], None, *kills[index + 1 :]])


def _simpler_phases(schedule: Schedule, written: Written) -> Iterator[Schedule]:
    for index, launch in enumerate(schedule.launches):
        points = written[index] if index < len(written) else ()
        for kill in _simpler(launch.kill, points) if launch.kill else ():
            yield _with_kill(schedule, index, kill)


def _simpler(kill: KillPoint, points: Sequence[str]) -> Iterator[KillPoint]:
    if kill.phase is not Phase.AFTER:
        place = str(kill).partition("/")[0]
        earlier = points[: points.index(place)] if place in points else ()
        yield from (KillPoint.parse(f"{point}/{Phase.AFTER}") for point in earlier[-1:])
        yield replace(kill, phase=Phase.AFTER, part=None)
    if kill.phase is Phase.TORN:
        yield replace(kill, phase=Phase.BEFORE, part=None)
        if kill.part != 1:
            yield replace(kill, part=1)


def _earlier(schedule: Schedule) -> Iterator[Schedule]:
    for index, launch in enumerate(schedule.launches):
        if launch.kill and launch.kill.ordinal > 1:
            yield _with_kill(schedule, index, replace(launch.kill, ordinal=launch.kill.ordinal - 1))


def _with_kill(schedule: Schedule, index: int, kill: KillPoint) -> Schedule:
    kills = [launch.kill for launch in schedule.launches]
    return _with_kills(schedule, [*kills[:index], kill, *kills[index + 1 :]])


def _with_kills(schedule: Schedule, kills: list[KillPoint | None]) -> Schedule:
    """These kills, launch by launch. Launches after the last kill go without saying."""
    while kills and kills[-1] is None:
        kills = kills[:-1]
    roles = [launch.role for launch in schedule.launches]
    return Schedule(tuple(map(PlannedLaunch, roles, kills)))


# -- the scenario ----------------------------------------------------------------------------------


def _without_steps(document: Document) -> Iterator[Document]:
    """A step goes with the turns that answer its prompt alone. The last one stays."""
    steps = document.get("step", [])
    for index, step in enumerate(steps if len(steps) > 1 else []):
        smaller = copy.deepcopy(dict(document))
        del smaller["step"][index]
        provider = smaller.get("provider", {})
        provider["turn"] = [
            turn
            for turn in provider.get("turn", [])
            if turn.get("when", {}).get("prompt") != step.get("run", "")
        ]
        yield smaller


# What can be left out of a scenario, by its path; "*" stands for each one in an array or a table.
_ITEMS = (
    ("event", "*"),
    ("provider", "turn", "*"),
    ("provider", "turn", "*", "tool_calls", "*"),
    ("provider", "turn", "*", "usage"),
    ("provider", "turn", "*", "when"),
    ("expect",),
    ("expect", "effects", "*"),
    ("expect", "outcome"),
    ("target", "env", "*"),
)


def _without_items(document: Document) -> Iterator[Document]:
    for path in _ITEMS:
        yield from _without(document, path)


def _without_files(document: Document) -> Iterator[Document]:
    yield from _without(document, ("files", "*"))


def _without(document: Document, pattern: tuple[str, ...]) -> Iterator[Document]:
    for path in _paths(document, pattern):
        smaller = copy.deepcopy(dict(document))
        _delete(smaller, path)
        yield smaller


def _delete(value: Any, path: tuple[Any, ...]) -> None:
    """With the last thing in an array or a table goes that one too."""
    first, rest = path[0], path[1:]
    if rest:
        _delete(value[first], rest)
    if not rest or not value[first]:
        del value[first]


def _paths(value: Any, pattern: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The places in `value` that a pattern names; the last of an array first, so that what the
    others are called stays as it is for as long as can be."""
    if not pattern:
        yield ()
        return
    here: list[Any] = list(range(len(value)))[::-1] if isinstance(value, list) else list(value)
    for key in here if pattern[0] == "*" else [key for key in here if key == pattern[0]]:
        yield from ((key, *rest) for rest in _paths(value[key], pattern[1:]))
