"""The Python API as a program uses it: one run, one sweep, and what they leave to assert on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import chaos
from chaos import (
    Harness,
    HarnessError,
    NotPassed,
    Scenario,
    Schedule,
    UsageError,
    Verdict,
    after,
    before,
    load_scenario,
    replay,
    request,
    torn,
    vary,
)
from chaos.options import Silent
from chaos.report.failure import Failure, write_failure
from chaos.results import ScheduleResult
from tests.library import scenario_file

DEPLOY = scenario_file("deploy-is-never-repeated")
COMPACT = scenario_file("compact-once")


@pytest.fixture(scope="module")
def harness() -> Iterator[Harness]:
    with Harness(launch="warm") as made:
        yield made


def never() -> Scenario:
    """A scenario that is broken by any deployment."""
    scenario = load_scenario(DEPLOY)
    return vary(scenario, name="never", expect={"effects": {"deploy": "never"}})


# --- readers -------------------------------------------------------------------------------------


def test_a_run_tells_what_it_left(harness: Harness) -> None:
    run = harness.run(DEPLOY, kill=after("toolStarted", tool="bash"))
    assert run.check() is run
    assert (run.verdict, run.violations) == (Verdict.PASS, ())
    assert run.schedule == "run: log:toolStarted[bash]#1/after"

    killed, resumed = run.launches
    assert (killed.role, killed.signal, killed.exit_code) == ("run", 9, None)
    assert (resumed.role, resumed.signal, resumed.exit_code) == ("resume", None, 0)

    assert run.facts(killed)[-1].type == "toolStarted"
    assert run.facts()[-1].type == "operationFinished"
    assert run.log().startswith(run.log(killed))
    (result,) = (fact for fact in run.facts() if fact.type == "toolResult")
    assert result.body["result"]["reason"] == "interrupted"

    assert run.effects() == []
    assert [request["messages"][-1]["role"] for request in run.requests()] == ["user", "tool"]
    assert run.requests(killed) == run.requests()[:1]
    assert run.files() == run.files(killed)
    assert run.files().keys() == {"deploy.sh"}
    assert "interrupted" in run.stderr()
    assert "interrupted" not in run.stderr(killed)
    assert run.stdout().strip()
    assert "log:toolStarted[bash]#1" in run.explain()


def test_the_probe_turn_is_judged_and_not_told(harness: Harness) -> None:
    run = harness.run(DEPLOY)
    assert run.effects() == ["deploy"]
    assert [launch.role for launch in run.launches] == ["run"]
    assert [launch.role for launch in run.evidence.launches] == ["run", "idle", "probe"]


def test_a_broken_rule_is_an_assertion_that_fails_with_the_explanation(harness: Harness) -> None:
    run = harness.run(never(), kill=after("effect:deploy"))
    assert run.verdict is Verdict.VIOLATION
    assert [violation.id for violation in run.violations] == ["E2"]
    assert repr(run) == "<Run 'run: effect:deploy#1/after': VIOLATION E2>"
    with pytest.raises(NotPassed) as caught:
        run.check()
    assert str(caught.value) == run.explain()
    assert caught.value.headline.startswith("E2 an effect")
    assert isinstance(caught.value, AssertionError)


# --- kills ---------------------------------------------------------------------------------------


def test_points_are_listed_as_they_are_taken(harness: Harness) -> None:
    points = harness.kill_points(DEPLOY)
    assert {"log:header#1", "log:toolStarted[bash]#1", "effect:deploy#1", "provider:2"} <= {*points}
    assert str(after(points[0])) == f"{points[0]}/after"


def test_kills_in_sequence_are_a_crash_of_a_crash(harness: Harness) -> None:
    kills = [after("toolStarted", tool="bash"), before("toolResult"), after("toolResult")]
    run = harness.run(DEPLOY, kill=kills).check()
    assert run.schedule == (
        "run: log:toolStarted[bash]#1/after; resume: log:toolResult#1/before; "
        "resume: log:toolResult#1/after"
    )
    assert [launch.killed for launch in run.launches] == [True, True, True, False]


def test_a_schedule_tells_roles_as_they_were(harness: Harness) -> None:
    """After a header the prompt is not accepted yet, so the run itself is made again."""
    run = harness.run(DEPLOY, kill=[after("header"), request(1)])
    assert run.schedule == "run: log:header#1/after; run: provider:1/request"
    assert run.evidence.schedule == run.schedule


def test_a_point_is_tried_in_the_launch_that_has_it(harness: Harness) -> None:
    """A list says which launch is meant, where several have it."""
    run = harness.run(COMPACT, kill=after("compactionStarted")).check()
    assert run.schedule.endswith("run: none; compact: log:compactionStarted#1/after")
    assert [launch.role for launch in run.launches][3:] == ["compact", "resume", "run"]

    first = harness.run(COMPACT, kill=after("runStarted")).launches
    assert [launch.killed for launch in first].index(True) == 0
    second = harness.run(COMPACT, kill=[None, after("runStarted")]).launches
    assert [launch.killed for launch in second].index(True) == 1


def test_a_schedule_is_taken_as_failures_print_it(harness: Harness) -> None:
    text = "run: log:toolStarted[bash]#1/after; resume*2: none"
    run = harness.run(DEPLOY, kill=Schedule.parse(text)).check()
    assert run.schedule == text


@pytest.mark.parametrize(
    ("kill", "complaint"),
    [
        (
            after("toolStartd", tool="bash"),
            "launch 1 (run), exit code 0; did you mean 'log:toolStarted[bash]#1'?",
        ),
        (after("toolStarted", tool="bash", nth=2), "did you mean 'log:toolStarted[bash]#1'?"),
        (request(9), "did you mean 'provider:2'?"),
        (after("effect:undeploy"), "did you mean 'effect:deploy#1'?"),
        (
            [after("header"), after("header")],
            "log:header#1/after was never reached: launch 2 (run), exit code 0; known here: effect",
        ),
        (
            [after("operationFinished"), None, None, after("header")],
            "of launch 4 was never reached: launch 2 (resume) was the last",
        ),
        (b"log:header#1/after", "not a kill point: 108; write for example after('toolStarted'"),
        ("log:nope", "not a kill point: 'log:nope'; write for example"),
        (Schedule.parse("run: log:foo#1/after"), "log:foo#1/after was never reached"),
        (Schedule.parse("damage: cut@4; run: none"), "comes before the first launch"),
    ],
)
def test_a_kill_that_is_not_reached_is_an_error_that_names_the_nearest(
    kill: object, complaint: str, harness: Harness
) -> None:
    with pytest.raises(UsageError) as caught:
        harness.run(DEPLOY, kill=kill)  # type: ignore[arg-type]
    assert complaint in str(caught.value)


def test_a_write_cannot_be_torn_beyond_its_end(harness: Harness) -> None:
    with pytest.raises(HarnessError, match="choose a count between 1 and"):
        harness.run(DEPLOY, kill=torn("assistant", at=99_999))


# --- sweeps and failures -------------------------------------------------------------------------


def test_a_sweep_is_that_of_the_command_line(harness: Harness) -> None:
    sweep = harness.sweep(DEPLOY, phases=["after"]).check()
    assert [result.id for result in sweep.schedules][:2] == [
        "deploy-is-never-repeated-baseline",
        "deploy-is-never-repeated-log-header-1-after",
    ]
    assert sweep.failures == ()
    assert sweep.closure.wanted == 1
    assert list(sweep.points) == harness.kill_points(DEPLOY)
    assert len(harness.schedules(DEPLOY, phases=["after"])) == len(sweep.schedules)


def test_a_sweep_that_fails_explains_the_first_and_counts(harness: Harness) -> None:
    sweep = harness.sweep(never(), phases=["request"])
    assert {run.verdict for run in sweep.failures} == {Verdict.VIOLATION}
    assert all(run.evidence.launches for run in sweep.failures)
    with pytest.raises(NotPassed) as caught:
        sweep.check()
    count = len(sweep.schedules)
    assert str(caught.value).endswith(
        f"\n{len(sweep.failures)} of {count} schedules did not pass\n"
    )


def test_what_cannot_be_swept_is_refused(harness: Harness) -> None:
    with pytest.raises(UsageError, match="depth: expected 1 or more, or 'closure', found 0"):
        harness.sweep(DEPLOY, depth=0)
    with pytest.raises(UsageError, match="unknown phase 'aftr'"):
        harness.sweep(DEPLOY, phases=["aftr"])
    with pytest.raises(UsageError, match="depth: expected 1 or more, or 'closure', found None"):
        harness.sweep(DEPLOY, depth=None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"phases: expected some of before, .*, found none"):
        harness.sweep(DEPLOY, phases=[])
    with pytest.raises(UsageError, match="faults='signal' has no depth"):
        harness.sweep(DEPLOY, faults="signal", depth=2)
    with pytest.raises(UsageError, match="launch: expected one of exec, warm, found 'hot'"):
        Harness(launch="hot")
    with pytest.raises(UsageError, match="jobs: expected 1 or more, found '2'"):
        Harness(jobs="2")  # type: ignore[arg-type]


def test_a_failure_file_runs_again(harness: Harness, tmp_path: Path) -> None:
    scenario = never()
    run = harness.run(scenario, kill=after("effect:deploy"))
    file = tmp_path / "failure.json"
    write_failure(Failure.of(scenario, run.result, "warm", 0), file)
    again = replay(file)
    assert (again.schedule, again.verdict) == (run.schedule, run.verdict)
    with pytest.raises(NotPassed, match=f"chaos replay {file}"):
        again.check()


# --- where it runs -------------------------------------------------------------------------------


def test_it_may_be_called_from_any_thread(harness: Harness) -> None:
    made: list[chaos.Run] = []
    threads = [
        threading.Thread(target=lambda: made.append(harness.run(DEPLOY, kill=request(2))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [run.verdict for run in made] == [Verdict.PASS, Verdict.PASS]


def test_a_fork_has_lanes_of_its_own_and_leaves_those_of_its_parent_alone() -> None:
    script = """
