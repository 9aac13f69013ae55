"""GitHub: annotations, the summary of the step, and an agent's words that are no commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.cli import main
from tests.cli.conftest import Sweep
from tests.report import sample

pytestmark = pytest.mark.usefixtures("elsewhere")


GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}


def test_github_is_told_in_its_own_way(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name, value in {**GITHUB, "GITHUB_WORKSPACE": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    sweep(sample.passed(), sample.violated())
    Path("summary.md").write_text("of an earlier command\n")
    assert main(["run", "--github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    # Until the annotations, nothing that an agent wrote is taken for a command.
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{32}", lines[0])
    annotation = lines.pop()
    assert lines[-1] == f"::{lines[0].rpartition(':')[2]}::"
    assert annotation.startswith("::error file=")
    assert f"chaos replay chaos-report/failures/{sample.violated().id}.json" in annotation
    summary = Path("summary.md").read_text()
    assert summary.startswith("of an earlier command\n## Killpoint\n")


def test_the_token_is_another_in_each_run(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    sweep(sample.passed())
    tokens = {main(["run", "--github"]) or capsys.readouterr().out.splitlines()[0] for _ in "ab"}
    assert len(tokens) == 2


def test_off_github_there_are_annotations_and_no_more(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name in (*GITHUB, "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    sweep(sample.violated())
    assert main(["run", "--github", "--json", "-"]) == 1
    out, err = capsys.readouterr()
    json.loads(out)
    assert [line for line in err.splitlines() if line.startswith("::")] == [
        line for line in err.splitlines() if line.startswith("::error file=")
    ]


def test_a_summary_that_cannot_be_written_changes_nothing(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "scenarios")
    sweep(sample.passed())
    assert main(["run", "--github"]) == 0
    assert "GITHUB_STEP_SUMMARY=scenarios: cannot be written: Is a dir" in capsys.readouterr().err
