"""Facts to bytes, and the two digests of the contract."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

Line = Any  # the header, a fact, or a list of facts

_RAW = re.compile(r'"@raw:(.*?):raw@"')


def raw(token: str) -> str:
    """A stand-in for text that `json` would not write; `render` puts `token` in its place."""
    return f"@raw:{token}:raw@"


def render_line(line: Line) -> bytes:
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    if "@raw:" in text:
        text = _RAW.sub(lambda match: str(json.loads(f'"{match[1]}"')), text)
    return text.encode("utf-8", "surrogatepass")


def render(lines: list[Line]) -> bytes:
    return b"".join(render_line(line) + b"\n" for line in lines)


def digest(value: Any) -> str:
    """Digest of a value of objects, arrays, strings and null with ASCII keys: there, sorted keys
    and plain `json` escapes are the canonical form."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def flat(lines: list[Line]) -> list[dict[str, Any]]:
    """The facts of all lines after the header, in order."""
    facts: list[dict[str, Any]] = []
    for line in lines[1:]:
        facts.extend(f for f in (line if isinstance(line, list) else [line]) if isinstance(f, dict))
    return facts
