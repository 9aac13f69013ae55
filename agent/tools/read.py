"""The tool `read`: lines of a text file, from an offset, with word on how to go on.

The only built-in that is safe to run again: it changes nothing (`builtin:read:v1`).
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from agent.tools.base import Arguments, CallContext, Tool, ToolError, ToolResult
from agent.tools.output import MAX_BYTES, MAX_LINES
from agent.tools.paths import inside

_PROBE = 8192  # bytes looked at to tell text from binary
_LONGEST = MAX_BYTES + 1  # bytes of a line that are looked at


def _read(arguments: Arguments, context: CallContext) -> ToolResult:
    path = inside(context.workspace, arguments["path"])
    first = arguments.get("offset", 1)
    limit = arguments.get("limit", MAX_LINES)
    # O_NONBLOCK: a FIFO must not hang the open; for a regular file it means nothing.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ToolError(f"{arguments['path']} is not a regular file")
        if b"\0" in file.peek(_PROBE)[:_PROBE]:
            raise ToolError(f"{arguments['path']} is a binary file; use bash to look at it")
        return ToolResult("success", _page(_lines(file), first, min(limit, MAX_LINES)))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines, each cut after `_LONGEST` bytes: one line must not fill the memory."""
    while line := file.readline(_LONGEST):
        part = line
        while part and not part.endswith(b"\n"):
            part = file.readline(_LONGEST)
        yield line


def _page(lines: Iterable[bytes], first: int, limit: int) -> str:
    """Lines `first` to `first + limit - 1` of bounded size, and a last line on how to go on."""
    taken: list[bytes] = []
    size = number = 0
    for number, line in enumerate(lines, start=1):
        if number < first:
            continue
        if len(taken) == limit or (taken and size + len(line) > MAX_BYTES):
            return _text(taken) + _note(f"more lines follow; go on with offset={number}")
        if len(line) > MAX_BYTES:
            return _text([line[:MAX_BYTES]]) + _note(
                f"line {number} is cut after {MAX_BYTES} bytes; use bash to see the rest of it, "
                f"or go on with offset={number + 1}"
            )
        taken.append(line)
        size += len(line)
    if not taken:
        return _note(f"no line {first}: the file has {number} lines").lstrip()
    return _text(taken)


def _text(lines: list[bytes]) -> str:
    # Not final: of a character that the cut has split, nothing is shown.
    return codecs.getincrementaldecoder("utf-8")("replace").decode(b"".join(lines))


def _note(words: str) -> str:
    return f"\n[{words}]"


READ = Tool(
    name="read",
    description=(
        "Read a text file of the workspace. Gives at most 2,000 lines or 50 KiB from `offset` "
        "and says how to go on."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path, relative to the workspace"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": "Number of lines"},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    run=_read,
    replay="safe",
)
