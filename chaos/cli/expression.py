"""The selection of `-k`: words joined by `and`, `or`, `not` and brackets, as in pytest.

A word matches where it occurs, in any case. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chaos.errors import UsageError

Predicate = Callable[[str], bool]

_TOKEN = re.compile(r"[()]|[^\s()]+")
_OPERATORS = frozenset({"and", "or", "not", "(", ")"})


def compile_expression(text: str) -> Predicate:
    """A test of a text. Raises UsageError naming what was expected where."""
    reader = _Reader(text)
    found = reader.either()
    reader.end()
    return lambda subject: found(subject.casefold())


class _Reader:
    """Recursive descent: either = both ('or' both)*, both = one ('and' one)*."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)

    def either(self) -> Predicate:
        found = self.both()
        while self.take("or"):
            found = _or(found, self.both())
        return found

    def both(self) -> Predicate:
        found = self.one()
        while self.take("and"):
            found = _and(found, self.one())
        return found

    def one(self) -> Predicate:
        if self.take("not"):
            inner = self.one()
            return lambda subject: not inner(subject)
        if self.take("("):
            inner = self.either()
            if not self.take(")"):
                raise self.error("')'")
            return inner
        if not self.tokens or self.tokens[0] in _OPERATORS:
            raise self.error("a word, 'not' or '('")
        word = self.tokens.pop(0).casefold()
        return lambda subject: word in subject

    def end(self) -> None:
        if self.tokens:
            raise self.error("'and', 'or' or the end")

    def take(self, token: str) -> bool:
        if self.tokens[:1] != [token]:
            return False
        self.tokens.pop(0)
        return True

    def error(self, expected: str) -> UsageError:
        found = repr(self.tokens[0]) if self.tokens else "the end"
        return UsageError(f"-k {self.text!r}: expected {expected}, found {found}")


def _or(one: Predicate, other: Predicate) -> Predicate:
    return lambda subject: one(subject) or other(subject)


def _and(one: Predicate, other: Predicate) -> Predicate:
    return lambda subject: one(subject) and other(subject)
