"""What the tracer costs a real run of the agent: three tools, two requests, a fresh process."""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chaos.launch.model import Command
from chaos.provider.mock import MockProvider
from chaos.provider.script import Turn
from chaos.scenario import load_scenario
from tests.bench.figure import Figure
from tests.launch.overhead import overhead
from tests.library import scenario_file

SCENARIO = scenario_file("calls/three-calls-in-one-turn")
PAIRS = 20


def measure() -> Iterator[Figure]:
    """Paired runs, traced and untraced in turn."""
    scenario = load_scenario(SCENARIO)
    with tempfile.TemporaryDirectory() as directory, _model(scenario.turns) as base_url:
        root = Path(os.path.realpath(directory))
        for name, text in scenario.files.items():
            (root / name).write_text(text)
        command = Command(
            argv=(sys.executable, "-m", "agent", "run", "--workspace", str(root), "go"),
            env={
                "PATH": os.environ["PATH"],
                "CHAOS_EFFECTS": str(root / "effects"),
                "AGENT_BASE_URL": base_url,
                "AGENT_API_KEY": "bench",
            },
            cwd=str(root),
            stdout=os.devnull,
            stderr=os.devnull,
        )
        cost = overhead(command, str(root), pairs=PAIRS)
    yield Figure("untraced run of the agent, median", cost.untraced_s * 1000, "ms")
    yield Figure("traced run of the agent, median", cost.traced_s * 1000, "ms")
    yield Figure("ptrace stops in it", cost.stops, "stops")
    yield Figure("traced / untraced, median of pairs", cost.ratio, "times", most=1.15)


@contextmanager
def _model(turns: Sequence[Turn]) -> Iterator[str]:
    """The mock provider in a thread of its own, so that both ways find the same server."""

    class Journal:
        def request_arrived(self, ticket: int) -> None: ...
        def request_decided(self, ticket: int, *_: object) -> None: ...
        def held(self, ticket: int) -> None: ...
        def answered(self, ticket: int, complete: bool) -> None: ...

    mock = MockProvider()
    # All runs are one launch to it: the script is repeated, so that it does not take them for one
    # target that goes round in circles.
    base_url = mock.begin("bench", tuple(turns) * 100, {}, Journal())
    done_r, done_w = os.pipe()

    def serve() -> None:
        while done_r not in select.select([mock, done_r], [], [])[0]:
            mock.serve()

    # The tracer waits for SIGCHLD in its own thread: no other may be open to it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    thread = threading.Thread(target=serve)
    thread.start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        yield base_url
    finally:
        os.close(done_w)
        thread.join()
        os.close(done_r)
        mock.close()
