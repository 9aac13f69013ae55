"""The pytest plugin as a project meets it: pytest runs of its own, in a directory and TMPDIR of
their own, with the plugin loaded as an installed one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from chaos.judge import STATEMENTS

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 120
LAUNCH = ("--chaos-launch", "warm")

DEPLOY = """\
name = "deploy"
about = "One effect."
target.profile = "agent"
files = { "deploy.sh" = 'echo deploy >> "$CHAOS_EFFECTS"' }
kill = { points = ["effect:deploy"], phases = ["before", "after"] }
[[provider.turn]]
tool_calls = [{ name = "bash", arguments = { command = "sh deploy.sh" } }]
[[provider.turn]]
content = "deployed"
"""
PLAIN = """\
name = "plain"
about = "One answer."
target.profile = "agent"
kill = { points = ["provider:1"], phases = ["request"] }
[[provider.turn]]
content = "hello"
"""
EFFECT = "deploy-effect-deploy-1"


class Project:
    """A directory with scenarios, in which pytest is run; what it starts has a TMPDIR to itself."""

    def __init__(self, pytester: pytest.Pytester, tmp: Path) -> None:
        self.pytester, self.here, self.tmp = pytester, pytester.path, tmp
        (self.here / "scenarios" / "targets").mkdir(parents=True)
        self.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")

    def write(self, name: str, text: str) -> None:
        (self.here / name).write_text(text)

    def scenarios(self, profile: str = "agent") -> None:
        """A deployment (of the agent, or of one with a planted bug) and a plain answer."""
        self.write("scenarios/deploy.toml", DEPLOY.replace('"agent"', f'"{profile}"'))
        self.write("scenarios/plain.toml", PLAIN)
        source = (ROOT / "chaos" / "targets" / "agent.toml").read_text()
        self.write(
            "scenarios/targets/planted.toml",
            source.replace('"-m", "agent"', '"-m", "tests.planted", "effect-before-intent"')
            .replace('module = "agent"', 'module = "tests.planted"')
            .replace("rehearsal = ", "rehearsal = []  # ")
            .replace("[env]", f'[env]\nPYTHONPATH = "{ROOT}"'),
        )

    def __call__(self, *argv: str, code: int = 0) -> str:
        """What a run prints; it leaves nothing behind."""
        done = self.pytester.runpytest_subprocess(*LAUNCH, *argv, timeout=LIMIT_S)
        told = f"{done.stdout}\n{done.stderr}"
        assert done.ret == code, told
        assert self.left_behind() == []
        return told

    def left_behind(self) -> list[str]:
        """Files and processes of runs of this TMPDIR."""
        return [*map(str, self.tmp.iterdir()), *map(str, self.processes())]

    def processes(self) -> Iterator[psutil.Process]:
        me = os.getpid()
        for process in psutil.process_iter():
            try:
                words = (*process.cmdline(), *process.environ().values())
                alive = process.status() != psutil.STATUS_ZOMBIE and process.pid != me
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            if alive and any(str(self.tmp) in word for word in words):
                yield process


@pytest.fixture
def project(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """Unlike pytest's own, the temporary directory here has no files of pytest in it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "99")
    made = Project(pytester, tmp_path)
    yield made
    for process in made.processes():  # of a failed test
        process.kill()


# --- scenarios as tests --------------------------------------------------------------------------


def test_a_test_for_each_kill_point_and_one_for_none(project: Project) -> None:
    project.scenarios()
    told = project("scenarios", "-v")
    assert "scenarios/deploy.toml::deploy-baseline PASSED" in told
    for ident in (f"{EFFECT}-before", f"{EFFECT}-after"):
        assert f"scenarios/deploy.toml::{ident} PASSED" in told
    assert "scenarios/plain.toml::plain-provider-1-request PASSED" in told
    assert "5 passed" in told


