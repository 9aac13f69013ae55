"""A few kills of those that `make stress` makes, and what it says of one that is not exact."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from chaos.launch.model import Action, KillAt, Strike
from chaos.points import Scope
from tests.stress import exactness
from tests.stress.exactness import Plan, carry_out, main, stress
from tests.stress.targets import ROWS, Row, available

ROOT = Path(__file__).resolve().parents[2]
SYNCED = Row("python", 6, 1, 1, sync=True)
PHASES = ("before", "torn", "after")


@pytest.fixture(autouse=True)
def _no_warm_parent_stays() -> Iterator[None]:
    yield
    if exactness._warm.cache_info().currsize:
        exactness._warm().close()
        exactness._warm.cache_clear()


def test_one_kill_of_each_program_is_exact_beside_a_busy_loop() -> None:
    """As the command that it is: the processes of its pool are then no children of this one."""
    rows, left_out = available()
    numbers = ("--kills", str(len(rows)), "--jobs", "2", "--load", "1")
    done = subprocess.run(
        [sys.executable, "-m", "tests.stress.exactness", *numbers],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split("  ")[-1] for line in told[: len(rows)]] == [row.name for row in rows]
    assert told[len(rows) : -1] == left_out
    assert f"{len(rows)} exact, 100.00 %" in told[-1]


def test_a_seed_draws_every_phase_scope_and_program() -> None:
    plans = [Plan.draw(ROWS, 0, index) for index in range(200)]
    assert {plan.phase for plan in plans} == set(PHASES)
    assert {plan.scope for plan in plans} == set(Scope)
    assert {plan.row for plan in plans} == set(ROWS)
    assert all(1 <= plan.number <= plan.row.calls for plan in plans)
    assert plans[7] == Plan.draw(ROWS, 0, 7) != Plan.draw(ROWS, 1, 7)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("number", [5, 6], ids=["a write", "its sync"])
def test_each_phase_of_a_write_and_of_a_sync(tmp_path: Path, phase: str, number: int) -> None:
    assert carry_out(Plan(SYNCED, number, phase, 0.5, Scope.TREE), tmp_path) == ""


def test_a_byte_too_many_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def one_more(keep: int | None, strike: object) -> Action:
        return Action(keep=keep and keep + 1, strike=strike)  # type: ignore[arg-type]

    monkeypatch.setattr(exactness, "Action", one_more)
    fault = carry_out(Plan(SYNCED, 3, "torn", 0.5, Scope.TREE), tmp_path)
    assert fault.startswith("promised 17 bytes, found 18; they differ from byte 17")


def test_a_kill_at_another_instant_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    late = partial(Strike, KillAt.EXIT)
    monkeypatch.setattr(exactness, "Strike", lambda _at, scope: late(scope=scope))
    fault = carry_out(Plan(SYNCED, 3, "before", 0.5, Scope.TREE), tmp_path)
    assert fault.startswith("promised 9 bytes, found 25")


def test_a_kill_that_did_not_happen_is_told(tmp_path: Path) -> None:
    fault = carry_out(Plan(SYNCED, SYNCED.calls + 1, "after", 0.5, Scope.TREE), tmp_path)
    assert fault == f"never reached: {SYNCED.calls} calls were made"


def test_the_first_differing_kill_is_told_with_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class InThisProcess:
        """Where the processes of a pool would not know of the fault that is planted here."""

        def __init__(self, *_: object) -> None: ...
        def __enter__(self) -> InThisProcess:
            return self

        def __exit__(self, *_: object) -> None: ...
        def map(self, _function: object, work: list[object], **_: object) -> list[str]:
            return ["", "as told", *[""] * (len(work) - 2)]

    monkeypatch.setattr(exactness, "ProcessPoolExecutor", InThisProcess)
    assert stress(40, jobs=1, seed=5, load=0) == 1
    told = capsys.readouterr().out
    assert "kill 1 is not exact\n" in told
    assert "again: python -m tests.stress.exactness --seed 5 --only 1\n" in told
    assert "39 exact, 97.50 %" in told


def test_one_kill_can_be_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "5", "--only", "1"]) == 0
    assert capsys.readouterr().out.endswith("\nexact\n")
