"""What a forked child keeps open of its parent's descriptors."""

from __future__ import annotations

import os


def keep_only(*keep: int | None) -> None:
    """Close everything but `keep`; the standard streams become /dev/null.

    The agent's own standard streams must not stay open in a child that lives on, or a reader of the
    agent's output would wait for it.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    at = 3
    for fd in sorted({fd for fd in keep if fd is not None and fd > 2}):
        os.closerange(at, fd)
        at = fd + 1
    os.closerange(at, os.sysconf("SC_OPEN_MAX"))
