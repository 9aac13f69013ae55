"""The rehearsal of a warm parent: the target's own commands, run once before any launch is forked.

They run in a room of their own, against a model that calls the usual tools and then answers. What a
target imports, compiles and caches on its way is then there for every launch. Nobody writes down
what a rehearsal does: it belongs to no schedule.
"""

from __future__ import annotations

from pathlib import Path

from chaos.provider.mock import MockProvider
from chaos.provider.script import ToolCall, Turn
from chaos.supervise.room import Room
from chaos.supervise.stage import Stage
from chaos.target import Target

_TOKEN = "rehearsal"  # noqa: S105 - part of an address
# A target that has no tool of such a name, or other arguments for it, says so and goes on.
_TURNS = (
    Turn(
        tool_calls=(
            ToolCall.of("write", {"path": "rehearsal", "content": "one\n"}),
            ToolCall.of("read", {"path": "rehearsal"}),
            ToolCall.of("edit", {"path": "rehearsal", "old_text": "one", "new_text": "two"}),
            ToolCall.of("bash", {"command": "cat rehearsal"}),
        )
    ),
    Turn(content="rehearsed"),
)


class Rehearsal:
    """`commands` to run in order; a `Service` that plays their model meanwhile."""

    def __init__(self, root: Path, target: Target) -> None:
        """`root` is a directory that this may fill."""
        self._mock = MockProvider()
        room = Room(root, target.log, target.state)
        stage = Stage(room, self._mock, None, _TOKEN, _TOKEN)
        stage.lay_out({}, target)
        stage.open(_TURNS, {}, _Nobody(), target.session)
        roles = target.warm.rehearsal if target.warm else ()
        self.commands = tuple(stage.command(target, role, "rehearse", {}) for role in roles)

    def fileno(self) -> int:
        """Readable when `serve` has work."""
        return self._mock.fileno()

    def serve(self) -> None:
        """Do all work that is ready."""
        self._mock.serve()

    def close(self) -> None:
        """No command will be run any more."""
        self._mock.close()


class _Nobody:
    """Hears of requests, and keeps nothing."""

    def request_arrived(self, ticket: int) -> None: ...

    def request_decided(self, ticket: int, *_: object) -> None: ...

    def held(self, ticket: int) -> None: ...

    def answered(self, ticket: int, complete: bool) -> None: ...
