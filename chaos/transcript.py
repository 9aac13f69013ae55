"""A transcript: a session log of JSON lines whose keys the target file names.

    [transcript]
    role = "message.role"              who speaks in a line
    call = "message.content[].id"      ids of the tool calls that a line holds
    tool = "message.content[].name"    names of their tools
    result = "message.toolCallId"      id of the call that a line is the result of

A path is keys joined by dots; `[]` after a key means each element of the array there. What a path
does not find in a line, the line does not have. Pure; never raises, whatever the bytes are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chaos.strict_json import StrictJSONError, parse_json

KEYS = ("role", "call", "tool", "result")  # of a `[transcript]` table; only `role` is required
PATH = re.compile(r"[^.\[\]\s]+(\[\])?(\.[^.\[\]\s]+(\[\])?)*")

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Line:
    """What one line of a transcript says."""

    role: str  # empty where it has none
    calls: tuple[str, ...]  # ids of the tool calls in it
    tools: tuple[str, ...]  # their names
    results: tuple[str, ...]  # ids of the calls that it is the result of


def read_line(line: bytes, paths: Mapping[str, str]) -> Line | None:
    """The meaning of a line without its LF; None where it is not JSON. `paths` by KEYS."""
    try:
        value = parse_json(line)
    except StrictJSONError:
        return None

    def texts(key: str) -> tuple[str, ...]:
        return tuple(_found(value, paths[key])) if key in paths else ()

    return Line(next(iter(texts("role")), ""), texts("call"), texts("tool"), texts("result"))


def line_name(data: bytes, paths: Mapping[str, str]) -> tuple[str, str | None]:
    """The name that a written line gives its kill points, and the tool that tells it apart.

    `data` holds the bytes of one write with their LF; the first line decides. Bytes that are no
    complete, readable line are named `partial`; a line without a role `line`.
    """
    first, lf, _ = data.partition(b"\n")
    line = read_line(first, paths) if lf else None
    if line is None:
        return "partial", None
    name = _NOT_OF_A_NAME.sub("-", line.role).lstrip("0123456789_.-")
    return name or "line", next(iter(line.tools), None)


def _found(value: Any, path: str) -> Iterator[str]:
    """The strings that a path leads to."""
    key, _, rest = path.partition(".")
    each = key.endswith("[]")
    found = value.get(key.removesuffix("[]")) if isinstance(value, dict) else None
    for item in found if each and isinstance(found, list) else () if each else (found,):
        if rest:
            yield from _found(item, rest)
        elif isinstance(item, str):
            yield item
