"""A lane and the one who keeps it: what is ended stays ended."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from chaos.errors import HarnessError
from chaos.explore.work import Work
from chaos.scenario import load_scenario
from chaos.supervise import lane_process
from chaos.supervise.lane_process import LaneProcess
from chaos.supervise.workshop import ALIVE
from tests.library import scenario_file


def work() -> Work:
    return Work(load_scenario(scenario_file("plain-answer")), "exec")


def test_a_lane_that_was_ended_is_not_started() -> None:
    lane = LaneProcess()
    lane.end()
    with pytest.raises(HarnessError):
        lane.call("baseline", work())


def test_a_lane_that_is_ended_as_it_starts_does_not_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The interruption comes when the process is there, and its keeper does not know it yet."""
    lane = LaneProcess()
    ender = threading.Thread(target=lane.end)
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*given, **options))
        ender.start()
        ender.join(0.2)  # it has to wait for us
        return started[-1]

    monkeypatch.setattr(lane_process.subprocess, "Popen", start)
    with pytest.raises(HarnessError):
        lane.call("baseline", work())
    ender.join()
    lane.close()
    (process,) = started
    assert process.returncode == -9


def test_a_lane_whose_keeper_died_as_it_started_does_no_work(tmp_path: Path) -> None:
    """Its first unit is in the pipe already. It is another's child by now: here, ours."""
    (tmp_path / ALIVE).touch()
    unit = io.BytesIO()
    lane_process._send(unit, ("baseline", work()))
    orphan = subprocess.run(
        [sys.executable, "-c", lane_process._SERVE, "1", str(tmp_path)],
        input=unit.getvalue(),
        capture_output=True,
        check=False,
    )
    assert (orphan.returncode, orphan.stdout, orphan.stderr) == (1, b"", b"")
    assert [path.name for path in tmp_path.iterdir()] == [ALIVE]
