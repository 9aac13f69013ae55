"""`chaos new`: what it writes runs as it is, and nothing is written over."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.scenario import load_scenario
from chaos.target import load_target

ELSEWHERE = ("name", "about", "path", "source", "env", "warm")  # may differ from the built-in one


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def next_command(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The command that was printed last, without the program's name."""
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("next      chaos ")
    return shlex.split(line)[2:]


def test_a_scenario_passes_by_the_command_that_it_names(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "scenario", "ping"]) == 0
    command = next_command(capsys)
    assert command == ["run", "ping.toml", "--launch", "warm"]
    assert main([*command, "--phases", "after"]) == 0
    summary = json.loads((here / "chaos-report" / "report.json").read_text())["summary"]
    assert summary["kills"] > 5
    assert summary["passed"] == summary["schedules"]


def test_a_target_is_taken_by_the_scenario_that_it_names_and_passes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "target", "mine"]) == 0
    command = next_command(capsys)
    assert command == ["new", "scenario", "mine-hello"]
    assert main(command) == 0
    assert load_scenario("mine-hello.toml").target.name == "mine"
    assert main([*next_command(capsys), "--phases", "request"]) == 0


def test_a_target_has_all_that_the_built_in_one_has(here: Path) -> None:
    assert main(["new", "target", "mine"]) == 0
    mine, built_in = load_target("mine", str(here)), load_target("agent", str(here))
    for field in type(mine).__slots__:
        assert field in ELSEWHERE or getattr(mine, field) == getattr(built_in, field), field
    assert mine.env.keys() == built_in.env.keys()


def test_of_several_targets_the_nearest_is_taken_and_the_others_are_named(here: Path) -> None:
    for name in ("alpha", "deployer"):
        assert main(["new", "target", name]) == 0
    assert main(["new", "scenario", "deploy-twice"]) == 0
    assert load_scenario("deploy-twice.toml").target.name == "deployer"
    assert "# other targets here: alpha, agent" in (here / "deploy-twice.toml").read_text()


def test_a_target_that_cannot_be_named_is_not_taken(here: Path) -> None:
    (here / "targets").mkdir()
    for name in ('deploy".toml', "deploy\n.toml"):
        (here / "targets" / name).touch()
    assert main(["new", "scenario", "deploy"]) == 0
    assert load_scenario("deploy.toml").target.name == "agent"


def test_a_folder_may_stand_before_the_name(here: Path) -> None:
    (here / "scenarios").mkdir()
    assert main(["new", "scenario", "scenarios/ping.toml"]) == 0
    assert load_scenario("scenarios/ping.toml").name == "ping"


@pytest.mark.parametrize(
    ("kind", "name", "complaint"),
    [
        ("scenario", "Not_A_Name", "lower-case words joined by '-', found 'Not_A_Name'"),
        ("scenario", "two words", "found 'two words'"),
        ("target", "..", "found '..'"),
        ("target", "", "expected the name of a file or folder"),
        ("scenario", "nowhere/ping", "nowhere: no such folder; make it first: mkdir -p nowhere"),
        ("scenari", "ping", "invalid choice: 'scenari'"),
    ],
)
def test_what_cannot_be_is_refused(
    kind: str, name: str, complaint: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, name]) == 4
    assert complaint in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("kind", ["scenario", "target"])
def test_nothing_is_written_over(kind: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", kind, "mine"]) == 0
    (file,) = here.rglob("mine.toml")
    file.write_text("my work")
    assert main(["new", kind, "mine"]) == 4
    assert "mine.toml: there already" in capsys.readouterr().err
    assert file.read_text() == "my work"


def test_what_is_in_the_way_of_the_folder_is_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "targets").touch()
    assert main(["new", "target", "mine"]) == 4
    assert capsys.readouterr().err.startswith("chaos: targets: there already")


def test_no_half_is_left_of_what_cannot_be_written(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(path: Path, *_: object, **__: object) -> Full:
        path.touch()
        return Full()

    with monkeypatch.context() as full:
        full.setattr(Path, "read_text", lambda *_, **__: "text")
        full.setattr(Path, "open", opened)
        assert main(["new", "scenario", "ping"]) == 4
    assert "ping.toml: cannot be written: No space left" in capsys.readouterr().err
    assert list(here.iterdir()) == []
