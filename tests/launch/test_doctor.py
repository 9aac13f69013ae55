"""The doctor tries the real thing and names a cure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from chaos.launch import doctor
from chaos.launch.doctor import probe


def test_all_is_well_where_these_tests_pass() -> None:
    checks = probe()
    names = [check.name for check in checks]
    assert names == ["platform", "python", "psutil", "untraced", "seccomp", "kill"]
    assert [check for check in checks if not check.ok or check.cure] == []
    assert checks[-1].detail == "a write of 6 bytes torn to 2 left b'ab', wait status 9"


def test_under_strace_the_tracer_is_named_and_the_cure() -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace")
    code = (
        "from chaos.launch.doctor import probe\n"
        "for check in probe():\n"
        "    if not check.ok: print(check.name, check.detail, check.cure, sep='|')"
    )
    done = subprocess.run(
        [strace, "-f", "-o", os.devnull, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=os.getcwd(),
    )
    untraced, kill = done.stdout.split("\nkill|")
    assert untraced.startswith("untraced|traced by process ")
    assert "strace" in untraced
    assert "run chaos outside of strace or a debugger" in kill


@pytest.mark.parametrize(
    ("name", "change", "cure"),
    [
        ("platform", ("_KERNEL", (99, 0)), "use a Linux kernel of 99.0 or later"),
        ("python", ("_PYTHON", (9, 0)), "use Python 9.0 or later"),
        ("psutil", ("_PSUTIL", (99, 0)), "pip install 'psutil>=99.0'"),
    ],
)
def test_what_is_too_old_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, change: tuple[str, object], cure: str
) -> None:
    monkeypatch.setattr(doctor, *change)
    [check] = [check for check in probe() if check.name == name]
    assert (check.ok, check.cure) == (False, cure)


def test_another_processor_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.launch.table.platform.machine", lambda: "riscv64")
    failed = [check.name for check in probe() if not check.ok]
    assert failed == ["platform", "kill"]
