"""All processors busy while something is measured: one process each that does nothing but spin."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

# Ends by itself when the test is gone, however that went: its stdin is then at its end.
_BURN = """
import select, sys
while not select.select([0], [], [], 0)[0]:
    for _ in range(100_000): pass
"""


@contextlib.contextmanager
def burners(count: int | None = None) -> Iterator[int]:
    """`count` of them (default: as many as there are processors). Gives the count."""
    count = count if count is not None else os.cpu_count() or 1
    started = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", _BURN], stdin=subprocess.PIPE)
        for _ in range(count)
    ]
    try:
        yield count
    finally:
        for burner in started:
            burner.kill()
            burner.communicate()
