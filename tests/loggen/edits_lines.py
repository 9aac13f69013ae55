"""Edits of the order of facts: dropped, repeated, moved, joined. Each says what it did."""

from __future__ import annotations

from tests.loggen.render import Line, flat, raw
from tests.loggen.slots import (
    Rng,
    copy_of,
    fresh_id,
    some_place,
)


def shift_seq(rng: Rng, lines: list[Line]) -> str:
    facts = flat(lines)
    if not facts:
        return "no fact"
    fact = rng.choice(facts)
    fact["seq"] = rng.choice([0, -1, 1, len(facts) + 1, raw("1.0"), "1", 2**53, None])
    return f"seq = {fact['seq']!r}"


def drop_line(rng: Rng, lines: list[Line]) -> str:
    at = some_place(rng, lines) if rng.random() < 0.97 else 0
    del lines[at]
    return f"drop line {at + 1}"


def drop_fact(rng: Rng, lines: list[Line]) -> str:
    arrays = [line for line in lines if isinstance(line, list) and line]
    if not arrays:
        return "no array"
    array = rng.choice(arrays)
    array.pop(rng.randrange(len(array)))
    return "drop a fact of an array"


def repeat_line(rng: Rng, lines: list[Line]) -> str:
    """The same facts again, mostly under fresh fact ids."""
    at = some_place(rng, lines)
    copied = copy_of(lines[at])
    if rng.random() < 0.7:
        for fact in copied if isinstance(copied, list) else [copied]:
            if isinstance(fact, dict) and "id" in fact:
                fact["id"] = fresh_id(rng)
    to = rng.randrange(1, len(lines) + 1)
    lines.insert(to, copied)
    return f"line {at + 1} again as line {to + 1}"


def move_line(rng: Rng, lines: list[Line]) -> str:
    at = some_place(rng, lines)
    line = lines.pop(at)
    to = rng.randrange(min(1, len(lines)), len(lines) + 1)
    if rng.random() < 0.5:
        to = min(len(lines), at + 1)
    lines.insert(to, line)
    return f"line {at + 1} moved to {to + 1}"


def split_line(rng: Rng, lines: list[Line]) -> str:
    arrays = [at for at, line in enumerate(lines) if isinstance(line, list) and len(line) > 1]
    if not arrays:
        return "no array"
    at = rng.choice(arrays)
    line = lines[at]
    cut = rng.randrange(1, len(line))
    lines[at : at + 1] = [line[:cut], line[cut:]]
    return f"line {at + 1} in two"


def join_lines(rng: Rng, lines: list[Line]) -> str:
    if len(lines) < 3:
        return "too short"
    at = rng.randrange(1, len(lines) - 1)
    both = [line if isinstance(line, list) else [line] for line in lines[at : at + 2]]
    lines[at : at + 2] = [both[0] + both[1]]
    return f"lines {at + 1} and {at + 2} in one"


def reverse_array(rng: Rng, lines: list[Line]) -> str:
    arrays = [line for line in lines if isinstance(line, list) and len(line) > 1]
    if arrays:
        rng.choice(arrays).reverse()
    return "reverse an array"


def odd_line(rng: Rng, lines: list[Line]) -> str:
    at = rng.randrange(len(lines) + 1) if rng.random() < 0.3 else len(lines)
    lines.insert(at, rng.choice([[], {}, [[]], 1, "x", None, [1], [None], {"kind": "usage"}]))
    return f"line {at + 1} is {lines[at]!r}"
