"""`chaos doctor`: a line a check, and the cure."""

from __future__ import annotations

import pytest

import chaos.cli.doctor
from chaos.cli import main
from chaos.launch.doctor import Check

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_doctor_names_the_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [Check("python", True, "3.12"), Check("ptrace", False, "EPERM", "allow SYS_PTRACE")]
    monkeypatch.setattr(chaos.cli.doctor, "probe", lambda: checks)
    assert main(["doctor"]) == 3
    out = capsys.readouterr().out
    assert out == "ok      python: 3.12\nFAILED  ptrace: EPERM\n        allow SYS_PTRACE\n"
    monkeypatch.setattr(chaos.cli.doctor, "probe", lambda: checks[:1])
    assert main(["doctor"]) == 0
