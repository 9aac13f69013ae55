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
from functools import lru_cache

from tests.loggen.histories import history
from tests.loggen.mutations import mutate
from tests.loggen.render import Line, render
from tests.loggen.slots import copy_of

VARIANTS = 40  # of each history, itself included


@dataclass(frozen=True, slots=True)
class Sample:
    """One log and how it was made: enough to make it again."""

    data: bytes
    made: str


def samples(count: int, seed: int) -> Iterator[Sample]:
    """`count` logs: each legal history as it is, then mutated again and again."""
    for number in range(count):
        yield sample_at(seed, *divmod(number, VARIANTS))


def sample_at(seed: int, number: int, variant: int) -> Sample:
    """The log that a failure message names. Variant 0 is the history itself."""
    lines = copy_of(_history(seed, number))
    if variant == 0:
        return Sample(render(lines), f"seed {seed}, history {number}, unchanged")
    data, what = mutate(random.Random(f"{seed}/{number}/{variant}"), lines)
    return Sample(data, f"seed {seed}, history {number}, variant {variant}: {what}")


@lru_cache(maxsize=1)
def _history(seed: int, number: int) -> list[Line]:
    return history(random.Random(f"{seed}/{number}"))
