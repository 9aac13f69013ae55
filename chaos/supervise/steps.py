"""What comes next: the launch that follows, from the steps of a scenario and what the log shows.

Pure. A step is launched as it is written until the fact that begins it is durable; from then on
what a kill left of it is for `resume`, or for an `abort` step that follows it: whoever aborts does
so instead of going on. Source: design section 3, session contract section 1 ("Birth").
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.judge.history import history_of
from chaos.judge.log import read_log
from chaos.scenario import Step

# The fact that begins a step. A `resume` begins nothing.
_BEGINS = {"run": "runStarted", "compact": "compactionStarted", "abort": "abortRequested"}


def next_launch(steps: Sequence[Step], number: int, begun: bytes, log: bytes) -> tuple[int, str]:
    """The step that comes next, and the role of its launch: its own, or `resume`.

    `number` is the step in hand, which found the log as `begun`. Past the last step: `idle`.
    """
    if number >= len(steps):
        return number, "idle"
    do = steps[number].do
    fact = _BEGINS.get(do)
    if fact is None or _count(fact, log) <= _count(fact, begun):
        return number, do
    if do != "abort" and number + 1 < len(steps) and steps[number + 1].do == "abort":
        return number + 1, "abort"
    return number, "resume"


def compacts(role: str, log: bytes) -> bool:
    """Will a launch ask for a summary? It begins a compaction or finds one that is open."""
    operation = history_of(log).open_operation
    return role == "compact" or (operation is not None and operation.kind == "compaction")


def _count(fact: str, log: bytes) -> int:
    return sum(known.type == fact for known in read_log(log).facts)
