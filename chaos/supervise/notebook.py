"""The notebook of a lineage: its events in one order, and the log as it is looked at.

Promises: events are numbered as they are noted, over all launches; the session log never changes
between two looks without somebody hearing of it (`unseen`). Does not know what an event means.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from chaos.evidence import ABSENT, Blobs, Event, Sha
from chaos.supervise.checkpoint import Checkpoint
from chaos.supervise.room import Room

E = TypeVar("E", bound=Event)


class Notebook:
    """Events and blobs of a lineage, from its beginning or from a checkpoint on."""

    def __init__(self, room: Room, start: Checkpoint | None = None) -> None:
        self.room = room
        self.blobs = Blobs(dict(start.blobs.data)) if start else Blobs()
        self.events: list[Event] = list(start.events) if start else []
        self.launch = -1
        self.writer: int | None = None  # who wrote the log or the state last, in this launch
        self.speaker: int | None = None  # who asks the model, where that was looked up
        self.unseen: dict[str, None] = {}  # changes that no watched call explains, in order
        self.log_is_changing = False  # a call on it is between its entry and its exit
        self._started = time.monotonic()
        self._log_now: Sha = ABSENT  # as it was when it was last looked at

    def begin(self, launch: int) -> None:
        """The next launch starts."""
        self.launch, self.writer, self.speaker = launch, None, None
        self.log_is_changing = False
        self.unseen.clear()
        self._log_now = self.blobs.put(self.room.log())

    @property
    def agent(self) -> int | None:
        """The process that signals and kills are meant for, where a tool or the model makes the
        moment; None: it is not known yet."""
        return self.speaker or self.writer

    def note(self, kind: Callable[..., E], **fields: Any) -> E:
        """Add an event that happens now. The log is read before it gets its number."""
        at_ms = round((time.monotonic() - self._started) * 1000, 3)
        event = kind(len(self.events) + 1, self.launch, at_ms, **fields)
        self.events.append(event)
        return event

    def of_launch(self, launch: int) -> Iterator[Event]:
        """The events of one launch, in order."""
        return (event for event in self.events if event.launch == launch)

    def log(self) -> Sha:
        """The session log at this moment, as a blob."""
        name = self.blobs.put(self.room.log())
        self.look(name)
        return name

    def look(self, log: Sha) -> None:
        """The log is `log`. Nothing but a watched call may have changed it since the last look."""
        if log != self._log_now and not self.log_is_changing:
            self.unseen["the session log changed without a call that was seen"] = None
        self._log_now = log

    def log_was_changed(self) -> Sha:
        """A watched call on the log is done. The log as it is now."""
        self._log_now = self.blobs.put(self.room.log())
        return self._log_now
