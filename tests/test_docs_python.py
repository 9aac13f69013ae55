"""docs/python.md and docs/pytest.md are true: what they show is run, what they list is all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chaos
from chaos.api import Harness
from chaos.api_run import Run, Sweep
from chaos.cli import main
from tests.test_docs_pages import blocks, first_code, rows

ROOT = Path(__file__).resolve().parents[1]
PYTHON_PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
PYTEST_PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^ {4}(pytest [^#\n]+)", PYTEST_PAGE, re.MULTILINE)
FEW = '\n[kill]\npoints = ["log:toolStarted"]\nphases = ["after"]\n'  # what the commands select
LIMIT_S = 120


def run_here(*argv: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *argv],
        capture_output=True,
        text=True,
        env=env,
        timeout=LIMIT_S,
        check=False,
    )


def test_the_examples_of_the_python_page_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "scenario", "deploy"]) == 0
    (tmp_path / "page.py").write_text("".join(blocks(PYTHON_PAGE, "python")))
    done = run_here("-W", "error", "page.py")
    assert done.returncode == 0, done.stderr


def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (scenario,), (program,) = blocks(readme, "toml"), blocks(readme, "python")
    (tmp_path / "ping.toml").write_text(scenario, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = run_here("-W", "error", "program.py")
    assert done.returncode == 0, done.stderr


def test_its_error_is_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "scenario", "deploy"]) == 0
    (said,) = re.findall(r"^ {4}(log:.*never reached.*)$", PYTHON_PAGE, re.MULTILINE)
    with pytest.raises(chaos.UsageError) as caught:
        chaos.run("deploy.toml", "log:toolStartd[bash]#1/after", launch="warm")
    assert str(caught.value) == said


def test_every_public_name_is_on_the_page() -> None:
    words = set(re.findall(r"\w+", PYTHON_PAGE))
    assert [name for name in chaos.__all__ if name not in words] == []
    for kind in (Sweep, Harness):
        public = {name for name in vars(kind) if name[0] != "_"} - {"carry_out", "result"}
        assert public <= words, kind


def test_the_table_has_every_reader_of_a_run_and_no_other() -> None:
    table = PYTHON_PAGE.partition("| reader of a `Run` |")[2].partition("\n\n")[0]
    named = {name for row in rows(table) for name in re.findall(r"`(\w+)(?:\(\))?`", row[0])}
    assert named == {name for name in vars(Run) if name[0] != "_"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one scenario, as `chaos new` writes it, but for a few kills."""
    (tmp_path / "scenarios").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["new", "scenario", "scenarios/deploy"]) == 0
    return tmp_path


def test_the_commands_of_the_pytest_page_are_what_they_say(project: Path) -> None:
    scenario = project / "scenarios" / "deploy.toml"
    scenario.write_text(scenario.read_text() + FEW)
    assert len(COMMANDS) == 6
    for command in COMMANDS:
        words = re.findall(r'"[^"]*"|\S+', command)
        warm = [] if "--chaos-launch" in words else ["--chaos-launch", "warm"]
        done = run_here("-m", *(word.strip('"') for word in words), *warm)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert re.search(r"\b[123] passed", done.stdout), command


def test_the_tests_of_the_pytest_page_pass(project: Path) -> None:
    (project / "test_page.py").write_text(blocks(PYTEST_PAGE, "python")[0])
    done = run_here("-m", "pytest", "test_page.py", "--chaos-launch", "warm", "-W", "error")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_options_are_those_of_the_plugin() -> None:
    told = run_here("-m", "pytest", "--help").stdout
    options = set(re.findall(r"^ +(--chaos-\w+)", told, re.MULTILINE))
    table = PYTEST_PAGE.partition("| option |")[2].partition("\n\n")[0]
    assert options == {first_code(row).split()[0] for row in rows(table) if first_code(row)}
