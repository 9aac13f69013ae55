"""All tests, in two processes side by side: `make test`.

Most tests wait for one target at a time, so two cores take two halves in little more than the time
of one. A half is a process of its own, since the kill engine must be the only thread of its process
(so pytest-xdist, which has another one, does not do). What the second half says is shown when both
are over. Ctrl-C ends both. Exit code 0 only if both are green.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Of about equal length; what is not named here is the second half.
FIRST = ("agent", "browser", "cli", "explore", "flavours", "judge", "launch", "planted")


def halves() -> tuple[list[str], list[str]]:
    """What pytest is told in each."""
    first = [f"tests/{name}" for name in FIRST]
    return first, [f"--ignore={name}" for name in first]


def side_by_side(first: Sequence[str], second: Sequence[str]) -> int:
    """Run pytest twice at once, with these words, here. Gives the exit code."""
    pytest = [sys.executable, "-m", "pytest"]
    with tempfile.TemporaryFile() as said:
        other = subprocess.Popen([*pytest, *second], stdout=said, stderr=subprocess.STDOUT)
        try:
            code = subprocess.run([*pytest, *first], check=False).returncode
            other_code = other.wait()
        finally:
            other.terminate()
            other.wait()
            said.seek(0)
            sys.stdout.write(said.read().decode("utf-8", "replace"))
            sys.stdout.flush()
    return code or other_code


if __name__ == "__main__":
    one, two = halves()
    sys.exit(side_by_side([*one, *sys.argv[1:]], [*two, *sys.argv[1:]]))
