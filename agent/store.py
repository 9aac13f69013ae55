"""The session log on disk: open under a lock, load, append, close.

What it promises:
- a file is created exclusively, mode 0600, and opened without following a link; only a regular file
  whose name carries the id of its header is accepted;
- one append is one `write` of one line (continued where the kernel took less), checked by the
  reducer before the disk is touched, and known to memory only after the disk has it;
- a torn tail is cut off before the first append and not earlier: opening changes no byte;
- after a failed write nothing more is taken until the store is opened again, which finds the tail;
- the cost of an append does not grow with the log.

The promise is that of a process crash. With durability `fsync` it is that of a power loss too: the
file is synced with every transaction, its directories when it is created.

Source: session contract, sections 1 and 2.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from agent import strict_json
from agent.durability import sync_directory
from agent.errors import SessionError
from agent.failures import StoreFailure, UsageFailure, describe
from agent.ids import IdSource, now_ms
from agent.locking import lock
from agent.new_facts import NewFact
from agent.reducer import SessionReducer
from agent.state import SessionState
from agent.workspace import session_id_of

_OPEN = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_READ_CHUNK = 1 << 20


class Reserved(NamedTuple):
    """A new fact whose id was reserved earlier."""

    id: str
    fact: NewFact


class SessionStore:
    """One open session. `open` it, `begin` it if it is no session yet, `append`, `close`."""

    def __init__(self, fd: int, path: Path, durability: str) -> None:
        """Use `open`; this takes a descriptor that is locked already and reads the log from it."""
        self._fd = fd
        self.path = path
        self.sync = durability == "fsync"
        self._reducer: SessionReducer | None = None
        self._failed = False
        data = _read_all(fd)
        self._size = len(data)  # of the file; more than what is valid while a torn tail is there
        self._valid = data.rfind(b"\n") + 1
        if self._valid:
            self._reducer = SessionReducer.of(data[: self._valid])
            self._refuse_foreign_id()
        self._ids = IdSource(self.state.greatest_id if self._reducer else None)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool = False,
        wait_s: float | None = None,  # for another owner; None: as the environment says
        durability: str = "process",  # or fsync
    ) -> SessionStore:
        """Open the session file, alone. With `create`, make it where there is none.

        Raises SessionBusy, SessionError (corrupt), UsageFailure (not a file of ours), OSError.
        """
        fd = _open(path, create)
        try:
            _require_regular(fd, path)
            lock(fd, path, wait_s)
            return cls(fd, path, durability)
        except BaseException:
            os.close(fd)
            raise

    @property
    def is_session(self) -> bool:
        """Whether the file has a header. Without one it is not a session yet."""
        return self._reducer is not None

    @property
    def state(self) -> SessionState:
        """The live state. Raises LookupError where there is no session yet."""
        if self._reducer is None:
            raise LookupError("not a session yet: begin it first")
        return self._reducer.state

    @property
    def lock_fd(self) -> int:
        """The descriptor that holds the lock, for the guard of a tool."""
        return self._fd

    def fresh_id(self) -> str:
        """An id that the log does not know, greater than all that it knows."""
        return self._ids.fresh()

    def begin(self, header: dict[str, Any]) -> None:
        """Write the header of a file that has none; whatever tail it has is cut off first."""
        reducer = SessionReducer()
        line = strict_json.dumps(header)
        with reducer.adding(line):
            if self.sync:
                self._sync_directories()  # first: a session with a header never lacks its name
            self._write(line)
        self._reducer = reducer
        self._ids = IdSource(header["id"])

    def append(self, *facts: NewFact | Reserved) -> list[dict[str, Any]]:
        """Write the facts as one transaction and return them as written.

        Raises SessionError for facts the reducer refuses (neither disk nor memory has changed), and
        StoreFailure where the disk did not take them.
        """
        if self._reducer is None:
            raise LookupError("not a session yet: begin it first")
        stamped = [
            self._stamp(fact, self.state.last_seq + 1 + offset) for offset, fact in enumerate(facts)
        ]
        line = strict_json.dumps(stamped[0] if len(stamped) == 1 else stamped)
        with self._reducer.adding(line):
            self._write(line)
        return stamped

    def close(self) -> None:
        """Give the session free. Closing twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stamp(self, fact: NewFact | Reserved, seq: int) -> dict[str, Any]:
        identity, new = fact if isinstance(fact, Reserved) else (self.fresh_id(), fact)
        return new.stamp(seq, identity, now_ms())

    def _write(self, line: bytes) -> None:
        if self._failed:
            raise StoreFailure(f"{self.path} takes nothing after a failed write; open it again")
        self._failed = True  # until the whole line is there
        rest = memoryview(line + b"\n")
        try:
            if self._size != self._valid:
                os.ftruncate(self._fd, self._valid)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            if self.sync:
                os.fsync(self._fd)
        except OSError as error:
            raise StoreFailure(
                f"cannot write {self.path}: {describe(error)}; every fact before is kept: remove "
                f"the cause, then `resume {session_id_of(self.path)}` (or the same `run` again, if "
                "its prompt was not accepted yet)"
            ) from error
        self._valid += len(line) + 1
        self._size = self._valid
        self._failed = False

    def _sync_directories(self) -> None:
        """The names that lead to the file, as far as the agent makes them: .agent/sessions/FILE."""
        for directory in self.path.absolute().parents[:3]:
            try:
                sync_directory(directory)
            except OSError as error:
                raise StoreFailure(
                    f"cannot make {directory} durable: {describe(error)}; no prompt was accepted: "
                    "remove the cause, then the same `run` again"
                ) from error

    def _refuse_foreign_id(self) -> None:
        named, found = session_id_of(self.path), self.state.header.id
        if named != found:
            raise SessionError(
                "INVALID_HEADER",
                1,
                None,
                f"expected the id of the file name, {named}, found {found}",
            )


def _open(path: Path, create: bool) -> int:
    if create:
        try:
            return os.open(path, _OPEN | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass  # another start was first; the lock decides between us
    return os.open(path, _OPEN)


def _require_regular(fd: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise UsageFailure(f"expected a session file at {path}, found no regular file")


def _read_all(fd: int) -> bytes:
    data = bytearray()
    while chunk := os.pread(fd, _READ_CHUNK, len(data)):
        data += chunk
    return bytes(data)
