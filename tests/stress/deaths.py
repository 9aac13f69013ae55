"""The harness dies too: `python -m tests.stress.deaths` (part of `make stress`).

`chaos run` is started again and again, and one of its own processes is killed with SIGKILL at an
instant drawn from a seed. After each death:

- the run ends as it must (`VICTIMS`): a lane's death is not even seen in its verdicts;
- no process of it lives and no temporary file is left, after a bounded time;
- a report.json that is there, and the file of --json, are whole;
- the next run, into the same folder, is clean.

The mock provider lives in a lane and the janitor guards the temporary directory: they are killed
too. Exit code 1: one of these does not hold; all that do not are told.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from tests.stress.runs import Process, Run, whole_report

DEATHS = 200
_SCENARIO = "scenarios/calls/plain-answer.toml"
_RUN = (_SCENARIO, "--launch", "warm", "--phases", "before,after")
_APPEARS_LIMIT_S, _LIMIT_S = 20.0, 120.0
_SIGN_OF_LIFE = 20  # deaths from one line of progress to the next
_TOLD = 600  # characters of what a run said last
_KILLED = -signal.SIGKILL
_TOLD_AS_ERROR = 3  # the exit code of a run whose harness failed; it may have done less then


@dataclass(frozen=True, slots=True)
class Victim:
    """A kind of process of a run, and the exit codes that the run may have when one dies."""

    word: str  # in its command line
    codes: tuple[int, ...]


VICTIMS: Mapping[str, Victim] = {
    "supervisor": Victim("chaos run", (_KILLED,)),
    # Also the mock provider. Its unit is carried out once more by another lane.
    "lane": Victim("lane_process", (0,)),
    # The launch that it was to make is a HARNESS_ERROR: told, never green.
    "warm parent": Victim("warm_parent", (0, _TOLD_AS_ERROR)),
    # The temporary directory is its work: without that there is no run, and no report.
    "janitor": Victim("LOCK_EX", (0, _TOLD_AS_ERROR)),
}


def kill_one(run: Run, kind: str, at_s: float, chance: random.Random) -> bool:
    """Let the run go on for a time, then kill a process of a kind, as soon as there is one. False:
    the run was over before."""
    assert run.process is not None
    try:
        run.process.wait(at_s)
    except subprocess.TimeoutExpired:
        found = candidates(run, kind)
        if not found:
            return False
        os.kill(chance.choice(found).pid, signal.SIGKILL)
        return True
    return False


@retry(
    stop=stop_after_delay(_APPEARS_LIMIT_S),
    wait=wait_fixed(0.005),
    retry=retry_if_result(lambda found: found == []),
    retry_error_callback=lambda _: [],
)
def candidates(run: Run, kind: str) -> list[Process] | None:
    """The processes of this kind; None: the run is over. `chaos run` itself has no parent in it.
    The launches, which are forks of a warm parent, look like it: their deaths are the target's."""
    assert run.process is not None
    if run.process.poll() is not None:
        return None
    if kind == "supervisor":
        return [Process(run.process.pid, os.getpid(), "")]
    found = [each for each in run.processes() if VICTIMS[kind].word in each.argv]
    pids = {each.pid for each in found}
    return [each for each in found if each.parent not in pids]


def faults(run: Run, codes: Sequence[int], schedules: int, files: Sequence[Path]) -> Iterator[str]:
    """What does not hold of a run that is over, or must be soon."""
    try:
        code = run.finish(_LIMIT_S)
    except subprocess.TimeoutExpired:
        yield f"it did not end within {_LIMIT_S:.0f} s"
        return
    if code not in codes:
        told = run.output[-_TOLD:]
        yield f"it ended with {code}, not with {' or '.join(map(str, codes))}: {told}"
    yield from (f"left: {each}" for each in run.left())
    for file in files:
        try:
            report = whole_report(file)
        except ValueError as error:
            yield f"half a report: {error}"
            continue
        if report is None and code == 0:
            yield f"{file} is missing"
        elif report and code != _TOLD_AS_ERROR and report["summary"]["schedules"] != schedules:
            yield f"{file}: expected {schedules} schedules, found {report['summary']['schedules']}"
        elif report and code == _TOLD_AS_ERROR and not report["summary"]["errors"]:
            yield f"{file}: exit code 3, but no schedule tells of an error"


class Deaths:
    """Deaths one after the other, all in one folder."""

    def __init__(self, place: Path, seed: int, jobs: int, tell: Callable[[str], None]) -> None:
        self.place, self.seed, self.jobs, self.tell = place, seed, jobs, tell
        self.files = [place / "report" / "report.json", place / "told.json"]
        self.usual_s, self.schedules = 0.0, 0
        self.counts = Counter[str]()
        self.broken = 0

    def run(self) -> Run:
        """One, started."""
        self.files[1].unlink(missing_ok=True)
        run = Run(self.place, (*_RUN, "--jobs", str(self.jobs), "--json", str(self.files[1])))
        run.start()
        return run

    def measure(self) -> None:
        """A run without a death: how long it takes, and how much it does."""
        began = time.monotonic()
        run = self.run()
        code = run.finish(_LIMIT_S)
        report = whole_report(self.files[0])
        if code != 0 or report is None:
            raise SystemExit(f"the run without a death failed: {run.output}")
        self.usual_s, self.schedules = time.monotonic() - began, report["summary"]["schedules"]

    def one(self, index: int, *, again: bool = True) -> None:
        """Kill, check, and run again."""
        chance = random.Random(f"{self.seed}/{index}")
        kind = list(VICTIMS)[index % len(VICTIMS)]
        at_s = chance.random() * self.usual_s
        run = self.run()
        died = kill_one(run, kind, at_s, chance)
        codes = VICTIMS[kind].codes if died else (0,)
        wrong = list(faults(run, codes, self.schedules, self.files))
        if again:
            next_ = faults(self.run(), (0,), self.schedules, self.files)
            wrong += [f"the next run: {fault}" for fault in next_]
        self.counts[kind if died else "too late"] += 1
        self.broken += bool(wrong)
        for fault in wrong:
            self.tell(f"death {index} ({kind} at {at_s:.3f} s, seed {self.seed}): {fault}")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.deaths")
    parser.add_argument("--deaths", type=int, default=DEATHS)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command does. Returns its exit code."""
    asked = parse(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="killpoint-deaths-") as place:
        deaths = Deaths(Path(place), asked.seed, 2, lambda text: print(text, flush=True))
        deaths.measure()
        for index in range(asked.deaths):
            deaths.one(index)
            if (index + 1) % _SIGN_OF_LIFE == 0:
                print(f"{index + 1} of {asked.deaths}", flush=True)
    told = ", ".join(f"{count} {kind}" for kind, count in deaths.counts.items())
    print(
        f"{asked.deaths} deaths of the harness ({told}): {deaths.broken} left something or broke "
        f"something ({time.monotonic() - began:.0f} s, seed {asked.seed})"
    )
    return 1 if deaths.broken else 0


if __name__ == "__main__":
    sys.exit(main())
