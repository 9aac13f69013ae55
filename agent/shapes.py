"""Closed shapes of JSON values, as small checks that are put together once and run often.

Pure. A `Check` takes a value and gives "" where it fits, else a complaint that says where inside,
what was expected and what was found. The shapes of a session log stand in `schema`.

It does not coerce, and it does not look across values; the reducer does that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agent.facts import MAX_SAFE_INTEGER

Check = Callable[[Any], str]

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAMES = {dict: "an object", list: "an array", bool: "a boolean", type(None): "null"}


def found(value: object) -> str:
    """A value in a few words, for complaints."""
    name = _NAMES.get(type(value))
    return name if name is not None else repr(value)[:60]


def _matching(pattern: re.Pattern[str], name: str) -> Check:
    fullmatch = pattern.fullmatch

    def check(value: Any) -> str:
        if type(value) is str and fullmatch(value):
            return ""
        return f"expected {name}, found {found(value)}"

    return check


def string(value: Any) -> str:
    """Any string."""
    return "" if type(value) is str else f"expected a string, found {found(value)}"


def non_empty(value: Any) -> str:
    """A string of at least one character."""
    return "" if type(value) is str and value else f"expected some text, found {found(value)}"


def string_or_null(value: Any) -> str:
    return "" if value is None else string(value)


def an_object(value: Any) -> str:
    """Any object."""
    return "" if type(value) is dict else f"expected an object, found {found(value)}"


uuid7 = _matching(_UUID7, "a lower-case UUIDv7")
sha256_digest = _matching(_DIGEST, "'sha256:' and 64 lower-case hex digits")


def integer(minimum: int, maximum: int = MAX_SAFE_INTEGER) -> Check:
    """An integer of the closed range. A boolean is none."""

    def check(value: Any) -> str:
        if type(value) is int and minimum <= value <= maximum:
            return ""
        return f"expected an integer from {minimum} to {maximum}, found {found(value)}"

    return check


def one_of(*texts: str) -> Check:
    """One of these strings."""
    allowed = frozenset(texts)

    def check(value: Any) -> str:
        if type(value) is str and value in allowed:
            return ""
        return f"expected {' or '.join(map(repr, texts))}, found {found(value)}"

    return check


def array(item: Check, minimum: int = 0) -> Check:
    """An array of at least `minimum` items of one shape."""

    def check(value: Any) -> str:
        if type(value) is not list:
            return f"expected an array, found {found(value)}"
        if len(value) < minimum:
            return f"expected at least {minimum} item, found {len(value)}"
        for index, each in enumerate(value):
            complaint = item(each)
            if complaint:
                return f"[{index}]: {complaint}"
        return ""

    return check


def closed(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these keys, perhaps the optional ones, and no other."""
    needed = tuple(required.items())
    count = len(needed)
    extra = optional or {}

    def check(value: Any) -> str:
        if type(value) is not dict:
            return f"expected an object, found {found(value)}"
        for name, inner in needed:
            if name not in value:
                return f"the key {name!r} is missing"
            complaint = inner(value[name])
            if complaint:
                return f"{name}: {complaint}"
        return "" if len(value) == count else others(value)

    def others(value: dict[str, Any]) -> str:
        for name in value.keys() - required.keys():
            if name not in extra:
                return f"the key {name!a} is unknown; known are {', '.join([*required, *extra])}"
            complaint = extra[name](value[name])
            if complaint:
                return f"{name}: {complaint}"
        return ""

    return check


def tagged(key: str, shapes: Mapping[str, Check]) -> Check:
    """An object whose string under `key` says which of these shapes it has."""
    known = one_of(*shapes)

    def check(value: Any) -> str:
        if type(value) is not dict:
            return f"expected an object, found {found(value)}"
        tag: Any = value.get(key)
        complaint = known(tag)
        return f"{key}: {complaint}" if complaint else shapes[tag](value)

    return check
