"""Combinators for closed JSON shapes.

A check takes a decoded JSON value and returns None, or the first `Mismatch`: the path, what was
expected there and what was found. Objects are closed: an unknown key never passes. Knows nothing of
the session log; the shapes themselves are in `chaos.judge.shapes`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

SAFE_INTEGER = 2**53 - 1


class Mismatch(NamedTuple):
    """Where a value leaves its shape."""

    path: str
    expected: str
    found: str


Check = Callable[[object], Mismatch | None]


def shown(value: object) -> str:
    """A value as a message prints it: JSON, cut to a bearable length."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= 80 else text[:77] + "…"


def scalar(expected: str, accepts: Callable[[object], bool]) -> Check:
    def check(value: object) -> Mismatch | None:
        return None if accepts(value) else Mismatch("", expected, shown(value))

    return check


def pattern(expected: str, regex: str) -> Check:
    match = re.compile(regex, re.ASCII).fullmatch
    return scalar(expected, lambda v: isinstance(v, str) and match(v) is not None)


def integer(low: int, high: int = SAFE_INTEGER) -> Check:
    return scalar(f"an integer from {low} to {high}", lambda v: type(v) is int and low <= v <= high)


def one_of(*names: str | int) -> Check:
    # bool is an int in Python, and True would pass for 1.
    return scalar(" or ".join(map(shown, names)), lambda v: not isinstance(v, bool) and v in names)


def array(item: Check, least: int = 0) -> Check:
    def check(value: object) -> Mismatch | None:
        if not isinstance(value, list) or len(value) < least:
            return Mismatch("", f"an array of at least {least}", shown(value))
        for index, member in enumerate(value):
            if (wrong := item(member)) is not None:
                return wrong._replace(path=f"[{index}]{_dotted(wrong.path)}")
        return None

    return check


def closed(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """A closed object: all of `required`, perhaps some of `optional`, nothing else."""
    known = {**required, **(optional or {})}
    names = ", ".join(known)

    def check(value: object) -> Mismatch | None:
        if not isinstance(value, dict):
            return Mismatch("", f"an object with {names}", shown(value))
        for name in required:
            if name not in value:
                return Mismatch(name, "this required key", "none")
        for name, member in value.items():
            if name not in known:
                return Mismatch(name, f"only the keys {names}", "an unknown key")
            if (wrong := known[name](member)) is not None:
                return wrong._replace(path=f"{name}{_dotted(wrong.path)}")
        return None

    return check


def by(key: str, shapes: Mapping[str, Check]) -> Check:
    """The shape that the value's own `key` selects."""
    expected = " or ".join(map(shown, shapes))

    def check(value: object) -> Mismatch | None:
        if not isinstance(value, dict):
            return Mismatch("", f"an object with {key}", shown(value))
        name = value.get(key)
        shape = shapes.get(name) if isinstance(name, str) else None
        return shape(value) if shape else Mismatch(key, expected, shown(name))

    return check


def _dotted(path: str) -> str:
    return f".{path}" if path and not path.startswith("[") else path
