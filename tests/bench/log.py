"""Long logs: an append costs what it costs in a short one, reducing is linear, opening is light.

The log is a run of tool calls, as the agent writes it. Times are processor time, the best of a few,
because the bounds are about the code and not about who else uses the machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent import new_facts, strict_json
from agent.ids import IdSource
from agent.new_facts import NewFact
from agent.reducer import reduce_session
from agent.state import Run
from agent.store import Reserved, SessionStore
from tests.agent.support import configuration
from tests.bench.figure import Figure

SESSION = "018f0000-0000-7000-8000-000000000001"
STEPS = 20  # of a run
ROUNDS = 3
Line = list[dict[str, Any]]  # one transaction
APPENDS = 200

OPEN = """
import resource, sys
from pathlib import Path
import agent.commands
from agent.store import SessionStore
with SessionStore.open(Path(sys.argv[1])) as store:
    print(store.state.last_seq, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def measure() -> Iterator[Figure]:
    """Logs of 100, 10,000 and 100,000 facts."""
    with tempfile.TemporaryDirectory() as directory:
        short, long, longest = (_log(Path(directory), count) for count in (100, 10_000, 100_000))
        ratio = _append_us(longest) / _append_us(short)
        yield Figure("append at 100,000 facts / at 100", ratio, "times", most=1.5)
        seconds, facts = _reduce_s(longest)
        yield Figure(
            "reduce 100,000 facts / 10,000", seconds / _reduce_s(long)[0], "times", most=11
        )
        yield Figure("reduce", facts / seconds, "facts a s", least=40_000)
        opened = subprocess.run(
            [sys.executable, "-c", OPEN, longest], capture_output=True, text=True, check=True
        )
        yield Figure("open 100,000 facts", float(opened.stdout.split()[1]), "MB", most=300)


def _reduce_s(path: Path) -> tuple[float, int]:
    """The best time, and how many facts it was for."""
    data = path.read_bytes()
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        facts = reduce_session(data).last_seq
        times.append(time.process_time() - start)
    return min(times), facts


def _append_us(path: Path) -> float:
    times = []
    with SessionStore.open(path) as store:
        for _ in range(APPENDS):
            entry_id, operation_id = store.fresh_id(), store.fresh_id()
            start = time.process_time()
            store.append(
                Reserved(entry_id, new_facts.user_message("a prompt")),
                new_facts.run_started(operation_id=operation_id, input_entry_id=entry_id),
            )
            times.append(time.process_time() - start)
            run = store.state.operation
            assert isinstance(run, Run)
            error = {"code": "c", "message": "m"}
            store.append(
                new_facts.operation_finished(
                    operation_id=run.operation_id,
                    operation_kind="run",
                    outcome="failed",
                    error=error,
                )
            )
    return sorted(times)[len(times) // 2] * 1e6


def _log(directory: Path, facts: int) -> Path:
    path = directory / f"{facts}_{SESSION}.jsonl"
    with path.open("wb") as file:
        header = new_facts.header(
            id=SESSION, created_at=1, cwd="/w", provider="p", model="m", environment_identity="/w"
        )
        file.write(strict_json.dumps(header) + b"\n")
        writer = _Writer()
        while writer.seq < facts:
            for line in writer.run():
                file.write(strict_json.dumps(line[0] if len(line) == 1 else line) + b"\n")
    return path


class _Writer:
    """Gives the transactions of runs. `seq` counts the facts so far."""

    def __init__(self) -> None:
        self.seq = 0
        self._ids = IdSource(SESSION)
        self._configuration = configuration()
        self._last = ""  # message entry

    def run(self) -> Iterator[Line]:
        """A prompt, a call in each step but the last, an answer."""
        self._last, operation_id = self._ids.fresh(), self._ids.fresh()
        yield [
            self._stamped(new_facts.user_message("a prompt of some words"), self._last),
            self._stamped(
                new_facts.run_started(operation_id=operation_id, input_entry_id=self._last)
            ),
        ]
        for number in range(STEPS):
            yield from self._step(operation_id, calls=number < STEPS - 1)
        finished = new_facts.operation_finished(
            operation_id=operation_id,
            operation_kind="run",
            outcome="completed",
            completion="normal",
            final_entry_id=self._last,
        )
        yield [self._stamped(finished)]

    def _step(self, operation_id: str, *, calls: bool) -> Iterator[Line]:
        step_id, attempt_id = self._ids.fresh(), self._ids.fresh()
        attempt = new_facts.step_attempt(
            operation_id=operation_id,
            step_id=step_id,
            attempt_id=attempt_id,
            step_kind="assistant",
            attempt=1,
            context_through_entry_id=self._last,
            configuration_snapshot=self._configuration.snapshot,
            configuration_digest=self._configuration.current.configuration_digest,
        )
        yield [self._stamped(attempt)]
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
        if calls:
            function = {"name": "read", "arguments": '{"path":"some/file.py"}'}
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
        self._last = self._ids.fresh()
        reply = new_facts.assistant_message(
            step_id=step_id,
            attempt_id=attempt_id,
            stop_reason="toolUse" if calls else "stop",
            message=message,
        )
        usage = new_facts.usage(
            operation_id=operation_id, attempt_id=attempt_id, input_tokens=100, output_tokens=10
        )
        yield [self._stamped(reply, self._last), self._stamped(usage)]
        if calls:
            yield from self._call(operation_id, step_id)

    def _call(self, operation_id: str, step_id: str) -> Iterator[Line]:
        started_id, result_id = self._ids.fresh(), self._ids.fresh()
        intent = new_facts.tool_started(
            operation_id=operation_id,
            step_id=step_id,
            assistant_entry_id=self._last,
            tool_index=0,
            tool_call_id="c1",
            tool_name="read",
            arguments={"path": "some/file.py"},
            replay="safe",
            replay_key="builtin:read:v1",
            result_entry_id=result_id,
            environment_identity="/w",
        )
        yield [self._stamped(intent, started_id)]
        result = new_facts.tool_result(
            step_id=step_id,
            tool_started_id=started_id,
            tool_call_id="c1",
            tool_name="read",
            result="success",
            content="some lines of a file\n" * 10,
        )
        self._last = result_id
        yield [self._stamped(result, result_id)]

    def _stamped(self, fact: NewFact, id_: str | None = None) -> dict[str, Any]:
        self.seq += 1
        return fact.stamp(self.seq, id_ or self._ids.fresh(), 1)
