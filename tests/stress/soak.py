"""No false alarm: `python -m tests.stress.soak` (or `make soak`).

The agent as it is, over all scenarios, again and again: each repeat with its own seed, number of
jobs and load. Every verdict must be PASS. Prints a line a repeat and a total; exit code 1: some
verdict was not, or a run did not end as a run does. The schedules are then named, and the report
of that repeat stays where it says.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.stress.load import burners
from tests.stress.runs import Run, whole_report

REPEATS = 20
_JOBS = (2, 8, 1, 4)
_LOAD = (0, 2, 1)  # busy loops beside it
_TOLD = 10  # schedules that are named
_LIMIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Repeat:
    """How the scenarios are run this time."""

    number: int  # from 0, and the seed

    @property
    def jobs(self) -> int:
        return _JOBS[self.number % len(_JOBS)]

    @property
    def load(self) -> int:
        return _LOAD[self.number % len(_LOAD)]

    def arguments(self, scenarios: Sequence[str]) -> tuple[str, ...]:
        """Of `chaos run`."""
        return (
            *scenarios,
            "--launch",
            "warm",
            "--jobs",
            str(self.jobs),
            "--seed",
            str(self.number),
        )


def carry_out(repeat: Repeat, scenarios: Sequence[str], place: Path) -> Counter[str]:
    """Run it and print its line. Gives how many schedules had which verdict, and under `alarm` how
    many alarms there were: verdicts that are no PASS, a run that ended otherwise."""
    run = Run(place, repeat.arguments(scenarios))
    began = time.monotonic()
    with burners(repeat.load):
        run.start()
        try:
            code = run.finish(_LIMIT_S)
        except subprocess.TimeoutExpired:
            code = -1
    try:
        report = whole_report(run.report / "report.json")
    except ValueError:
        report = None
    schedules = [each for one in report["scenarios"] for each in one["schedules"]] if report else []
    counts = Counter(each["verdict"] for each in schedules)
    alarms = [each for each in schedules if each["verdict"] != "PASS"]
    counts["alarm"] = len(alarms) or int(code != 0 or not schedules)
    print(
        f"repeat {repeat.number:>2}: jobs {repeat.jobs}, {repeat.load} busy loops: "
        f"{counts['PASS']} passed, {counts['VIOLATION']} violations, "
        f"{counts['INCONCLUSIVE']} inconclusive, {counts['HARNESS_ERROR']} errors, "
        f"exit code {code} ({time.monotonic() - began:.0f} s)",
        flush=True,
    )
    for each in alarms[:_TOLD]:
        print(f"    {each['verdict']} {each['id']}: {'; '.join(each['schedule'])}", flush=True)
    if counts["alarm"]:
        print(
            f"    its report: {run.report}\n{run.output[-2000:] if not alarms else ''}", flush=True
        )
    return counts


def soak(scenarios: Sequence[str], repeats: int, first: int = 0) -> int:
    """So many repeats, from the `first` on. Returns the exit code."""
    total = Counter[str]()
    began = time.monotonic()
    for number in range(first, first + repeats):
        place = Path(tempfile.mkdtemp(prefix="killpoint-soak-"))
        counts = Counter[str]()
        try:
            counts = carry_out(Repeat(number), scenarios, place)
        finally:
            if not counts["alarm"]:  # interrupted, too
                shutil.rmtree(place)
        total += counts
    print(
        f"{repeats} repeats, {total['PASS']} schedules passed: {total['VIOLATION']} violations, "
        f"{total['INCONCLUSIVE']} inconclusive, {total['HARNESS_ERROR']} errors, "
        f"{total['alarm']} alarms in {time.monotonic() - began:.0f} s"
    )
    return 1 if total["alarm"] else 0


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.soak")
    parser.add_argument("scenarios", nargs="*", default=["scenarios"])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="go on at the N-th")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command does. Returns its exit code."""
    asked = parse(arguments)
    return soak(asked.scenarios, asked.repeats, asked.first)


if __name__ == "__main__":
    sys.exit(main())
