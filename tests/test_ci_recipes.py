"""The recipes of docs/ci.md: their commands parse, and git bisect finds the broken commit."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.cli.parser import parse
from tests.library import scenario_file

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^ +- (?:run: )?(chaos .*)$", PAGE, re.MULTILINE)
RUN = re.search(r"^git bisect run (.*)$", PAGE, re.MULTILINE)

SOUND, DEAD = "", "sys.exit('not here')"
BROKEN = "SYNTHETIC_TEXT['interrupted'] += '!'"
HISTORY = (SOUND, DEAD, SOUND, BROKEN, BROKEN, BROKEN)
FIRST_BAD = 3
PROGRAM = """\
import sys
sys.path.insert(0, {root!r})
from agent.cli import main
from agent.facts import SYNTHETIC_TEXT
{line}
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_a_recipe_is_one(command: str) -> None:
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}", "1", command))[1:]
    assert parse(words).command in ("run", "doctor")


def git(repository: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *words], cwd=repository, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_git_bisect_finds_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that one commit broke, and another one, which says nothing, did not even start."""
    assert RUN is not None
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet")
    commits = [commit(repository, line) for line in HISTORY]
    failure = failure_at_head(tmp_path, repository / "program.py")
    git(repository, "bisect", "start", commits[-1], commits[0])
    run = shlex.split(RUN[1].replace("failure.json", str(failure)))
    told = git(repository, "bisect", "run", *run)
    assert git(repository, "rev-parse", "refs/bisect/bad") == commits[FIRST_BAD], told


def commit(repository: Path, line: str) -> str:
    program = repository / "program.py"
    program.write_text(PROGRAM.format(root=str(ROOT), line=line), encoding="utf-8")
    git(repository, "add", "program.py")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", line or "sound")
    return git(repository, "rev-parse", "HEAD")


def failure_at_head(folder: Path, program: Path) -> Path:
    """What a sweep of the broken program saves."""
    (folder / "targets").mkdir()
    profile = (ROOT / "chaos" / "targets" / "agent.toml").read_text(encoding="utf-8")
    profile = profile.replace('"-m", "agent"', f'"{program}"').partition("[warm]")[0]
    (folder / "targets" / "agent.toml").write_text(profile, encoding="utf-8")
    scenario = scenario_file("deploy-is-never-repeated")
    shutil.copyfile(scenario, folder / "deploy.toml")
    words = ["run", "deploy.toml", "-k", "toolStarted-bash-1-after"]
    done = subprocess.run(["chaos", *words], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 1, done.stdout
    (failure,) = (folder / "chaos-report" / "failures").glob("*.json")
    return failure
