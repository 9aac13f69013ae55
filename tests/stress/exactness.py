"""Exactness under load: `python -m tests.stress.exactness` (or `make stress`).

Thousands of kills, drawn from a seed, over the programs of `targets`, by parallel processes while
every processor is kept busy. At each death the file is compared with `lines.Promise`, which makes
the bytes itself; of the engine it believes only whose turn it was. After the launch: those that
the kill spared have gone on by whole lines, and the dead wrote nothing more.

Prints a line a program and the rate. Exit code 1: a kill was not exact; the first is told at once,
with the command that makes it again. Does not use the judge, nor the supervisor.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chaos.evidence import SYNCS
from chaos.launch.model import GO, Action, Bystander, Call, Command, KillAt, Pause, Strike
from chaos.launch.tracer import trace
from chaos.launch.warm import WarmLauncher
from chaos.points import Scope
from tests.stress.lines import InexactError, Promise, check_rest, compare, writer_of
from tests.stress.load import burners
from tests.stress.targets import PROGRAMS, Row, available, compile_c

KILLS, JOBS = 3000, 8
_LIMIT_S, _GRACE_S = 30.0, 15.0  # of a launch, on a machine that has too much to do
_SIGKILL = 9


@dataclass(frozen=True, slots=True)
class Plan:
    """One kill: what is promised of it, but for the length of a torn write, known at its entry."""

    row: Row
    number: int  # of the call on the file, from 1
    phase: str  # before | torn | after
    part: float  # of a torn write: where, above 0 and below 1
    scope: Scope

    @classmethod
    def draw(cls, rows: Sequence[Row], seed: int, index: int) -> Plan:
        """Kill number `index`, from 0, of a seed."""
        chance = random.Random(f"{seed}/{index}")
        row = rows[index % len(rows)]
        return cls(
            row,
            chance.randint(1, row.calls),
            chance.choice(("before", "torn", "torn", "after")),
            chance.random(),
            chance.choice(tuple(Scope)),
        )

    def __str__(self) -> str:
        return f"{self.row.name}: call {self.number}, {self.phase}, kills the {self.scope}"


class Watcher(Bystander):
    """Follows the file of one launch, kills as planned, and looks."""

    def __init__(self, plan: Plan, file: Path) -> None:
        self.plan, self.file = plan, file
        self.promise = Promise()
        self.at_death: bytes | None = None
        self.dead_process: int | None = None  # as the program numbers it; None: all died
        self._made = b""
        self._kept = 0
        self._entered = 0
        self._processes: dict[int, int] = {}  # by pid

    def classify(self, path: str) -> str | None:
        return "file" if path == str(self.file) else None

    def entering(self, call: Call) -> Action:
        self._entered += 1
        sync = call.name in SYNCS
        self._made = b"" if sync else self.promise.hand_over(call.data)
        if not sync:
            self._processes[call.pid] = writer_of(call.data)[0]
        if self._entered != self.plan.number:
            return GO
        phase = "after" if sync and self.plan.phase == "torn" else self.plan.phase
        whole = len(self._made)
        torn = 1 + int(self.plan.part * (whole - 1))
        self._kept = {"before": 0, "torn": torn, "after": whole}[phase]
        at = KillAt.ENTRY if phase == "before" else KillAt.EXIT
        keep = torn if phase == "torn" else None
        return Action(keep=keep, strike=Strike(at, scope=self.plan.scope))

    def left(self, call: Call) -> Pause | None:
        if call.returned != len(self._made):
            raise InexactError(f"{call.name} of {len(self._made)} bytes returned {call.returned}")
        if self._made:
            self.promise.kept(self._made, len(self._made))
        return None

    def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
        if wait_status & 0x7F != _SIGKILL or call is None:
            raise InexactError(f"{pid} ended with wait status {wait_status:#x} at call {call}")
        if self._made:
            self.promise.kept(self._made, self._kept)
        self.at_death = self.file.read_bytes() if self.file.exists() else b""
        compare(self.promise.data, self.at_death)
        if strike.scope is Scope.PROCESS:
            self.dead_process = self._processes[pid]

    def check_end(self) -> None:
        """When nobody is left. Raises InexactError."""
        if self.at_death is None:
            raise InexactError(f"never reached: {self._entered} calls were made")
        found = self.file.read_bytes() if self.file.exists() else b""
        compare(self.at_death, found[: len(self.at_death)])
        check_rest(self.at_death, found[len(self.at_death) :], self.dead_process)


def carry_out(plan: Plan, compiled: Path) -> str:
    """Make one kill. Gives what is wrong with it; empty: it is exact."""
    with tempfile.TemporaryDirectory(prefix="killpoint-stress-") as folder:
        file = Path(folder).resolve() / "records"
        watcher = Watcher(plan, file)
        command = Command(
            argv=plan.row.argv(file, compiled),
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(PROGRAMS)},
            cwd=folder,
            stdout=f"{folder}/stdout",
            stderr=f"{folder}/stderr",
        )
        launcher = _warm() if plan.row.program == "warm" else None
        try:
            trace(command, watcher, limit_s=_LIMIT_S, grace_s=_GRACE_S, launcher=launcher)
            watcher.check_end()
        except InexactError as error:
            return str(error)
    return ""


@cache
def _warm() -> WarmLauncher:
    """One for each of the parallel processes; it dies with that."""
    return WarmLauncher("records", ("threading",))


def _main_of_worker(work: tuple[Plan, Path]) -> str:
    return carry_out(*work)


def stress(kills: int, jobs: int, seed: int, load: int | None) -> int:
    """Make the kills and tell. Returns the exit code."""
    rows, left_out = available()
    plans = [Plan.draw(rows, seed, index) for index in range(kills)]
    made, exact = Counter[str](), Counter[str]()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="killpoint-stress-") as folder, burners(load) as busy:
        compiled = compile_c(Path(folder))
        # The engine must be the only thread of its process and its only child's parent: no fork.
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, spawn) as pool:
            work = [(plan, compiled) for plan in plans]
            faults = pool.map(_main_of_worker, work, chunksize=10)
            for index, (plan, fault) in enumerate(zip(plans, faults, strict=True)):
                if fault and made == exact:  # the first: told at once
                    again = f"python -m tests.stress.exactness --seed {seed} --only {index}"
                    print(f"kill {index} is not exact\n  {plan}\n  {fault}\n  again: {again}")
                    sys.stdout.flush()
                made[plan.row.name] += 1
                exact[plan.row.name] += not fault
    seconds = time.monotonic() - began
    for row in rows:
        if made[row.name]:
            print(f"{made[row.name]:>6} kills {exact[row.name]:>6} exact  {row.name}")
    print(*left_out, sep="\n", end="\n" if left_out else "")
    total = exact.total()
    print(
        f"{kills} kills, {jobs} at a time beside {busy} busy loops: {total} exact, "
        f"{100 * total / kills:.2f} % ({seconds:.0f} s, {kills / seconds:.0f} kills/s, seed {seed})"
    )
    return 0 if total == kills else 1


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.exactness")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--load", type=int, help="busy loops (default: one a processor)")
    parser.add_argument("--only", type=int, metavar="INDEX", help="make this one kill again")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command does. Returns its exit code."""
    asked = parse(arguments)
    if asked.only is None:
        return stress(asked.kills, asked.jobs, asked.seed, asked.load)
    plan = Plan.draw(available()[0], asked.seed, asked.only)
    with tempfile.TemporaryDirectory(prefix="killpoint-stress-") as folder:
        fault = carry_out(plan, compile_c(Path(folder)))
    print(f"{plan}\n{fault or 'exact'}")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
