"""What is done to a session between two launches, by the words of a schedule.

    damage: …        the log is changed as nothing that dies could change it
    power-loss: …    what was not synced is lost

A table of who carries out what. Does not know what must come of it: the judge does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chaos.damage import DAMAGE, Damage
from chaos.errors import UsageError
from chaos.supervise.room import Room


def _damage(room: Room, how: str) -> None:
    room.lay_log(Damage.parse(how).apply(room.log()))


_BY_WORD: Mapping[str, Callable[[Room, str], None]] = {DAMAGE: _damage}


def intervene(room: Room, what: str) -> None:
    """Carry out one intervention, as a schedule writes it. Raises UsageError."""
    word, _, how = what.partition(": ")
    act = _BY_WORD.get(word)
    if act is None:
        raise UsageError(f"no such intervention: {what!r}; there are {', '.join(_BY_WORD)}")
    act(room, how)
