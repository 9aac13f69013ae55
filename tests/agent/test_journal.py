"""The journal takes back every kind of change, the last one first."""

from __future__ import annotations

from types import SimpleNamespace

from agent.journal import Journal


def test_rollback_restores_what_was() -> None:
    target = SimpleNamespace(name="old")
    items, members, mapping = [1], {1}, {"a": 1}
    journal = Journal()
    journal.assign(target, "name", "new")
    journal.assign(target, "name", "newer")
    journal.append(items, 2)
    journal.add(members, 2)
    journal.put(mapping, "b", 2)
    journal.replace(mapping, "a", 3)
    journal.replace(mapping, "b", 4)
    journal.rollback()
    assert (target.name, items, members, mapping) == ("old", [1], {1}, {"a": 1})


def test_commit_keeps_the_changes() -> None:
    items = [1]
    journal = Journal()
    journal.append(items, 2)
    journal.commit()
    journal.append(items, 3)
    journal.rollback()
    assert items == [1, 2]
