"""`chaos points`."""

from __future__ import annotations

import pytest

import chaos.cli.points
from chaos.cli import main

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_points(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = ["log:header#1", "log:runStarted#1"]
    monkeypatch.setattr(chaos.cli.points, "baseline_points", lambda *_: found)
    assert main(["points", "scenarios/deploy.toml"]) == 0
    assert capsys.readouterr().out == "log:header#1\nlog:runStarted#1\n"
