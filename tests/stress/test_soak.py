"""A repeat of one scenario gives no alarm; whatever is no PASS is one."""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stress import soak as module
from tests.stress.runs import Run, belonging
from tests.stress.soak import Repeat, main, soak

PLAIN = "scenarios/calls/plain-answer.toml"
# A promise that the sound agent does not give: its sweep must alarm.
IMPOSSIBLE = """
name = "impossible"
about = "The model answers at once, and the deployment is expected all the same."
[target]
profile = "agent"
[[step]]
run = "say hello"
[[provider.turn]]
content = "hello"
[expect]
effects = { deploy = "once" }
"""


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_sound_agent_gives_no_alarm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([PLAIN, "--repeats", "1"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("repeat  0: jobs 2, 0 busy loops: 30 passed, 0 violations, 0 inconcl")
    assert "1 repeats, 30 schedules passed: 0 violations, 0 inconclusive, 0 errors" in told
    assert list(tmp_path.iterdir()) == []


def test_it_goes_on_where_it_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    monkeypatch.setattr(
        module, "carry_out", lambda repeat, *_: done.append(repeat.number) or Counter()
    )
    assert main([PLAIN, "--first", "7", "--repeats", "3"]) == 0
    assert done == [7, 8, 9]


def test_who_interrupts_it_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C falls while it waits for the run, which has a session of its own."""
    begun: list[Run] = []
    start = Run.start

    def interrupted(run: Run) -> subprocess.Popen[bytes]:
        begun.append(run)
        process = start(run)
        monkeypatch.setattr(process, "wait", waits(process.wait))
        return process

    def waits(wait: Callable[..., int]) -> Callable[..., int]:
        def once(timeout: float | None = None) -> int:
            if timeout is not None:
                raise KeyboardInterrupt
            return wait()

        return once

    monkeypatch.setattr(Run, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        soak([PLAIN], 1)
    (run,) = begun
    assert list(tmp_path.iterdir()) == []
    assert list(belonging(run.mark, str(run.temporary))) == []


def test_a_verdict_that_is_no_pass_is_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_JOBS", (1,))
    scenario = tmp_path / "impossible.toml"
    scenario.write_text(IMPOSSIBLE)
    assert soak([str(scenario)], 1) == 1
    told = capsys.readouterr().out
    assert "    VIOLATION impossible-" in told
    kept = told.partition("its report: ")[2].splitlines()[0]
    assert (Path(kept) / "report.json").exists()


def test_a_run_that_does_not_run_is_an_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak(["scenarios/no-such-folder"], 1) == 1
    told = capsys.readouterr().out
    assert "0 passed, 0 violations, 0 inconclusive, 0 errors, exit code 4" in told
    assert "no-such-folder" in told
    assert "1 alarms" in told


def test_repeats_differ_in_seed_jobs_and_load() -> None:
    repeats = [Repeat(number) for number in range(12)]
    assert len({(repeat.jobs, repeat.load) for repeat in repeats}) == 12
    assert Repeat(5).arguments(["a", "b"])[:2] == ("a", "b")
    assert Repeat(5).arguments(["a"])[-2:] == ("--seed", "5")
