"""Which file a stopped thread is about to change, and is it a watched one?

Files are matched by path first and by device and inode then, so that neither a rename nor another
mount namespace hides a file that was seen once. A path counts only if it leads to the same inode
from here. A file that has lost its last name is not durable and not watched.

Reads /proc and file metadata of the target at the moment of asking; changes nothing.
"""

# Hot, over plain strings that are mostly links of /proc.
# ruff: noqa: PTH115, PTH116, PTH118

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

_AT_FDCWD = -100
_APPEND = 0o2000
_FDINFO_BYTES = 256  # its first two lines are `pos:` and `flags:`

Inode = tuple[int, int]  # device, inode


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file of the target; `label` is None where nobody watches it."""

    path: str
    label: str | None
    inode: Inode
    size: int
    last_name: bool


class Files:
    """What is known of the files of one launch."""

    def __init__(self, classify: Callable[[str], str | None]) -> None:
        self._classify = classify
        self._by_path: dict[str, str | None] = {}
        self._by_inode: dict[Inode, str] = {}

    def label(self, path: str) -> str | None:
        """Label of a path, asked of the handler once."""
        if path not in self._by_path:
            self._by_path[path] = self._classify(path)
        return self._by_path[path]

    def forget(self, inode: Inode) -> None:
        """The inode lost its last name: its number may serve another file now."""
        self._by_inode.pop(inode, None)

    def of_descriptor(self, tid: int, fd: int) -> Found | None:
        """The regular, still named file behind a descriptor, or the directory, whose path ends in
        a slash (only a sync can concern it); None for anything else. Raises
        PermissionError where the process forbids looking at it."""
        link = f"/proc/{tid}/fd/{fd}"
        try:
            status = os.stat(link)
            if stat.S_ISDIR(status.st_mode):
                return self._found(f"{os.readlink(link)}/", status)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink == 0:
                return None
            return self._found(os.readlink(link), status)
        except PermissionError:
            raise
        except OSError:
            return None  # a bad descriptor, or the process is gone

    def of_path(self, tid: int, dirfd: int, path: str, *, follow: bool) -> Found | None:
        """The regular file that a path of the target names; None where there is none."""
        if not path:
            return self.of_descriptor(tid, dirfd)  # AT_EMPTY_PATH
        try:
            seen = _from_here(tid, dirfd, path)
            status = os.stat(seen) if follow else os.lstat(seen)
            if not stat.S_ISREG(status.st_mode):
                return None
            return self._found(os.path.realpath(seen) if follow else self.absolute(seen), status)
        except OSError:
            return None

    def new_name(self, tid: int, dirfd: int, path: str) -> str:
        """The absolute path that a name of the target will have, existing or not."""
        return self.absolute(_from_here(tid, dirfd, path))

    def absolute(self, seen: str) -> str:
        """Links in the directory resolved, the last component kept."""
        directory, name = os.path.split(seen)
        return os.path.join(os.path.realpath(directory), name)

    def _found(self, path: str, status: os.stat_result) -> Found:
        inode = (status.st_dev, status.st_ino)
        label = self.label(path)
        if label is not None and not _leads_to(path, inode):
            label = None  # the same spelling in another mount namespace
        if label is None:
            label = self._by_inode.get(inode)
        else:
            self._by_inode[inode] = label
        return Found(path, label, inode, status.st_size, status.st_nlink == 1)


def position(tid: int, fd: int, size: int) -> int:
    """Where the next write on a descriptor goes: its position, or the end of an O_APPEND file."""
    info = os.open(f"/proc/{tid}/fdinfo/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        pos, flags, *_ = os.read(info, _FDINFO_BYTES).split(b"\n")
    finally:
        os.close(info)
    return size if int(flags.split()[1], 8) & _APPEND else int(pos.split()[1])


def _from_here(tid: int, dirfd: int, path: str) -> str:
    """A path by which this process reaches what the target's thread means."""
    if path.startswith("/"):
        base = f"/proc/{tid}/root"
    elif dirfd == _AT_FDCWD:
        base = f"/proc/{tid}/cwd"
    else:
        base = f"/proc/{tid}/fd/{dirfd}"
    return f"{base}/{path}"


def _leads_to(path: str, inode: Inode) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == inode
