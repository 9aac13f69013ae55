"""`chaos replay`: the comparison with what was saved, and `--hold`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

import chaos.cli.replay
from chaos.cli import main
from chaos.report.failure import Failure
from chaos.results import ScheduleResult
from chaos.supervise.course import Held
from tests.report import sample

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.mark.parametrize(
    ("today", "code", "words"),
    [
        (sample.violated(), 1, "same as saved: VIOLATION(E2)\n"),
        (sample.passed(), 0, "saved: VIOLATION(E2)\nnow:   PASS\n"),
    ],
)
def test_replay_compares_with_what_was_saved(
    today: ScheduleResult,
    code: int,
    words: str,
    saved: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[Failure] = []

    def replay(failure: Failure, hold: object) -> ScheduleResult:
        assert hold is None
        asked.append(failure)
        return today

    monkeypatch.setattr(chaos.cli.replay, "replay", replay)
    assert main(["replay", saved]) == code
    assert str(asked[0].schedule) == sample.violated().schedule
    out = capsys.readouterr().out
    assert out.endswith(words)
    assert sample.SECRET not in out


def test_replay_holds_for_a_debugger(
    saved: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def replay(_: Failure, hold: Callable[[Held], None]) -> ScheduleResult:
        hold(Held(7, sample.POINT, "/room/workspace", ("agent", "resume", "a b")))
        return sample.violated()

    monkeypatch.setattr(chaos.cli.replay, "replay", replay)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert main(["replay", saved, "--hold"]) == 1
    out, err = capsys.readouterr()
    assert f"held at   {sample.POINT}\npid       7\nworkspace /room/workspace\n" in out
    assert "resume    agent resume 'a b'\n" in out
    assert "Enter kills it" in err