def test_a_test_is_named_and_selected_as_any_other(project: Project) -> None:
    project.scenarios()
    assert "3 passed" in project("scenarios", "-k", "effect or plain-baseline")
    one = project(f"scenarios/deploy.toml::{EFFECT}-after", "-v")
    assert f"{EFFECT}-after PASSED" in one
    assert "1 passed" in one
    assert "1 passed" in project("scenarios/deploy.toml", "-k", "effect", "--chaos-phases", "after")


@pytest.mark.parametrize("where", ["at a desk", "in CI", "by a worker in CI"])
def test_a_failure_is_the_explanation_of_chaos_and_no_traceback(
    project: Project, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """In CI pytest cuts nothing in its summary: more than a line would be there twice."""
    project.scenarios("planted")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    if where != "at a desk":
        monkeypatch.setenv("CI", "true")
    workers = ("-n", "1") if where == "by a worker in CI" else ()
    told = project("scenarios", "-k", "deploy-baseline", *workers, code=1)
    assert "1 failed" in told
    assert told.count("VIOLATION  deploy-") == 1
    assert told.count("  again     pytest scenarios/deploy.toml::deploy-") == 1
    assert "pytest_plugin.py" not in told
    line = r"^FAILED scenarios/deploy\.toml::deploy-\S+ - (E\d .*)\n(?!VIOLATION)"
    (headline,) = re.findall(line, told, re.MULTILINE)
    if where != "at a desk":
        assert headline == f"E1 {STATEMENTS['E1']}"


def test_the_command_is_for_the_directory_in_which_pytest_was_called(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.scenarios("planted")
    monkeypatch.chdir(project.here / "scenarios")
    told = project("deploy.toml", "-x", "--chaos-phases", "after", code=1)
    (again,) = re.findall("^  again     pytest (.*)", told, re.MULTILINE)
    assert again.startswith("deploy.toml::deploy-")
    assert again.endswith(" --chaos-launch warm --chaos-phases after")
    assert "1 failed" in project(*again.split(), code=1)


def test_the_last_failures_are_run_again_alone(project: Project) -> None:
    project.scenarios("planted")
    first = project("scenarios", "-k", "baseline or effect", code=1)
    failed = re.findall(r"^FAILED (\S+)", first, re.MULTILINE)
    assert failed
    again = project("scenarios", "--lf", "-v", code=1)
    assert sorted(re.findall(r"^FAILED (\S+)", again, re.MULTILINE)) == sorted(failed)
    assert "passed" not in again.splitlines()[-1]


def test_workers_of_xdist_share_the_tests(project: Project) -> None:
    project.scenarios()
    project.scenarios("planted")
    told = project("scenarios", "-n", "2", "-v", code=1)
    assert "2 passed" in told
    assert {"gw0", "gw1"} <= set(re.findall(r"\[(gw\d)\]", told))
    assert "VIOLATION  deploy-effect-deploy-1-" in told
    assert "  again     pytest scenarios/deploy.toml::deploy-effect" in told


def test_what_proves_nothing_is_no_pass(project: Project) -> None:
    """The kill of this schedule is never reached: it would be green if anything could."""
    project.write(
        "missed.toml",
        PLAIN.replace('"plain"', '"missed"').replace(
            re.search("kill = .*", PLAIN)[0],  # type: ignore[index]
            'kill = { schedule = "run: log:nowhere#1/after" }',
        ),
    )
    told = project("missed.toml", code=1)
    assert "INCONCLUSIVE" in told
    assert "log:nowhere#1/after was never reached" in told
    assert "1 failed, 1 passed" in told


# --- what is collected ---------------------------------------------------------------------------


def test_a_wrong_scenario_is_an_error_of_collection_by_the_words_of_chaos(project: Project) -> None:
    project.write("scenarios/wrong.toml", PLAIN.replace("about", "abuot"))
    project.write("scenarios/broken.toml", PLAIN + "]")
    told = project("scenarios", code=2)
    assert "wrong.toml:2: unknown key 'abuot'; did you mean 'about'?" in told
    assert re.search(r"broken\.toml:\d+: not valid TOML", told)
    assert "Traceback" not in told
    assert "2 errors" in told


def test_only_what_is_named_is_collected(project: Project) -> None:
    """A scenario starts programs: none is run because it lies about."""
    project.scenarios()
    project.write("scenarios/pyproject.toml", "[tool.x]\ntarget = 1\n")
    project.write("scenarios/targets/no-scenario.toml", PLAIN)
    project.write("test_mine.py", "def test_mine(): pass\n")
    for argv in ((), (".",), ("test_mine.py",), (str(project.here),)):
        assert "1 passed" in project(*argv)
    assert "5 tests collected" in project("--collect-only", "scenarios")
    assert "3 tests collected" in project("--collect-only", "scenarios/deploy.toml")


def test_a_file_that_is_named_is_meant(project: Project) -> None:
    project.write("other.toml", "[tool.x]\ntarget = 1\n")
    assert "other.toml:1: unknown key 'tool'" in project("other.toml", code=2)


def test_a_link_that_leads_to_itself_is_left_to_pytest(project: Project) -> None:
    (project.here / "loop").symlink_to("loop")
    assert "file or directory not found: loop" in project("loop", code=4)


def test_without_a_scenario_nothing_of_chaos_is_imported(project: Project) -> None:
    project.write(
        "test_mine.py",
        "import sys\n"
        "def test_mine(request):\n"
        "    assert {m for m in sys.modules if m.startswith('chaos')} == "
        "{'chaos', 'chaos.pytest_plugin'}\n"
        "    names = [name for name, _ in request.config.pluginmanager.list_name_plugin()]\n"
        "    assert [name for name in names if 'killpoint' in name] == ['killpoint']\n",
    )
    assert "1 passed" in project()


def test_options_are_checked(project: Project) -> None:
    assert "unknown phase 'aftr'" in project("--chaos-phases", "aftr", code=4)
    assert "invalid choice: 'hot'" in project("--chaos-launch", "hot", code=4)


# --- the fixture ---------------------------------------------------------------------------------

MINE = """\
from chaos import after, before

DEPLOY = "scenarios/deploy.toml"

def test_green(chaos):
    run = chaos.run(DEPLOY, kill=after("toolStarted", tool="bash")).check()
    assert run.effects() == []

def test_red(chaos):
    run = chaos.run(DEPLOY, kill=after("effect:deploy"))
    assert run.effects() == ["deploy", "deploy"]

def test_another(chaos):
    assert chaos is None
"""


def test_the_fixture_is_a_harness_and_a_red_test_shows_its_last_run(project: Project) -> None:
    project.scenarios()
    project.write("test_mine.py", MINE)
    told = project("test_mine.py", code=1)
    assert "2 failed, 1 passed" in told
    assert "assert ['deploy'] == ['deploy', 'deploy']" in told
    (section,) = re.findall(r"^-+ chaos: the last run -+\n(.*)$", told, re.MULTILINE)
    assert section == "PASS  deploy-effect-deploy-1-after"


def test_a_check_that_fails_is_the_explanation(project: Project) -> None:
    project.scenarios("planted")
    project.write("test_mine.py", MINE.replace("before", "before, request", 1))
    told = project("test_mine.py", "-k", "green", code=1)
    assert "E       chaos.api_run.NotPassed: VIOLATION  deploy-log-toolStarted-bash-1-after" in told
    assert "chaos: the last run" not in told
    assert "def check" not in told


# --- the end -------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_an_interruption_ends_everything(workers: tuple[str, ...], project: Project) -> None:
    project.write("long.toml", re.sub("^kill = .*", "", DEPLOY, flags=re.MULTILINE))
    started = project.pytester.popen(
        [sys.executable, "-m", "pytest", "long.toml", "-v", *LAUNCH, *workers],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert started.stdout is not None
    told = b""
    for line in started.stdout:
        told += line
        if b"PASSED" in line:
            os.killpg(started.pid, signal.SIGINT)  # as a terminal does
            break
    told += started.communicate(timeout=LIMIT_S)[0]
    assert started.returncode == pytest.ExitCode.INTERRUPTED, told
    assert b"KeyboardInterrupt" in told
    assert project.left_behind() == []
