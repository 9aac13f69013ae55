"""Bugs that nobody chose: `python -m tests.stress.mutants` (or `make random-mutants`).

Random mutants of the agent's store, loop, planner, reducer and tools, one at a time, each against
`chaos run` of the folders of `make chaos` alone: no unit test has a say. Works in a copy of the
tree, and leaves out the scenarios that do not run the changed statement. Results are kept in a file
as they come, a JSON object a line, and a run that is started again goes on there. A mutant is

    killed     a rule is broken; `by` is the first that the first failing schedule names
    refused    the sweep is red without a rule: inconclusive, or no run without a kill to compare
    survived   the sweep is green; `by` says where no scenario runs the statement
    timeout    the sweep was not over in time

Prints the share that was killed, and the survivors with what `survivors.toml` says of each. Exit
code 1: a survivor that nobody has explained, or a sweep that cannot tell a broken agent.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from tests.stress.mutate import Mutant, copy, draw, put
from tests.stress.reach import Place, reach, runs, statement
from tests.stress.verdicts import (
    Result,
    can_mutate,
    carry_out,
    explanations,
    parser,
    sha,
    tell,
)

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = Path(__file__).with_name("survivors.toml")
FOLDERS = ("calls", "abort", "compaction", "regression")  # QUICK of the Makefile
_ROOMS = ("store", "loop", "planner", "reducer", "state", "tool_calls", "model_steps")
_COPIED = ("agent", "chaos", "scenarios")
_LIMIT_S, _SLOWER = 60.0, 4.0  # a sweep may take so many times what it takes without a mutant
NOT_RUN = "no scenario runs it"
BROKEN = "raise RuntimeError\n"  # a module that cannot be imported: no sweep may call it sound


def modules(root: Path) -> list[str]:
    """What is mutated."""
    tools = (path.relative_to(root).as_posix() for path in (root / "agent/tools").glob("[a-z]*.py"))
    return sorted([*(f"agent/{room}.py" for room in _ROOMS), *tools])


class Tree:
    """A copy of the tree, in which the targets run the agent of the copy; swept are `scenarios`."""

    def __init__(self, root: Path, scenarios: Sequence[str] = FOLDERS) -> None:
        self.root = root
        self._reached: dict[Path, set[Place]] = {}
        copy(ROOT, root, _COPIED)
        profiles = [root / "chaos/targets/agent.toml", *(root / "scenarios/targets").glob("*.toml")]
        for profile in profiles:
            source = profile.read_text(encoding="utf-8")
            ours = f'[env]\nPYTHONPATH = "{root}"\nPYTHONDONTWRITEBYTECODE = "1"'
            profile.write_text(source.replace("[env]", ours), encoding="utf-8")
        named = [root / "scenarios" / name for name in scenarios]
        self.scenarios = [file for path in named for file in _files(path)]

    def learn(self, jobs: int) -> None:
        """Find out which statements the scenarios run: a mutant needs no others from now on."""
        self._reached = reach(
            self.root, self.scenarios, lambda scenario: self._must_be_green([scenario], jobs)
        )

    def sweep(self, scenarios: Sequence[Path], jobs: int, limit_s: float) -> tuple[str, str, str]:
        """Run them until the first that is not green: verdict, by what, the schedule."""
        report = self.root / "report"
        shutil.rmtree(report, ignore_errors=True)
        arguments = ("--launch", "warm", "--fail-fast", "--jobs", str(jobs), "--report", report)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "chaos", "run", *scenarios, *arguments],
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": str(self.root)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "timeout", f"not over in {limit_s:.0f} s", ""
        if done.returncode == 0:
            return "survived", "", ""
        told = read_report(report / "report.json")
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return told or ("refused", next(iter(last), "nothing said")[:200], "")

    def try_mutant(self, mutant: Mutant, jobs: int, limit_s: float) -> Result:
        """Put the mutant in the place of its module, sweep, and put the module back."""
        began = time.monotonic()
        needed = self.needed(mutant)
        with put(self.root, mutant):
            told = self.sweep(needed, jobs, limit_s) if needed else ("survived", NOT_RUN, "")
        seconds = round(time.monotonic() - began, 1)
        return Result(mutant.key, mutant.line, sha(mutant.source), *told, seconds)

    def needed(self, mutant: Mutant) -> Sequence[Path]:
        """The scenarios that run what the mutant changes; all, where that was not found out."""
        if not self._reached:
            return self.scenarios
        source = (self.root / mutant.module).read_text(encoding="utf-8")
        return runs(self._reached, mutant.module, statement(source, mutant.line))

    def trust(self, jobs: int) -> float:
        """See that the sweep is green for the sound agent, and red for one that never runs.
        Returns the seconds of the green one. Raises SystemExit."""
        began = time.monotonic()
        self._must_be_green(self.scenarios, jobs)
        seconds = time.monotonic() - began
        broken = Mutant("agent/loop.py", 1, "", "", BROKEN)
        if self.try_mutant(broken, jobs, _LIMIT_S).verdict == "survived":
            raise SystemExit("the sweep is green for an agent that never runs: is it the copy's?")
        return seconds

    def _must_be_green(self, scenarios: Sequence[Path], jobs: int) -> None:
        told = self.sweep(scenarios, jobs, 3600)
        if told[0] != "survived":
            raise SystemExit(f"the sweep of the sound agent is not green: {' '.join(told)}")


def _files(path: Path) -> list[Path]:
    """The scenarios of a folder, or a scenario."""
    return [path] if path.suffix else sorted(path.glob("*.toml"))


def read_report(file: Path) -> tuple[str, str, str] | None:
    """Verdict, rule and schedule of the first schedule that did not pass; None: there is none."""
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    schedules = [each for scenario in report["scenarios"] for each in scenario["schedules"]]
    failed = [each for each in schedules if each["verdict"] != "PASS"]
    # A broken rule says more than a run that proved nothing.
    for each in sorted(failed, key=lambda one: one["verdict"] != "VIOLATION"):
        rules = [violation["id"] for violation in each["violations"]]
        verdict = "killed" if rules else "refused"
        return verdict, rules[0] if rules else each["verdict"], "; ".join(each["schedule"])
    return None


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    made = parser("tests.stress.mutants", 200, "SEED.jsonl")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return made.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command does. Returns its exit code."""
    asked = parse(arguments)
    if not can_mutate():
        return 4
    file = asked.results or ROOT / "chaos-report-mutants" / f"{asked.seed}.jsonl"
    with tempfile.TemporaryDirectory(prefix="killpoint-mutants-") as place:
        tree = Tree(Path(place).resolve())

        @cache
        def limit_s() -> float:
            tree.learn(asked.jobs)  # first: what it leaves out has to be trusted, too
            return _LIMIT_S + _SLOWER * tree.trust(asked.jobs)

        def try_one(mutant: Mutant) -> Result:
            return tree.try_mutant(mutant, asked.jobs, limit_s())

        drawn = islice(draw(ROOT, modules(ROOT), asked.seed), asked.count)
        results = carry_out(drawn, try_one, file)
    return 1 if tell(results, explanations(EXPLAINED)) else 0


if __name__ == "__main__":
    sys.exit(main())
