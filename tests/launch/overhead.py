"""What tracing costs: a command run with and without the engine, in pairs."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from dataclasses import dataclass

from chaos.launch.model import Bystander, Command
from chaos.launch.tracer import trace


@dataclass(frozen=True, slots=True)
class Overhead:
    """Medians over the pairs, in seconds."""

    traced_s: float
    untraced_s: float
    ratio: float  # median of the ratios of the pairs
    stops: int  # in one traced run


class _Watcher(Bystander):
    """Watches all files below a directory and lets everything happen."""

    def __init__(self, watched: str) -> None:
        self._watched = os.path.realpath(watched)

    def classify(self, path: str) -> str | None:
        return "file" if path.startswith(f"{self._watched}/") else None


def overhead(command: Command, watched: str, *, pairs: int = 20, limit_s: float = 30) -> Overhead:
    """Run `command` `pairs` times each way, in alternating order, watching the files below
    `watched`. Raises AssertionError where a run does not end well."""
    traced: list[float] = []
    untraced: list[float] = []
    stops = 0
    for pair in range(pairs + 1):
        for way in (traced, untraced) if pair % 2 else (untraced, traced):
            began = time.perf_counter()
            if way is traced:
                outcome = trace(command, _Watcher(watched), limit_s=limit_s, grace_s=1)
                status, stops = outcome.wait_status, outcome.stops
            else:
                status = _plain(command, limit_s)
            way.append(time.perf_counter() - began)
            assert status == 0, f"{command.argv} ended with wait status {status}"
    # The first pair filled the caches.
    ratios = [with_ / without for with_, without in zip(traced[1:], untraced[1:], strict=True)]
    return Overhead(
        statistics.median(traced[1:]),
        statistics.median(untraced[1:]),
        statistics.median(ratios),
        stops,
    )


def _plain(command: Command, limit_s: float) -> int:
    with open(command.stdout, "wb") as stdout, open(command.stderr, "wb") as stderr:
        return subprocess.run(
            command.argv,
            env=dict(command.env),
            cwd=command.cwd,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            check=False,
            timeout=limit_s,
        ).returncode
