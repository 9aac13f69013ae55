"""Rule L1, shapes: what may stand in each place of a log, and what may not. Every place, every kind
of value: those that are allowed are listed, and there are no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chaos.judge.strict import check_log
from tests.loggen.render import Line, render
from tests.loggen.small import answered, compacted, tool_run

VALUES: tuple[Any, ...] = ("", 7, -1, None, True, [])
# Logs, and the lines that have a fact of another type than those of the logs before.
LOGS: tuple[tuple[Callable[[], list[Line]], range], ...] = (
    (tool_run, range(9)),
    (answered, range(3, 4)),
    (compacted, range(5, 9)),
)
# value -> the only keys under which it may stand for another one
ALLOWED: dict[str, set[str]] = {
    "''": {"content", "arguments", "summary"},
    "7": {"timestamp", "createdAt", "input", "output", "cacheRead", "cacheWrite"},
}
NOT_EMPTY = {"user"}  # a message of these roles says something


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths to what is neither an object nor an array."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_stands_only_where_the_contract_allows_it(value: Any) -> None:
    accepted = set()
    for make, numbers in LOGS:
        for number in numbers:
            for *path, key in places(make()[number]):
                lines = make()
                holder: Any = lines[number]
                for step in path:
                    holder = holder[step]
                if type(holder[key]) is type(value) and holder[key] == value:
                    continue
                holder[key] = value
                if not check_log(render(lines)):
                    accepted.add(key)
                    assert holder.get("role") not in NOT_EMPTY
    assert accepted == ALLOWED.get(repr(value), set())


def test_an_answer_without_calls_has_no_list_of_them() -> None:
    """It would be another way to write the same message."""
    lines = answered()
    message = lines[3][0]["entry"]["message"]
    message["tool_calls"] = []
    (violation, *_) = check_log(render(lines))
    assert (violation.id, "tool_calls" in violation.message) == ("L1", True)
