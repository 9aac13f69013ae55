"""A room: the directories in which one lineage of launches lives.

    ROOM/workspace   the target's working directory, filled from the scenario's [files]
    ROOM/home        its HOME, filled from the target's [home]
    ROOM/effects     the effect journal, outside the workspace
    ROOM/out, err    the streams of the running launch

Promises: every lineage of a lane sees the same paths; `reset` leaves nothing of the one before.
Does not start processes and does not interpret what it reads.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from chaos.evidence import ABSENT, Blobs, Sha, Tree


class Room:
    """Paths and snapshots. `log_glob` and `state` are relative to the workspace."""

    def __init__(self, root: Path, log_glob: str, state: tuple[str, ...]) -> None:
        self.root = Path(os.path.realpath(root))
        self.workspace = self.root / "workspace"
        self.home = self.root / "home"
        self.effects = self.root / "effects"
        self.stdout = self.root / "out"
        self.stderr = self.root / "err"
        self._prefix = f"{self.workspace}/"
        self._log_glob = log_glob
        self._state = tuple(f"{name.rstrip('/')}/" for name in state)

    def reset(self, files: Mapping[str, str], home: Mapping[str, str]) -> None:
        """Empty the room and lay out the files of the scenario and of the target's HOME."""
        shutil.rmtree(self.root, ignore_errors=True)
        for directory in (self.workspace, self.home):
            directory.mkdir(parents=True)
        self.effects.touch()
        for directory, filling in ((self.workspace, files), (self.home, home)):
            for name, text in filling.items():
                path = directory / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    def clear_streams(self) -> None:
        """Forget what the last launch printed."""
        self.stdout.unlink(missing_ok=True)
        self.stderr.unlink(missing_ok=True)

    def classify(self, path: str) -> str | None:
        """What a file is to the harness: `log`, `effect`, `file` or None (not watched)."""
        if path.startswith(self._prefix):
            relative = path[len(self._prefix) :]
            if fnmatchcase(relative, self._log_glob):
                return "log"
            return None if relative.startswith(self._state) else "file"
        return "effect" if path == str(self.effects) else None

    def relative(self, path: str) -> str:
        """A workspace path as it is named in evidence."""
        return path.removeprefix(self._prefix)

    def log_path(self) -> Path | None:
        """The session log, if there is one (the newest by name, if there are several)."""
        return max(self.workspace.glob(self._log_glob), default=None)

    def log(self) -> bytes:
        """The session log as it is now; empty if there is none."""
        path = self.log_path()
        return path.read_bytes() if path else b""

    def content(self, path: Path, blobs: Blobs) -> Sha:
        """A file's content by name; ABSENT for no such regular file."""
        try:
            return blobs.put(path.read_bytes()) if not path.is_symlink() else ABSENT
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return ABSENT

    def tree(self, blobs: Blobs) -> Tree:
        """The workspace outside the target's own state."""
        names = (name for name in self._walk() if not name.startswith(self._state))
        return {name: self.content(self.workspace / name, blobs) for name in sorted(names)}

    def state_files(self) -> tuple[str, ...]:
        """Names below the target's state directories."""
        return tuple(sorted(name for name in self._walk() if name.startswith(self._state)))

    def _walk(self) -> Iterator[str]:
        for directory, _, names in os.walk(self.workspace):
            for name in names:
                yield self.relative(f"{directory}/{name}")
