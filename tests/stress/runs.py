"""One `chaos run` as a process of its own, and everything that belongs to it.

It has a temporary directory of its own and a mark in its environment. By these whatever it started
is found again, in /proc: what inherits the environment bears the mark, and the processes of a
target, which do not, live below that directory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

ROOT = Path(__file__).resolve().parents[2]
MARK = "KILLPOINT_STRESS"
_GONE_LIMIT_S = 20.0  # for what must end by itself, on a machine that has too much to do


@dataclass(frozen=True, slots=True)
class Process:
    """One that runs now; `argv` is for telling, and for telling one from another."""

    pid: int
    parent: int
    argv: str


@dataclass(slots=True)
class Run:
    """`chaos run ARGUMENTS --report …`, with `place` for its temporary files and its reports."""

    place: Path
    arguments: Sequence[str]
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    process: subprocess.Popen[bytes] | None = None

    @property
    def temporary(self) -> Path:
        return self.place / "tmp"

    @property
    def report(self) -> Path:
        return self.place / "report"

    @property
    def output(self) -> str:
        """What it has said."""
        return (self.place / "output").read_text(errors="replace")

    def start(self) -> subprocess.Popen[bytes]:
        """Begin it, in a session of its own."""
        self.temporary.mkdir(parents=True, exist_ok=True)
        with (self.place / "output").open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "chaos", "run", *self.arguments, "--report", self.report],
                cwd=ROOT,
                env={**os.environ, "TMPDIR": str(self.temporary), MARK: self.mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.process

    def finish(self, limit_s: float) -> int:
        """Its exit code, negative for a signal. Raises TimeoutExpired. Whatever ends the waiting
        before its end, Ctrl-C too, which a session of its own does not hear of, ends it."""
        assert self.process is not None
        try:
            return self.process.wait(limit_s)
        except BaseException:
            self.process.kill()
            self.process.wait()
            self.left()  # what it started ends a moment later
            raise

    def processes(self) -> list[Process]:
        """Whatever of it runs, itself included; not what only waits to be reaped."""
        return list(belonging(self.mark, str(self.temporary)))

    def left(self) -> list[str]:
        """What is still there of a run that is over: processes, temporary files. It gets a bounded
        time to go."""
        return _left(self)


@retry(
    stop=stop_after_delay(_GONE_LIMIT_S),
    wait=wait_fixed(0.01),
    retry=retry_if_result(bool),
    retry_error_callback=lambda state: state.outcome.result() if state.outcome else [],
)
def _left(run: Run) -> list[str]:
    processes = [f"process {each.pid}: {each.argv}" for each in run.processes()]
    return processes + [f"{run.temporary}/{name}" for name in os.listdir(run.temporary)]


def belonging(mark: str, place: str) -> Iterator[Process]:
    """Processes with the mark in their environment, or with a foot in the place."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        path = f"/proc/{entry}"
        try:
            state, parent = Path(path, "stat").read_text().rsplit(")", 1)[1].split()[:2]
            argv = Path(path, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = Path(path, "environ").read_bytes().decode(errors="replace")
            here = os.readlink(f"{path}/cwd")
        except OSError:  # gone meanwhile, or of somebody else
            continue
        if state not in "ZX" and (mark in environment or place in f"{argv} {environment} {here}"):
            yield Process(int(entry), int(parent), argv.strip())


def whole_report(file: Path) -> dict[str, Any] | None:
    """A report.json that was written to its end; None: there is none. Raises ValueError where it
    is half a report."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    report: dict[str, Any] = json.loads(text)
    told = report.get("summary", {}).get("schedules")
    found = sum(len(scenario["schedules"]) for scenario in report.get("scenarios", []))
    if told != found or not told:
        raise ValueError(f"{file}: its summary tells of {told} schedules, it has {found}")
    return report
