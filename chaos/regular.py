"""Reading files that a user named: regular ones, of a size that fits in memory.

Promises: a pipe or a device is refused before it can hang the reader, and a file that is too large
before it is read. Does not know what the bytes mean.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 256 * 2**20  # far above any log, report or scenario; far below the memory of a machine


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file. Raises OSError, whose `strerror` says what was found."""
    # A pipe without a writer would block the opening itself.
    with open(path, "rb", buffering=0, opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            found = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
            raise OSError(errno.EINVAL, f"expected a regular file, found {found}")
        data = bytearray()
        # By pieces, since files of /proc do not tell their size, and some never end.
        while chunk := file.read(_CHUNK_BYTES):
            data += chunk
            if max(len(data), status.st_size) > MOST_BYTES:
                raise OSError(errno.EFBIG, f"expected at most {MOST_BYTES >> 20} MiB, found more")
        if chunk is None:
            raise OSError(errno.EAGAIN, "expected a regular file, found one that waits for more")
        return bytes(data)


_CHUNK_BYTES = 2**20
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
