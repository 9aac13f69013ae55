"""The target files of real agents: each certifies to the end, with exact kills only.

They are skipped unless `make targets` has installed the agents. What the agents themselves do
wrong is no failure here: docs/certified.md tells it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chaos.target import load_target
from tests.targets.install import BIN, ROOT

PROFILES = ROOT / "scenarios/targets"
# Target -> the command that must be there.
REAL = {"pi": "pi", "opencode": "opencode", "strands": "strands-python", "llm": "llm"}
BUDGET = "60s"  # a sample of the course: enough for exactness, which is what is asked here


def test_every_real_target_is_here() -> None:
    for name in REAL:
        target = load_target(name, str(PROFILES.parent))
        assert target.dialect != "session-v2"
        assert target.version


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_it_certifies(name: str, tmp_path: Path) -> None:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    if shutil.which(REAL[name], path=path) is None:
        pytest.skip(f"{REAL[name]} is not installed: make targets")
    table = tmp_path / "table.json"
    command = ["certify", str(PROFILES / f"{name}.toml"), "--budget", BUDGET]
    done = subprocess.run(
        [sys.executable, "-m", "chaos", *command, "--json", str(table), "--report", "report"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told: dict[str, Any] = json.loads(table.read_text(encoding="utf-8"))
    summary = told["report"]["summary"]
    assert summary["kills"] == summary["exact"] > 0
    assert (summary["inconclusive"], summary["errors"]) == (0, 0), done.stdout
    rules = {row["id"]: row for row in told["rules"]}
    assert rules["R1"]["after_kills"]["judged"] > 0
    assert rules["P1"]["why"].startswith("not applicable")
