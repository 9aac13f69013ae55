"""A session log, read leniently: what its lines say, without asking whether they may say it.

For the rules that need the facts of a log (`LogView`) and for the names of kill points
(`point_name`). Promises never to raise, whatever the bytes: a line that does not parse is simply
absent. Whether a log is *valid* is the business of `chaos.judge.strict`.

Source: session contract, sections 1 and 2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

LF = b"\n"

# Where each kind of fact keeps its body; a usage fact is its own body.
_BODY_KEY = {"entry": "entry", "record": "record", "usage": None}
# An entry of type "message" is named by who speaks.
_TYPE_OF_ROLE = {"user": "user", "assistant": "assistant", "tool": "toolResult"}
# Facts that share a transaction with the one they belong to, and so never name the line.
COMPANIONS = frozenset({"user", "usage"})
# Facts whose kill points are told apart by their tool.
_NAMED_BY_TOOL = frozenset({"toolStarted", "toolResult"})


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact as it stands in the log. Nothing is checked beyond what is needed to read it."""

    line: int  # 1-based
    seq: int | None
    id: str | None
    kind: str  # entry | record | usage
    type: str  # runStarted … operationFinished | user | assistant | toolResult | compaction | usage
    body: Mapping[str, Any]  # the entry, the record, or the whole usage fact
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogView:
    """A log taken apart. `complete + torn` is the file."""

    header: Mapping[str, Any] | None
    facts: tuple[Fact, ...]
    complete: bytes  # through the last LF
    torn: bytes  # what follows it


@lru_cache(maxsize=16)
def read_log(data: bytes) -> LogView:
    """Take a session file apart. Lines that do not parse are absent from `facts`. The same bytes
    give the same object: do not change it."""
    complete, torn = split_torn(data)
    header: Mapping[str, Any] | None = None
    facts: list[Fact] = []
    for number, line in enumerate(complete.split(LF)[:-1], start=1):
        if number == 1:
            header = _header(line)
        facts.extend(_facts_on(number, line))
    return LogView(header, tuple(facts), complete, torn)


def point_name(line: bytes) -> tuple[str, str | None]:
    """The name that a written line gives its kill points, and the tool that tells them apart.

    `line` holds the bytes of one write with their LF; where a write holds more lines, the first
    decides. Bytes that are no complete, readable line are named `partial`.
    """
    first, lf, _ = line.partition(LF)
    value = _decode(first) if lf else None
    if isinstance(value, dict) and value.get("kind") == "header":
        return "header", None
    facts = list(_facts_of(0, value))
    if not facts:
        return "partial", None
    named = next((fact for fact in facts if fact.type not in COMPANIONS), facts[0])
    tool = named.body.get("toolName") if named.type in _NAMED_BY_TOOL else None
    return named.type, tool if isinstance(tool, str) else None


def split_torn(data: bytes) -> tuple[bytes, bytes]:
    """The bytes through the last LF, and the torn tail after it."""
    end = data.rfind(LF) + 1
    return data[:end], data[end:]


def _header(line: bytes) -> Mapping[str, Any] | None:
    value = _decode(line)
    return value if isinstance(value, dict) and value.get("kind") == "header" else None


@lru_cache(maxsize=1024)
def _facts_on(number: int, line: bytes) -> tuple[Fact, ...]:
    """The facts of a line. Remembered: each state of a log begins with the lines of the last."""
    return tuple(_facts_of(number, _decode(line)))


def _decode(line: bytes) -> object:
    """The JSON value of a line, or None."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _facts_of(line: int, value: object) -> Iterator[Fact]:
    """The readable facts of a transaction."""
    for raw in value if isinstance(value, list) else [value]:
        if not isinstance(raw, dict) or not isinstance(kind := raw.get("kind"), str):
            continue
        body = _body(kind, raw)
        name = None if body is None else _type_name(kind, body)
        if body is not None and name is not None:
            seq, ident = raw.get("seq"), raw.get("id")
            yield Fact(
                line=line,
                seq=seq if type(seq) is int else None,
                id=ident if isinstance(ident, str) else None,
                kind=kind,
                type=name,
                body=body,
                raw=raw,
            )


def _body(kind: str, raw: dict[str, Any]) -> dict[str, Any] | None:
    if kind not in _BODY_KEY:
        return None
    key = _BODY_KEY[kind]
    body = raw if key is None else raw.get(key)
    return body if isinstance(body, dict) else None


def _type_name(kind: str, body: dict[str, Any]) -> str | None:
    name = "usage" if kind == "usage" else body.get("type")
    if kind == "entry" and name == "message":
        message = body.get("message")
        role = message.get("role") if isinstance(message, dict) else None
        return _TYPE_OF_ROLE.get(role) if isinstance(role, str) else None
    return name if isinstance(name, str) else None
