"""Where sessions live: `WORKSPACE/.agent/sessions/<utc time>_<uuid7>.jsonl`.

What it promises: the name of a new session file follows from its id alone (the time in the name is
the time in the UUIDv7), so two starts with one id meet in one file.
What it does not do: it opens no session; see `agent.store`.

Source: session contract, section 1 ("File").
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from agent.failures import UsageFailure
from agent.ids import is_uuid7, milliseconds_of

_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory that the agent works in. `root` is its real path."""

    root: Path

    @classmethod
    def at(cls, directory: str) -> Workspace:
        """The workspace at `directory`. Raises UsageFailure if that is no directory."""
        root = Path(os.path.realpath(directory))
        if not root.is_dir():
            raise UsageFailure(
                f"the workspace {directory} is not a directory; create it, or name another one "
                "with --workspace"
            )
        try:
            str(root).encode("utf-8")
        except UnicodeEncodeError:
            raise UsageFailure(
                "the path of the workspace is not UTF-8, and a session log must be; rename it"
            ) from None
        return cls(root)

    @property
    def sessions(self) -> Path:
        return self.root / ".agent" / "sessions"

    def session_files(self) -> list[Path]:
        """Every regular file named like a session, oldest id first."""
        if not self.sessions.is_dir():
            return []
        # Of a pipe or device that bears such a name, reading would never end.
        named = [p for p in self.sessions.iterdir() if session_id_of(p) and p.is_file()]
        return sorted(named, key=lambda path: (session_id_of(path) or "", path.name))

    def find(self, session: str) -> Path | None:
        """The file of a session given by id or path; None if there is none.

        Raises UsageFailure for what is neither, and for an id that two files claim.
        """
        if os.sep in session or session.endswith(_SUFFIX):
            path = Path(session)
            if session_id_of(path) is None:
                raise UsageFailure(f"{session} is not named like a session: <time>_<uuid7>.jsonl")
            return path if path.exists() else None
        require_session_id(session)
        found = [path for path in self.session_files() if session_id_of(path) == session]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise UsageFailure(f"{names} both claim the session {session}; remove the wrong one")
        return found[0] if found else None

    def known(self, session: str) -> Path:
        """Like `find`, but a session that does not exist is a UsageFailure."""
        path = self.find(session)
        if path is None:
            raise UsageFailure(
                f"no session {session} in {self.sessions}; `sessions` lists those that exist"
            )
        return path

    def path_of_new(self, session_id: str) -> Path:
        """Where the session `session_id` is created. Makes the directories on the way."""
        self.sessions.mkdir(mode=0o700, parents=True, exist_ok=True)
        seconds, ms = divmod(milliseconds_of(session_id), 1000)
        utc = time.gmtime(seconds)
        stamp = time.strftime(f"{utc.tm_year:04d}-%m-%dT%H-%M-%S", utc)
        return self.sessions / f"{stamp}-{ms:03d}Z_{session_id}{_SUFFIX}"


def session_id_of(path: Path) -> str | None:
    """The id in a session file's name; None if it is not named like one."""
    stem, dot, suffix = path.name.rpartition(".")
    session_id = stem.rpartition("_")[2]
    return session_id if dot + suffix == _SUFFIX and is_uuid7(session_id) else None


def require_session_id(session: str) -> None:
    """Raise UsageFailure unless `session` is a UUIDv7 in lower case."""
    if not is_uuid7(session):
        raise UsageFailure(f"expected a session id (a lower-case UUIDv7), found {session!r}")
