"""The names of the instants of one launch: counted as they come, by meaning and by position.

Pure. `log:toolStarted[bash]#1`, `log:toolStarted#2` and `log@5` may name the same call on the log;
`effect:deploy#1` names a line in the effect journal. Phases are the caller's business.
"""

from __future__ import annotations

from collections import Counter

from chaos.judge.log import point_name, split_torn
from chaos.launch.model import Call
from chaos.points import KillPoint


class Naming:
    """Counts the calls on the log, and the effects, of one launch."""

    def __init__(self) -> None:
        self.position = 0  # of the last call on the log, from 1
        self._calls: Counter[tuple[str, str | None]] = Counter()
        self._effects: Counter[str] = Counter()
        self._last: tuple[str, str | None] = ("", None)

    def call(self, call: Call, log: bytes) -> tuple[str, ...]:
        """The names of the next call on the log, which finds it as `log`; the fullest comes last.
        It is named by the line it completes, else by the call itself."""
        name, tool = call.name, None
        if call.length:
            name, tool = point_name(split_torn(log)[1] + call.data)
        self.position += 1
        self._last = name, tool
        self._calls[name, None] += 1
        names = (f"log@{self.position}", f"log:{name}#{self._calls[name, None]}")
        if tool is None:
            return names
        self._calls[name, tool] += 1
        return (*names, f"log:{name}[{tool}]#{self._calls[name, tool]}")

    def effect(self, name: str) -> str:
        """The name of the next effect `name`."""
        self._effects[name] += 1
        return f"effect:{name}#{self._effects[name]}"

    def reached(self, kill: KillPoint) -> bool:
        """Is the last call the one that a kill point names?"""
        if kill.name is None:
            return kill.ordinal == self.position
        name, tool = self._last
        same_tool = kill.tool is None or kill.tool == tool
        return kill.name == name and same_tool and self._calls[name, kill.tool] == kill.ordinal
