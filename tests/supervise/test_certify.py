"""`chaos certify` on a small agent with its session in SQLite: sound, and with a fault."""

from __future__ import annotations

import json
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import Any

import pytest

from chaos.cli import main
from chaos.supervise import certify as certify_module
from chaos.supervise.pools import Pool
from chaos.supervise.standard import standard_course
from chaos.target import load_target
from tests.planted.support import ROOT

SQLITE = f"""
name = "small"
about = "A small agent with its session in SQLite."
dialect = "opaque"
durable = ["~/.sqlite-agent/session.db", "~/.sqlite-agent/session.db-wal"]
version = ["{{python}}", "-c", "print('small 7')"]
[commands]
run = ["{{python}}", "{ROOT}/tests/programs/sqlite_agent.py", "run", "{{prompt}}"]
resume = ["{{python}}", "{ROOT}/tests/programs/sqlite_agent.py", "resume"]
[env]
MODEL_URL = "{{base_url}}"
KEY = "{{api_key}}"
FAULT = "%s"
[exit_codes]
completed = 0
[shell]
tool = "sh"
"""


def certify(tmp_path: Path, fault: str, budget: str = "8s") -> tuple[int, dict[str, Any]]:
    file, table = tmp_path / "small.toml", tmp_path / "table.json"
    file.write_text(SQLITE % fault, encoding="utf-8")
    options = ["--budget", budget, "--jobs", "2", "--report", str(tmp_path / "report")]
    code = main(["certify", str(file), *options, "--json", str(table)])
    told: dict[str, Any] = json.loads(table.read_text(encoding="utf-8"))
    return code, told


def test_a_sound_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = certify(tmp_path, "")
    out = capsys.readouterr().out
    assert code == 0, out
    assert told["target"]["version"] == "small 7"
    summary = told["report"]["summary"]
    assert summary["kills"] == summary["exact"] >= 1
    assert summary["inconclusive"] == summary["errors"] == 0
    missing = [line for line in out.splitlines() if line.startswith("not applicable")]
    assert any("P1" in line.split() for line in missing)
    assert (tmp_path / "report/report.json").exists()


def test_one_that_runs_its_tool_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = certify(tmp_path, "replay", "20s")
    out = capsys.readouterr().out
    assert code == 1, out
    row = next(row for row in told["rules"] if row["id"] == "E2")
    assert row["without_kill"]["broken"] == 0 < row["after_kills"]["broken"]
    assert "  again     chaos replay " in out


class Counting:
    """Stands for the course of a scenario, with as many kills as it is told."""

    def __init__(self, kills: int) -> None:
        self.kills, self.done = kills, 0

    def work(self) -> None: ...

    def begin(self, made: Future[Any]) -> None: ...

    def units(self) -> list[tuple[Counting, None]]:
        return [(self, None)] * self.kills

    def take(self, future: Future[Any]) -> None:
        self.done += 1


@pytest.mark.parametrize(
    ("until", "done"), [(0, 1), (19, 1), (20, 2), (39, 3), (1000, 6), (inf, 6)]
)
def test_no_schedule_is_begun_that_would_not_be_over_in_time(
    until: float, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes ten seconds of a clock of our own. The first is begun whatever the time."""
    clock = [0.0]

    def carry_one_out(_: Any) -> list[Any]:
        clock[0] += 10
        return []

    monkeypatch.setattr(certify_module.time, "monotonic", lambda: clock[0])
    courses: list[Any] = [Counting(4), Counting(2)]
    with ThreadPoolExecutor(1) as executor:
        lanes = Pool(executor, lambda _: (), carry_one_out, lambda: None)
        certify_module.carry_out(courses, lanes, 1, until)
    assert sum(course.done for course in courses) == done
    assert courses[0].done - courses[1].done in {0, 1, 2}  # in turn


def test_a_target_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "nobody"]) == 4
    assert "no target 'nobody'" in capsys.readouterr().err


def test_a_target_may_want_one_call_at_a_time(tmp_path: Path) -> None:
    for parallel, turns in (("true", 3), ("false", 5)):
        (tmp_path / "t.toml").write_text(f"{SQLITE % ''}parallel = {parallel}", encoding="utf-8")
        tools, _ = standard_course(load_target(str(tmp_path / "t.toml"), "."))
        assert len(tools.turns) == turns
        assert sum(len(turn.tool_calls) for turn in tools.turns) == 4


def test_a_target_without_a_shell_is_asked_for_an_answer_only(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text((SQLITE % "").partition("[shell]")[0], encoding="utf-8")
    target = load_target(str(tmp_path / "t.toml"), ".")
    assert [scenario.name for scenario in standard_course(target)] == ["certify-answer"]


def test_a_target_may_have_any_name(tmp_path: Path) -> None:
    text = (SQLITE % "").replace('"small"', "'my \"small\" one'")
    (tmp_path / "t.toml").write_text(text, encoding="utf-8")
    for scenario in standard_course(load_target(str(tmp_path / "t.toml"), ".")):
        assert tomllib.loads(scenario.source)["target"]["profile"] == 'my "small" one'


def test_a_table_that_cannot_be_written_is_refused_before_the_course(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", "agent", "--json", str(tmp_path), "--report", str(tmp_path / "r")]) == 4
    assert "cannot be written" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
