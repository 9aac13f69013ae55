"""`make demo` tells the whole story: found, replayed, shrunk, mended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "docs" / "demo.py"


def test_the_demo_finds_the_bug_and_passes_the_sound_agent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DEMO)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 fault:\n  E4 unanswered-calls > exec  (2 schedules)" in done.stdout
    left = {path.name for path in (tmp_path / "chaos-demo").iterdir()}
    assert left >= {"chaos-report", "deploy-is-never-repeated-shrunk.toml", "fixed"}
    assert done.stdout.count("passed (seed 0)") == 2
