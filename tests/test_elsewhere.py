"""On a system that is not Linux: what can work does, and the rest says why not.

No such machine is at hand: a Python from which everything is taken away that only Linux has. It
shows that nothing of it is touched on the way; it does not show how another kernel behaves.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "tests" / "corpus" / "logs" / "abort-after-answer.jsonl"
SCENARIO = ROOT / "scenarios" / "calls" / "plain-answer.toml"
ELSEWHERE = """\
import os, select, signal, sys
sys.platform = "darwin"
for module, names in {
    os: "sched_getaffinity pidfd_open memfd_create eventfd splice O_PATH O_TMPFILE fdatasync",
    select: "epoll",
    signal: "pidfd_send_signal SIGRTMIN",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
os.uname = lambda: os.uname_result(("Darwin", "host", "24.0.0", "Darwin", "arm64"))
"""


def elsewhere(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(ELSEWHERE, encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "AGENT_API_KEY": "k",
        "AGENT_BASE_URL": "http://127.0.0.1:9",
    }
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        ("chaos", "--help"),
        ("chaos", "run", "--help"),
        ("chaos", "judge", str(LOG)),
        ("agent", "--help"),
        ("agent", "inspect", str(LOG)),
        ("agent", "sessions"),
    ],
    ids=" ".join,
)
def test_what_reads_works(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = elsewhere(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("chaos", "doctor"), 3, "needs Linux"),
        (("chaos", "run", str(SCENARIO)), 3, "needs Linux"),
        (("chaos", "points", str(SCENARIO)), 3, "needs Linux"),
        (("agent", "run", "hello"), 2, "needs Linux"),
        (("agent", "resume", "x"), 2, "needs Linux"),
        (("agent", "chat"), 2, "needs Linux"),
    ],
    ids=str,
)
def test_what_starts_programs_says_why_not(
    tmp_path: Path, words: tuple[str, ...], code: int, why: str
) -> None:
    done = elsewhere(tmp_path, *words)
    assert why in done.stdout + done.stderr, done
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == code
