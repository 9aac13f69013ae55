"""A seeded generator of session logs: legal histories, and mutations of them.

Imports neither `agent` nor `chaos`, so that it shares no fault with either reader.

    python -m tests.loggen --count 1000 --seed 7 DIR

`histories` writes logs that the contract calls valid. `mutations` breaks them, mostly by editing
the parsed facts and writing them again, so that the deep rules are reached and not only the JSON.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.loggen.histories import history
from tests.loggen.mutations import mutate
from tests.loggen.render import Line, render
from tests.loggen.slots import copy_of


@dataclass(frozen=True, slots=True)
class Sample:
    """One log and how it was made: enough to make it again."""

    data: bytes
    made: str


def samples(count: int, seed: int, mutations_per_history: int = 40) -> Iterator[Sample]:
    """`count` logs: each legal history as it is, then mutated again and again."""
    lines: list[Line] = []
    for number in range(count):
        turn, variant = divmod(number, mutations_per_history)
        if variant == 0:
            lines = history(random.Random(f"{seed}/{turn}"))
            yield Sample(render(lines), f"seed {seed}, history {turn}, unchanged")
        else:
            rng = random.Random(f"{seed}/{turn}/{variant}")
            data, what = mutate(rng, copy_of(lines))
            yield Sample(data, f"seed {seed}, history {turn}, variant {variant}: {what}")
