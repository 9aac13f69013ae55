"""Three calls of one turn, and a death that leaves any of them done and others not.

The agent carries calls out in their order, so a kill leaves it one of four of the eight subsets
(`scenarios/processes/three-calls-done-or-not.toml` kills it there). A log can hold the others all
the same: one that ran its calls side by side wrote it. What is done keeps its result, what was
begun is interrupted, the rest runs once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from agent.outcome import Outcome
from tests.agent.support import call
from tests.agent.test_loop import DONE, World, _world, calls

__all__ = ["_world"]

NAMES = ("build", "test", "ship")
INTERRUPTED = (
    "Operation interrupted after execution status became unknown; the tool was not replayed."
)


def turn() -> dict[str, Any]:
    return calls(*(call("bash", {"command": f"echo {n}; echo {n} >> did"}, n) for n in NAMES))


def begun(world: World, done: tuple[bool, ...], running: int | None) -> None:
    """The log of a whole run, cut down: the intents and results of what is done, the intent of the
    one that runs, nothing of the rest."""
    world.turns = [turn(), DONE]
    world.run()
    lines = world.log.read_bytes().splitlines()
    kept = lines[:4]  # header, prompt, attempt, reply
    for index in range(3):
        intent, result = lines[4 + 2 * index : 6 + 2 * index]
        kept += [intent, result] if done[index] else [intent] if index == running else []
    seq = 0
    for number, line in enumerate(kept[1:], start=1):
        value = json.loads(line)
        for fact in value if isinstance(value, list) else [value]:
            seq += 1
            fact["seq"] = seq
        kept[number] = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    world.log.write_bytes(b"".join(line + b"\n" for line in kept))
    (world.root / "did").unlink(missing_ok=True)


CASES = [
    (done, running)
    for done in product((True, False), repeat=3)
    for running in (None, *(index for index in range(3) if not done[index]))
]


def shown(case: tuple[tuple[bool, ...], int | None]) -> str:
    done, running = case
    states = ("done" if d else "runs" if i == running else "open" for i, d in enumerate(done))
    return "-".join(states)


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_whatever_is_done(world: World, case: tuple[tuple[bool, ...], int | None]) -> None:
    done, running = case
    begun(world, done, running)
    world.requests.clear()
    assert world.resume() == Outcome("completed")
    answers: Mapping[str, str] = {
        message["tool_call_id"]: message["content"]
        for message in world.requests[-1]["messages"]
        if message["role"] == "tool"
    }
    expected = {
        name: INTERRUPTED if index == running else f"{name}\n" for index, name in enumerate(NAMES)
    }
    assert {name: text.strip() for name, text in answers.items()} == {
        name: text.strip() for name, text in expected.items()
    }
    did = world.root / "did"
    ran = [n for i, n in enumerate(NAMES) if not done[i] and i != running]
    assert (did.read_text().split() if did.exists() else []) == ran
    assert len(world.requests) == 1
