"""`chaos shrink`: which files it writes, and where it refuses to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import chaos.cli.shrink
from chaos.cli import main
from chaos.report.failure import Failure, read_failure
from chaos.supervise.shrink import Shrunk
from tests.report import sample

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture
def shrink(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """A stand-in that takes nothing away and remembers where it was told to write."""
    asked: list[tuple[str, str]] = []

    def shrink_failure(failure: Failure, path: str, profile: str) -> Shrunk:
        asked.append((path, profile))
        after = {"kill": 1, "turn": 2, "file": 0}
        return Shrunk(failure, sample.violated(), "E2", {**after, "turn": 3}, after, 9)

    monkeypatch.setattr(chaos.cli.shrink, "shrink_failure", shrink_failure)
    return asked


def test_shrink_writes_a_scenario_a_failure_file_and_a_test(
    saved: str, shrink: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shrink", saved, "--pytest"]) == 0
    out = capsys.readouterr().out
    file = Path("deploy-shrunk.json").resolve()
    assert f"  again     chaos replay {file}\n" in out  # from any directory
    assert out.endswith(
        "shrunk    1 -> 1 kill, 3 -> 2 turns (9 runs; still E2)\n"
        "scenario  deploy-shrunk.toml\ntest      test_deploy_shrunk.py\n"
    )
    assert shrink == [(str(Path("deploy-shrunk.toml").resolve()), "agent")]
    assert Path("deploy-shrunk.toml").read_text() == sample.SCENARIO
    assert read_failure(Path("deploy-shrunk.json")).id == sample.violated().id
    compile(Path("test_deploy_shrunk.py").read_text(), "test_deploy_shrunk.py", "exec")
    assert not list(Path().glob("*.target.toml"))  # the built-in one is found from anywhere


def test_shrink_carries_a_target_along_that_is_not_found_by_its_name(
    saved: str, shrink: list[tuple[str, str]]
) -> None:
    changed = json.loads(Path(saved).read_text())
    changed["target"]["source"] += "\n# changed since\n"
    Path(saved).write_text(json.dumps(changed))
    assert main(["shrink", saved, "--out", "scenarios/small.toml"]) == 0
    assert shrink[0][1] == "./small.target.toml"
    written = Path("scenarios/small.target.toml").read_text()
    assert written == changed["target"]["source"]
    assert not list(Path().glob("**/test_*.py"))


@pytest.mark.parametrize("out", ["gone/x.toml", "x.json", "scenarios", "loop/x.toml"])
def test_shrink_refuses_a_place_before_the_work(
    saved: str, out: str, shrink: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("loop").symlink_to("loop")
    assert main(["shrink", saved, "--out", out]) == 4
    assert "expected a file NAME.toml in a folder that exists" in capsys.readouterr().err
    assert shrink == []


def test_only_a_violation_can_be_shrunk(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    changed = json.loads(Path(saved).read_text())
    Path(saved).write_text(json.dumps({**changed, "verdict": "INCONCLUSIVE"}))
    assert main(["shrink", saved]) == 4
    assert "INCONCLUSIVE cannot be shrunk" in capsys.readouterr().err