import os, sys
from chaos import Harness, request
with Harness(launch="warm") as harness:
    deploy = sys.argv[1]
    harness.run(deploy, kill=request(1))
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
    harness.run(deploy, kill=request(1)).check()
"""
    subprocess.run([sys.executable, "-c", script, str(DEPLOY)], check=True, timeout=60)


def test_a_closed_harness_leaves_nothing_and_opens_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    harness = Harness(launch="warm")
    harness.kill_points(DEPLOY)
    assert list(tmp_path.iterdir())
    harness.close()
    assert list(tmp_path.iterdir()) == []
    assert harness.run(DEPLOY, kill=request(1)).verdict is Verdict.PASS
    harness.close()
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_nothing_and_the_harness_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes while another schedule is being carried out."""

    class Interrupts(Silent):
        def schedule_done(self, name: str, result: ScheduleResult) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Harness(launch="warm", jobs=2) as harness:
        with monkeypatch.context() as during:
            during.setattr("chaos.api.Silent", Interrupts)
            with pytest.raises(KeyboardInterrupt):
                harness.sweep(DEPLOY)
        assert list(tmp_path.iterdir()) == []
        assert harness.run(DEPLOY, kill=request(1)).verdict is Verdict.PASS
    assert list(tmp_path.iterdir()) == []


def test_the_run_without_a_kill_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with Harness(launch="warm") as harness:
        points = harness.kill_points(DEPLOY)
        monkeypatch.setattr("chaos.api.Pool.baseline", None)
        assert harness.kill_points(vary(load_scenario(DEPLOY), kill={"phases": ["after"]}))
        assert harness.kill_points(DEPLOY) == points
        assert harness.run(DEPLOY, kill=request(1)).verdict is Verdict.PASS


def test_to_import_chaos_is_cheap_and_every_name_is_there() -> None:
    """The names that a type checker sees, that `dir` lists and that can be had are the same."""
    told = subprocess.run(
        [sys.executable, "-c", "import sys, chaos; print(*(m for m in sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [m for m in told.stdout.split() if m.startswith("chaos.")] == []
    assert {name for name in chaos.__all__ if getattr(chaos, name)} == {*chaos.__all__}
    assert {*chaos.__all__} <= {*dir(chaos)}
    assert set(chaos._MODULE_OF) == {*chaos.__all__}
    with pytest.raises(AttributeError, match="no attribute 'afte'"):
        chaos.afte  # noqa: B018
