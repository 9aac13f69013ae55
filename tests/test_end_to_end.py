"""The whole, as a user runs it: the command line, real processes, and nothing left behind.

Every run gets a TMPDIR of its own, so whatever it starts or writes can be found by that name.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tenacity import RetryError, Retrying, stop_after_delay, wait_fixed

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = ROOT / "scenarios" / "calls"
CHAOS = [sys.executable, "-m", "chaos"]


class Chaos:
    """Runs the command line in a directory and a TMPDIR of its own."""

    def __init__(self, home: Path) -> None:
        self.here = home / "here"
        self.tmp = home / "tmp"
        self.started: list[subprocess.Popen[str]] = []
        self.here.mkdir()
        self.tmp.mkdir()
        self.env = {**os.environ, "TMPDIR": str(self.tmp), "PYTHONPATH": str(ROOT)}

    def __call__(self, *argv: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*CHAOS, *map(str, argv)],
            capture_output=True,
            text=True,
            cwd=cwd or self.here,
            env=self.env,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert self.left_behind() == []
        return done

    def start(self, *argv: object) -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [*CHAOS, *map(str, argv)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.here,
            env=self.env,
            start_new_session=True,
        )
        self.started.append(started)
        return started

    def left_behind(self) -> list[str]:
        """Processes and files that belong to runs of this TMPDIR."""
        files = [str(path) for path in self.tmp.iterdir()]
        return files + [str(process) for process in self.processes()]

    def processes(self, word: str = "") -> list[psutil.Process]:
        """Those of runs of this TMPDIR, with `word` in their command line."""
        found = []
        for process in psutil.process_iter():
            try:
                argv = process.cmdline()
                ours = any(str(self.tmp) in w for w in (*argv, *process.environ().values()))
                alive = process.status() != psutil.STATUS_ZOMBIE
                if ours and alive and word in " ".join(argv):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def json(self, *argv: object, code: int = 0) -> dict[str, Any]:
        done = self("run", *argv, "--json", "-")
        assert done.returncode == code, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report


@pytest.fixture
def chaos(tmp_path: Path) -> Iterator[Chaos]:
    runner = Chaos(tmp_path)
    yield runner
    for process in runner.processes():  # of a failed test
        process.kill()
    for started in runner.started:
        started.communicate()


@pytest.fixture
def planted(chaos: Chaos) -> Path:
    """A scenario file whose target runs a tool before it has said so."""
    targets = chaos.here / "targets"
    targets.mkdir()
    profile = (ROOT / "chaos" / "targets" / "agent.toml").read_text()
    (targets / "planted.toml").write_text(
        profile.replace('"-m", "agent"', '"-m", "tests.planted", "effect-before-intent"')
        .replace('module = "agent"', 'module = "tests.planted"')
        .replace("[env]", f'[env]\nPYTHONPATH = "{ROOT}"')
    )
    text = (SCENARIOS / "deploy-is-never-repeated.toml").read_text()
    scenario = chaos.here / "planted.toml"
    scenario.write_text(text.replace('profile = "agent"', 'profile = "planted"'))
    return scenario


def until(happened: Any, limit_s: float = 10) -> None:
    """Wait for the event, bounded. Raises RetryError."""
    for attempt in Retrying(stop=stop_after_delay(limit_s), wait=wait_fixed(0.01)):
        with attempt:
            assert happened()


def test_every_kill_of_a_fresh_process_is_proven_exact(chaos: Chaos) -> None:
    report = chaos.json(SCENARIOS / "plain-answer.toml", "--phases", "before,after")
    summary = report["summary"]
    assert summary["kills"] == summary["exact"] == 10
    assert summary["passed"] == summary["schedules"] == 11
    assert report["scenarios"][0]["points"] == [
        "log:header#1",
        "log:runStarted#1",
        "log:stepAttempt#1",
        "provider:1",
        "log:assistant#1",
        "log:operationFinished#1",
    ]


def test_results_do_not_depend_on_the_number_of_jobs(chaos: Chaos) -> None:
    def verdicts(jobs: int) -> object:
        report = chaos.json(SCENARIOS / "plain-answer.toml", "--launch", "warm", "--jobs", jobs)
        assert report["summary"]["kills"] == report["summary"]["exact"] == 29
        (scenario,) = report["scenarios"]
        return scenario["closure"], [(s["id"], s["verdict"]) for s in scenario["schedules"]]

    assert verdicts(1) == verdicts(8)


def test_warm_and_exec_give_the_same_verdicts(chaos: Chaos) -> None:
    def verdicts(launch: str) -> object:
        report = chaos.json(
            SCENARIOS / "safe-read-is-replayed.toml", "--launch", launch, "--phases", "after"
        )
        (scenario,) = report["scenarios"]
        return scenario["closure"], [(s["id"], s["verdict"]) for s in scenario["schedules"]]

    assert verdicts("warm") == verdicts("exec")


def test_saved_evidence_is_judged_again(chaos: Chaos) -> None:
    chaos.json(SCENARIOS / "plain-answer.toml", "-k", "assistant", "--keep", "--report", "kept")
    again = chaos("judge", "kept")
    assert again.returncode == 0, again.stdout + again.stderr

    # The proof is recomputed: a death by another signal is not the kill that was promised.
    for path in (chaos.here / "kept").rglob("evidence.json"):
        value = json.loads(path.read_text())
        for event in value["events"]:
            if event["kind"] == "Kill":
                event["wait_status"] = int(signal.SIGTERM)
        path.write_text(json.dumps(value))
    forged = chaos("judge", "kept")
    assert forged.returncode == 3
    assert "INCONCLUSIVE" in forged.stdout
    assert "expected a death by signal 9" in forged.stdout


def test_a_failure_replays_at_the_first_try_from_any_directory(
    chaos: Chaos, planted: Path, tmp_path: Path
) -> None:
    report = chaos.json(planted, "-k", "baseline or toolStarted", "--launch", "warm", code=1)
    failed = [s for s in report["scenarios"][0]["schedules"] if s["verdict"] == "VIOLATION"]
    kill = next(s for s in failed if "torn" in s["id"])
    broken = sorted({violation["id"] for violation in kill["violations"]})
    assert "E1" in broken

    planted.unlink()  # the failure carries its scenario and target with it
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    again = chaos("replay", chaos.here / kill["artifact"], cwd=elsewhere)
    assert again.returncode == 1, again.stdout + again.stderr
    assert all(ident in again.stdout for ident in broken)


def test_a_point_that_is_never_reached_is_inconclusive(chaos: Chaos, planted: Path) -> None:
    chaos.json(planted, "-k", "toolResult and after", "--launch", "warm", code=1)
    (file,) = (chaos.here / "chaos-report" / "failures").glob("*.json")
    failure = json.loads(file.read_text())
    sound = failure["target"]["source"].replace(
        '"tests.planted", "effect-before-intent"', '"agent"'
    )
    failure["target"]["source"] = sound.replace('module = "tests.planted"', 'module = "agent"')
    failure["schedule"] = ["run: log:toolStarted[bash]#9/after"]
    file.write_text(json.dumps(failure))
    done = chaos("replay", file)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "INCONCLUSIVE" in done.stdout
    assert "log:toolStarted[bash]#9/after" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_gives_a_partial_report(chaos: Chaos, number: signal.Signals) -> None:
    run = chaos.start("run", SCENARIOS, "--jobs", "2", "--report", "partial")
    until(lambda: len(chaos.processes()) >= 5)  # supervisor, janitor, two lanes, a target
    os.killpg(run.pid, number)
    os.killpg(run.pid, number)  # some runners say it twice
    out, err = run.communicate(timeout=20)
    assert run.returncode == 2, out + err
    assert "Traceback" not in err
    assert json.loads((chaos.here / "partial" / "report.json").read_text())["interrupted"] is True
    until(lambda: chaos.left_behind() == [])


@pytest.mark.parametrize("launch", ["exec", "warm"])
def test_sigkill_of_the_harness_leaves_nothing(chaos: Chaos, launch: str) -> None:
    run = chaos.start("run", SCENARIOS, "--jobs", "2", "--launch", launch)
    until(lambda: len(chaos.processes()) >= 5)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=20)
    try:
        until(lambda: chaos.left_behind() == [])
    except RetryError:
        pytest.fail(f"left behind: {chaos.left_behind()}")


def test_a_lane_killed_in_mid_sweep_changes_nothing(chaos: Chaos) -> None:
    run = chaos.start("run", SCENARIOS / "plain-answer.toml", "--jobs", "2", "--json", "-")
    until(lambda: len(chaos.processes()) >= 5)
    next(p for p in chaos.processes("lane_process")).kill()
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0, out + err
    report = json.loads(out)
    assert report["summary"]["passed"] == report["summary"]["schedules"] == 30
    assert chaos.left_behind() == []


def test_a_target_that_kills_its_parents_fails_alone(chaos: Chaos) -> None:
    agent = chaos.here / "killer.py"
    agent.write_text("import os\nos.kill(os.getppid(), 9)\n")
    targets = chaos.here / "targets"
    targets.mkdir()
    profile = (ROOT / "chaos" / "targets" / "agent.toml").read_text()
    (targets / "killer.toml").write_text(profile.replace('"-m", "agent"', f'"{agent}"'))
    text = (SCENARIOS / "plain-answer.toml").read_text()
    text = text.replace('profile = "agent"', 'profile = "killer"')
    (chaos.here / "killer.toml").write_text(text.replace('"plain-answer"', '"killer"'))
    done = chaos("run", SCENARIOS / "plain-answer.toml", "killer.toml", "--phases", "after")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "a worker process of the harness died twice" in done.stdout
    assert "6 passed" in done.stdout


def test_a_target_that_does_not_start_shows_its_last_lines(chaos: Chaos) -> None:
    targets = chaos.here / "targets"
    targets.mkdir()
    profile = (ROOT / "chaos" / "targets" / "agent.toml").read_text()
    (targets / "broken.toml").write_text(profile.replace('"-m", "agent"', '"-m", "no_such_agent"'))
    text = (SCENARIOS / "plain-answer.toml").read_text()
    scenario = chaos.here / "broken.toml"
    scenario.write_text(text.replace('profile = "agent"', 'profile = "broken"'))
    for command in ("run", "points"):
        done = chaos(command, scenario)
        assert done.returncode == 4
        assert "found none in the run without a kill (exit code 1)" in done.stderr
        assert "No module named no_such_agent" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{ deploy =", "{ deplyo =", "effect 'deplyo' is expected at-most-once, but never happens"),
        ("[expect]", '[kill]\npoints = ["log:toolStartd"]\n[expect]', "no such point in the run"),
    ],
)
def test_a_scenario_that_would_test_nothing_is_refused(
    chaos: Chaos, old: str, new: str, told: str
) -> None:
    text = (SCENARIOS / "deploy-is-never-repeated.toml").read_text()
    assert old in text
    scenario = chaos.here / "wrong.toml"
    scenario.write_text(text.replace(old, new))
    done = chaos("run", scenario, "--launch", "warm")
    assert done.returncode == 4
    assert told in done.stderr


def test_a_log_in_another_dialect_is_told(chaos: Chaos) -> None:
    agent = chaos.here / "other.py"
    agent.write_text(
        "import pathlib\n"
        "log = pathlib.Path('.agent/sessions/s.jsonl')\n"
        "log.parent.mkdir(parents=True)\n"
        'log.write_text(\'{"role": "user"}\\n\')\n'
    )
    targets = chaos.here / "targets"
    targets.mkdir()
    profile = (ROOT / "chaos" / "targets" / "agent.toml").read_text()
    (targets / "other.toml").write_text(profile.replace('"-m", "agent"', f'"{agent}"'))
    text = (SCENARIOS / "plain-answer.toml").read_text()
    (chaos.here / "s.toml").write_text(text.replace('profile = "agent"', 'profile = "other"'))
    done = chaos("run", "s.toml")
    assert done.returncode == 4
    assert "whose first line is its header, found" in done.stderr


def test_doctor_finds_this_machine_fit(chaos: Chaos) -> None:
    assert chaos("doctor").returncode == 0
