"""Reversible changes: a transaction is applied whole or not at all.

Pure. Every change to the state goes through one journal, which remembers how to take it back.
The cost follows the size of the change, never the size of the state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class Journal:
    """Makes changes and can take back all since the last `commit`."""

    __slots__ = ("_undo",)

    def __init__(self) -> None:
        self._undo: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def assign(self, target: object, name: str, value: object) -> None:
        """Set an attribute."""
        self._undo.append((setattr, (target, name, getattr(target, name))))
        setattr(target, name, value)

    def append(self, items: list[T], item: T) -> None:
        """Append to a list that changes in no other way."""
        self._undo.append((list.pop, (items,)))
        items.append(item)

    def add(self, members: set[T], member: T) -> None:
        """Add a member that is not there yet."""
        self._undo.append((set.remove, (members, member)))
        members.add(member)

    def put(self, mapping: dict[K, V], key: K, value: V) -> None:
        """Add a key that is not there yet."""
        self._undo.append((dict.pop, (mapping, key)))
        mapping[key] = value

    def replace(self, mapping: dict[K, V], key: K, value: V) -> None:
        """Give another value to a key that is there."""
        self._undo.append((dict.__setitem__, (mapping, key, mapping[key])))
        mapping[key] = value

    def commit(self) -> None:
        """Keep the changes."""
        self._undo.clear()

    def rollback(self) -> None:
        """Take back the changes, the last one first."""
        while self._undo:
            undo, arguments = self._undo.pop()
            undo(*arguments)
