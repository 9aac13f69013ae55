"""Kill points as a Python program writes them: `after("toolStarted", tool="bash")`.

    before(what)  torn(what, at=17)  after(what)     of the log, a file, an effect
    request(2)    chunk(2, at=3)     response(2)     of the exchange with the model

`what` is a kind of fact (`"toolStarted"`), or a place as `chaos points` prints it, with or without
its ordinal: `"effect:deploy"`, `"file:rename[notes.txt]#2"`, `"log@5"`. Each gives a KillPoint of
`chaos.points`, which is how a point is named everywhere else too.

Pure. Whether a run has such a point, the run tells.
"""

from __future__ import annotations

import re

from chaos.errors import UsageError
from chaos.points import SOURCES, KillPoint, Phase

_WITH_SOURCE = re.compile(rf"(?:{'|'.join(SOURCES)})[:@].*", re.DOTALL)
_COUNTED = re.compile(r".*#[0-9]+|[a-z]+@[0-9]+", re.DOTALL)  # its ordinal is said already


def before(what: str, *, tool: str | None = None, nth: int | None = None) -> KillPoint:
    """On entry of the `nth` such call in its launch (the first): nothing of it happened. `tool`
    tells facts of one kind apart. Raises UsageError with examples."""
    return _at(what, tool, nth, Phase.BEFORE)


def torn(what: str, *, at: int, tool: str | None = None, nth: int | None = None) -> KillPoint:
    """Inside the call: exactly `at` bytes of it reach the file. Raises UsageError."""
    return _at(what, tool, nth, f"{Phase.TORN}@{at}")


def after(what: str, *, tool: str | None = None, nth: int | None = None) -> KillPoint:
    """When the call was done, before the next instruction of the target. Raises UsageError."""
    return _at(what, tool, nth, Phase.AFTER)


def request(ordinal: int) -> KillPoint:
    """When request number `ordinal` of a launch (from 1) was received, nothing of it answered."""
    return KillPoint.parse(f"provider:{ordinal}/{Phase.REQUEST}")


def chunk(ordinal: int, *, at: int) -> KillPoint:
    """When `at` events of the stream that answers a request were sent."""
    return KillPoint.parse(f"provider:{ordinal}/{Phase.CHUNK}@{at}")


def response(ordinal: int) -> KillPoint:
    """When the answer to a request was sent whole, and nothing of it is durable."""
    return KillPoint.parse(f"provider:{ordinal}/{Phase.RESPONSE}")


def _at(what: str, tool: str | None, nth: int | None, phase: str) -> KillPoint:
    place = what if _WITH_SOURCE.fullmatch(what) else f"log:{what}"
    counted = _COUNTED.fullmatch(place) is not None
    if counted and (tool is not None or nth is not None):
        raise UsageError(f"{what!r} names its place in full; leave tool and nth out")
    if tool is not None:
        place += f"[{tool}]"
    if not counted:
        place += f"#{1 if nth is None else nth}"
    return KillPoint.parse(f"{place}/{phase}")
