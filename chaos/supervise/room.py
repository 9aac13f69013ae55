"""A room: the directories in which one lineage of launches lives.

    ROOM/workspace   the target's working directory, filled from the scenario's [files]
    ROOM/home        its HOME, filled from the target's [home]
    ROOM/effects     the effect journal, outside the workspace
    ROOM/in, out, err    the streams of the running launch

Promises: every lineage of a lane sees the same paths; `reset` leaves nothing of the one before.
Does not start processes and does not interpret what it reads.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase, translate
from glob import has_magic
from pathlib import Path

from chaos.errors import HarnessError
from chaos.evidence import ABSENT, LOG_NAME, Blobs, Sha, Tree
from chaos.target_session import HOME

LARGEST_BYTES = 64 << 20
LEAST_FREE_BYTES = 16 << 20
# What opening gives where there is no file of that name, or no regular one.
_NO_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EACCES})


_SQLITE = b"SQLite format 3\0"  # a database begins so
_SQLITE_SHARED = "-shm"  # the end of the name of its index, which is memory and not durable


class Room:
    """Paths and snapshots. `log_glob` and `state` are relative to the workspace, or to the HOME
    after `~/`, as are `durable`: globs of the files that hold the session of a target whose session
    is not read."""

    def __init__(
        self, root: Path, log_glob: str, state: tuple[str, ...], durable: tuple[str, ...] = ()
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.home = self.root / "home"
        self.effects = self.root / "effects"
        self.stdin = self.root / "in"
        self.stdout = self.root / "out"
        self.stderr = self.root / "err"
        self._log_glob = log_glob
        self._is_log_name = re.compile(translate(log_glob.rpartition("/")[2])).match
        self._durable = durable
        self._home_prefix = f"{self.home}/"
        self._place(self.root / "workspace")
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

    def move(self, name: str) -> None:
        """The workspace is ROOM/name from now on."""
        self._place(self.workspace.rename(self.root / name))

    def _place(self, workspace: Path) -> None:
        self.workspace = workspace
        self._prefix = f"{workspace}/"
        in_home = self._log_glob.startswith(HOME)
        self._log_root = self.home if in_home else workspace
        folder = self._log_glob.removeprefix(HOME).rpartition("/")[0]
        self._log_folder = f"{self._log_root}/{folder}"
        self._log_folders = folder if has_magic(folder) else None  # their glob

    def clear_streams(self) -> None:
        """Forget what the last launch printed."""
        self.stdout.unlink(missing_ok=True)
        self.stderr.unlink(missing_ok=True)

    def classify(self, path: str) -> str | None:
        """What a file is to the harness: `log`, `state`, `effect`, `file`, `directory` (a path that
        ends in a slash) or None (not watched)."""
        if path == str(self.effects):
            return "effect"
        in_workspace = path.startswith(self._prefix)
        if not in_workspace and not path.startswith(self._home_prefix):
            return None
        if path.endswith("/"):
            return "directory" if in_workspace else None
        name = self.relative(path)
        if self._log_glob and _matches(name, self._log_glob):
            return "log"
        if self.glob_of(name):
            return "state"
        return None if not in_workspace or name.startswith(self._state) else "file"

    def glob_of(self, name: str) -> str:
        """Of the globs of files that hold the session, the one that a file (named as in evidence)
        is watched by; empty: by none."""
        if name.endswith(_SQLITE_SHARED):
            return ""
        return next((glob for glob in self._durable if _matches(name, glob)), "")

    def is_database(self, path: Path | str) -> bool:
        """Is it a SQLite database? It is written in place, by pages, which a kill never cuts."""
        try:
            with Path(path).open("rb") as file:
                return file.read(len(_SQLITE)) == _SQLITE
        except OSError:
            return False

    def relative(self, path: str) -> str:
        """A path of the workspace, or (after `~/`) of the HOME, as it is named in evidence."""
        if path.startswith(self._home_prefix):
            return HOME + path[len(self._home_prefix) :]
        return path.removeprefix(self._prefix)

    def names_in(self, directory: str) -> tuple[str, ...]:
        """The files in a directory, relative to the workspace; the session log as LOG_NAME."""
        with os.scandir(directory) as entries:
            paths = sorted(e.path for e in entries if e.is_file(follow_symlinks=False))
        return tuple(map(self.public_name, paths))

    def public_name(self, path: str) -> str:
        """A path relative to the workspace (`./`: itself); the session log goes by LOG_NAME."""
        if self.classify(path) == "log":
            path = f"{path.rpartition('/')[0]}/{LOG_NAME}"
        return self.relative(path) or "./"

    def log_path(self) -> Path | None:
        """The session log, if there is one (the newest by name, if there are several)."""
        newest = self._newest_log()
        return Path(newest) if newest else None

    def log(self) -> bytes:
        """The session log as it is now; empty if there is none."""
        newest = self._newest_log() if self._log_glob else ""
        return (self.read(newest) or b"") if newest else b""

    def _newest_log(self) -> str:
        """Asked at every stop of a launch, so it is plain strings, and Path.glob only where a
        folder's name is not known."""
        if self._log_folders is None:
            found = self._logs_in(self._log_folder)
        else:
            folders = self._log_root.glob(self._log_folders)
            found = [path for folder in folders for path in self._logs_in(folder)]
        return max(found, key=lambda path: path.split("/")) if found else ""

    def _logs_in(self, folder: Path | str) -> list[str]:
        try:
            with os.scandir(folder) as entries:
                return [e.path for e in entries if self._is_log_name(e.name) and e.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def lay_log(self, data: bytes | None) -> None:
        """Give the session log these bytes; None: no file."""
        path = self.log_path()
        if path is None and data is not None:
            raise HarnessError(f"{self._log_glob}: no session log to give {len(data)} bytes to")
        if path is not None and data is None:
            path.unlink()
        elif path is not None and data is not None:
            path.write_bytes(data)

    def lay_files(self, files: Mapping[str, bytes]) -> None:
        """Make these the files of the workspace outside the target's own state."""
        for name in self.tree(Blobs()):
            if name not in files:
                (self.workspace / name).unlink()
        for name, data in files.items():
            path = self.workspace / name
            if self.read(path) != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    def content(self, path: Path | str, blobs: Blobs) -> Sha:
        """A file's content by name; ABSENT for no such regular file."""
        data = self.read(path)
        return ABSENT if data is None else blobs.put(data)

    def read(self, path: Path | str) -> bytes | None:
        """The bytes of a regular file; None for anything else. Raises HarnessError for one that is
        too large to be kept at each of its states."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise
        with os.fdopen(fd, "rb", buffering=0) as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_size > LARGEST_BYTES:
                raise HarnessError(
                    f"{path}: {status.st_size:,} bytes; chaos keeps every state of a file, and "
                    f"takes at most {LARGEST_BYTES:,}: make the scenario's files smaller"
                )
            return file.read()

    def require_space(self) -> None:
        """Raises HarnessError where the room's filesystem is full: what a target does then says
        nothing about its crashes."""
        left = os.statvfs(self.root.parent)
        free_bytes = left.f_bavail * left.f_frsize
        if free_bytes < LEAST_FREE_BYTES:
            raise HarnessError(
                f"{self.root.parent}: {free_bytes:,} bytes free, expected {LEAST_FREE_BYTES:,}; "
                "make room, or name another directory in TMPDIR"
            )

    def tree(self, blobs: Blobs) -> Tree:
        """The workspace outside the target's own state."""
        names = (name for name in self._walk("") if not self._owns(name))
        return {name: self.content(self._prefix + name, blobs) for name in sorted(names)}

    def state_files(self) -> tuple[str, ...]:
        """Names below the target's state directories."""
        return tuple(sorted(filter(self._owns, self._walk(""))))

    def _owns(self, name: str) -> bool:
        """Is this file of the workspace the target's own?"""
        return name.startswith(self._state) or bool(self.glob_of(name))

    def _walk(self, folder: str) -> Iterator[str]:
        """Names of what is no directory, below a folder of the workspace (with its `/`); links to
        directories are not followed."""
        with contextlib.suppress(OSError), os.scandir(self._prefix + folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from self._walk(f"{folder}{entry.name}/")
                elif not (entry.is_symlink() and os.path.isdir(entry.path)):  # noqa: PTH112 - hot
                    yield folder + entry.name


def _matches(name: str, glob: str) -> bool:
    """Both are relative to the workspace, or both (after `~/`) to the HOME."""
    return name.startswith(HOME) == glob.startswith(HOME) and fnmatchcase(name, glob)
