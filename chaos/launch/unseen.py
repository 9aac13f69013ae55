"""Signs that a durable change may pass by the engine: told to the user, who must judge of them.

Source: design section 2 ("Durable changes that bypass these calls").
"""

from __future__ import annotations

from chaos.errors import Unsupported
from chaos.launch import proc
from chaos.launch.files import Files
from chaos.launch.ptrace import Registers
from chaos.launch.table import Alarm, Row
from chaos.launch.tracees import Tracees


class Unseen:
    """The signs of one launch, each once."""

    def __init__(self, tracees: Tracees, files: Files) -> None:
        self._tracees, self._files = tracees, files
        self._said: dict[str, None] = {}  # an ordered set

    @property
    def said(self) -> tuple[str, ...]:
        return tuple(self._said)

    def alarm(self, row: Row, registers: Registers, tid: int) -> None:
        """A call of the table that is no change itself. Raises Unsupported for a second tracer."""
        if row.alarm is Alarm.TRACER:
            raise Unsupported(
                f"{' '.join(proc.argv(tid))} calls ptrace, but a process has one tracer and this "
                "one has the kill engine: start the target without its debugger or strace"
            )
        assert row.fd is not None  # noqa: S101 - the row of mmap
        found = self._files.of_descriptor(tid, registers.arg_int(row.fd))
        if found is not None and found.label is not None:
            self.warn(tid, f"a shared writable mapping of {found.path}")

    def warn(self, tid: int, what: str) -> None:
        """Note what a process does."""
        pid = self._tracees.process(tid)
        self._said[f"{what} (process {pid}: {' '.join(proc.argv(pid))})"] = None
