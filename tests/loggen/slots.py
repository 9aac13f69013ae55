"""Where a log can be edited: its objects, keys, ids and places."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Callable
from typing import Any

from tests.loggen.render import Line, flat

Rng = random.Random
Edit = Callable[[Rng, list[Line]], str]  # changes the lines in place, says what it did

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def objects(value: Any) -> list[dict[str, Any]]:
    """Every object in `value`, outer before inner."""
    found: list[dict[str, Any]] = []
    todo = [value]
    while todo:
        member = todo.pop()
        if isinstance(member, dict):
            found.append(member)
            todo.extend(member.values())
        elif isinstance(member, list):
            todo.extend(member)
    return found


def slots_where(value: Any, wanted: Callable[[str, Any], bool]) -> list[tuple[dict[str, Any], str]]:
    return [(o, key) for o in objects(value) for key, member in o.items() if wanted(key, member)]


def some_object(rng: Rng, lines: list[Line]) -> dict[str, Any]:
    return rng.choice([o for o in objects(lines) if o] or [{"empty": None}])


def all_ids(lines: list[Line]) -> list[str]:
    return sorted({v for o in objects(lines) for v in o.values() if is_id(v)})


def is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def fresh_id(rng: Rng) -> str:
    return f"0190{rng.getrandbits(16):04x}-0000-7000-8000-{rng.getrandbits(48):012x}"


def some_place(rng: Rng, lines: list[Line]) -> int:
    """A line other than the header, where there is one."""
    return rng.randrange(1, len(lines)) if len(lines) > 1 else 0


def facts_of_type(lines: list[Line], *types: str) -> list[dict[str, Any]]:
    return [
        f for f in flat(lines) if (f.get("record") or f.get("entry") or {}).get("type") in types
    ]


def copy_of(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # far quicker than copy.deepcopy
