"""Words and tests that the refusals of all flavours share.

Pure. A fault reads `place: expected …, found …`; places are JSON paths, counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from chaos.strict_json import StrictJSONError, parse_json

MAX_FAULTS = 20  # a hopeless request is refused as surely by twenty reasons as by a thousand

Test = Callable[[Any], bool]
Members = Mapping[str, tuple[str, Test]]  # by name: what is expected, and how it is told


def refusing(
    faults: Callable[[Mapping[str, Any]], Iterator[str]],
) -> Callable[[bytes], tuple[str, ...]]:
    """Why a body is refused, given why the object that it holds is. Remembered: the mock asks, and
    the judge asks again."""

    @lru_cache(maxsize=16)
    def body_faults(body: bytes) -> tuple[str, ...]:
        try:
            request = parse_json(body)
        except StrictJSONError as error:
            return (f"body: {error}",)
        if not isinstance(request, dict):
            return (f"body: expected a JSON object, found {named(request)}",)
        return tuple(islice(faults(request), MAX_FAULTS))

    return body_faults


def is_text(value: Any) -> bool:
    """A string that says something."""
    return isinstance(value, str) and value != ""


def is_array(value: Any) -> bool:
    """An array that holds something."""
    return isinstance(value, list) and value != []


def is_object(value: Any) -> bool:
    """A JSON object."""
    return isinstance(value, dict)


def is_flag(value: Any) -> bool:
    """True or false."""
    return isinstance(value, bool)


def is_positive(value: Any) -> bool:
    """A whole number from 1 on."""
    return type(value) is int and value > 0


def is_within(high: int) -> Test:
    """A number from 0 to `high`."""
    return lambda value: type(value) in (int, float) and 0 <= value <= high


def member_faults(
    value: Mapping[str, Any], required: Members, optional: Members, at: str = ""
) -> Iterator[str]:
    """Members that must be there, and members that are left to the provider where they are absent
    or null. `at` is the place of the object, with its dot."""
    for name, (expected, test) in required.items():
        if name not in value:
            yield f"{at}{name}: expected {expected}, found nothing"
        elif not test(value[name]):
            yield f"{at}{name}: expected {expected}, found {named(value[name])}"
    for name, (expected, test) in optional.items():
        if value.get(name) is not None and not test(value[name]):
            yield f"{at}{name}: expected {expected}, found {named(value[name])}"


def array(value: Any) -> Sequence[Any]:
    """The elements of an array; none of what is no array."""
    return value if isinstance(value, list) else ()


def named(value: Any) -> str:
    """A value as a message names it: short, and never the whole of a long text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:40]}…")
    if isinstance(value, dict):
        return "an object with " + (", ".join(sorted(value)[:8]) or "no members")
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return str(value)[:40]
