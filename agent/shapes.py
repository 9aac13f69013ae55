"""Closed shapes of JSON values, as small checks that are put together once and run often.

Pure. A `Check` takes a value and gives "" where it fits, else a complaint that says where inside,
what was expected and what was found. The shapes of a session log stand in `schema`.

It does not coerce, and it does not look across values; the reducer does that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from agent.facts import MAX_SAFE_INTEGER

Check = Callable[[Any], str]
_Match = Callable[[str], object]  # compiled when it is first needed: most starts need few of them

_NAMES = {dict: "an object", list: "an array", bool: "a boolean", type(None): "null"}


def found(value: object) -> str:
    """A value in a few words, for complaints."""
    name = _NAMES.get(type(value))
    return name if name is not None else repr(value)[:60]


class Matching:
    """A string of a fixed form, which holds no line break. `name` says what was expected."""

    __slots__ = ("_fullmatch", "name", "pattern")

    def __init__(self, pattern: str, name: str) -> None:
        self.pattern = pattern
        self.name = name
        self._fullmatch: _Match | None = None

    def __call__(self, value: Any) -> str:
        if type(value) is str and (self._fullmatch or self._compiled())(value):
            return ""
        return f"expected {self.name}, found {found(value)}"

    def _compiled(self) -> _Match:
        self._fullmatch = re.compile(self.pattern).fullmatch
        return self._fullmatch


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


uuid7 = Matching(
    "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", "a lower-case UUIDv7"
)
sha256_digest = Matching("sha256:[0-9a-f]{64}", "'sha256:' and 64 lower-case hex digits")


def integer(minimum: int, maximum: int = MAX_SAFE_INTEGER) -> Check:
    """An integer of the closed range. A boolean is none."""

    def check(value: Any) -> str:
        if type(value) is int and minimum <= value <= maximum:
            return ""
        return f"expected an integer from {minimum} to {maximum}, found {found(value)}"

    return check


def one_of(*texts: str) -> Check:
    """One of these strings."""
    pattern = "|".join(map(re.escape, texts))
    return Matching(f"(?:{pattern})", " or ".join(map(repr, texts)))


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


class Closed:
    """An object with these keys, perhaps the optional ones, and no other."""

    __slots__ = (
        "_all_match",
        "_count",
        "_free",
        "_optional",
        "_pattern",
        "_required",
        "_values_of",
    )

    def __init__(
        self, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None
    ) -> None:
        self._required = dict(required)
        self._optional = dict(optional or {})
        self._count = len(self._required)
        # Strings of fixed form are many and short: they are joined and matched all at once.
        formed = {k: c.pattern for k, c in required.items() if isinstance(c, Matching)}
        together = formed if len(formed) > 1 else {}
        self._values_of = itemgetter(*together) if together else None
        self._pattern = "\n".join(together.values())
        self._all_match: _Match | None = None
        self._free = tuple((k, c) for k, c in required.items() if k not in together)

    def __call__(self, value: Any) -> str:
        """Right values are told fast; anything doubtful is looked at key by key."""
        if type(value) is not dict:
            return self._complaint(value)
        try:
            if self._values_of:
                text = "\n".join(self._values_of(value))
                if not (self._all_match or self._compiled())(text):
                    return self._complaint(value)
            for name, check in self._free:
                if check(value[name]):
                    return self._complaint(value)
        except (KeyError, TypeError):  # a key is missing, or no string stands where one should
            return self._complaint(value)
        known = self._count
        if len(value) > known:
            for name, check in self._optional.items():
                if name in value:
                    known += 1
                    if check(value[name]):
                        return self._complaint(value)
        return "" if len(value) == known else self._complaint(value)

    def _compiled(self) -> _Match:
        self._all_match = re.compile(self._pattern).fullmatch
        return self._all_match

    def _complaint(self, value: Any) -> str:
        if type(value) is not dict:
            return f"expected an object, found {found(value)}"
        for name in self._required:
            if name not in value:
                return f"the key {name!r} is missing"
        known = self._required | self._optional
        for name, inner in value.items():
            if name not in known:
                return f"the key {name!a} is unknown; known are {', '.join(known)}"
            complaint = known[name](inner)
            if complaint:
                return f"{name}: {complaint}"
        return ""


def remembering(check: Check) -> Check:
    """The same check for a value that comes again and again: a repetition costs a comparison.

    Only for shapes made of strings: other values can be equal without being the same (`1`, `true`).
    """
    last: list[Any] = []

    def repeated(value: Any) -> str:
        if last and last[0] == value:
            return ""
        complaint = check(value)
        if not complaint:
            last[:] = [value]
        return complaint

    return repeated


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
