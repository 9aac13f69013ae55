"""Large pages under the memory of a process that is about to be forked again and again.

A fork copies the page table entry by entry, and the end of the child takes it down likewise: one
entry of a large page stands for 512. Standard library only: it runs in the warm parent.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

_MADV_COLLAPSE = 25  # Linux 6.1
_LARGE = 1 << 21  # bytes

_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def join_pages() -> None:
    """Join what memory of one's own can be joined. Where the kernel does not, nothing is lost."""
    for start, end in list(_anonymous()):
        first, last = -(-start // _LARGE) * _LARGE, end // _LARGE * _LARGE
        if first < last:
            _madvise(first, last - first, _MADV_COLLAPSE)


def _anonymous() -> Iterator[tuple[int, int]]:
    """Where the heap and the mappings without a file are."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        where, mode, _, _, _, *name = line.split()
        if mode == "rw-p" and (not name or name == ["[heap]"]):
            start, _, end = where.partition("-")
            yield int(start, 16), int(end, 16)
