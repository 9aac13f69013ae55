"""Large pages change where memory lies, and no byte of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
from pathlib import Path
from chaos.launch.pages import join_pages
def large():
    text = Path("/proc/self/smaps_rollup").read_text()
    return int(text.split("AnonHugePages:")[1].split()[0])
kept = [bytes([number % 256]) * 1000 for number in range(16_000)]
before = large()
join_pages()
assert all(kept[number] == bytes([number % 256]) * 1000 for number in range(16_000))
print(large() - before)
"""


def test_memory_is_joined_and_stays_what_it_was() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    if Path("/sys/kernel/mm/transparent_hugepage").exists():
        assert int(done.stdout) > 0
