"""What a tool program printed: bounded in memory, cut for the model, kept whole in a file.

What it promises: the model sees the last 2,000 lines or 50 KiB, whichever is less, cut on a
character boundary; the kept output is the first 10 MB; past that the text says so. Memory is
bounded whatever the program prints.

Source: session contract, section 6 ("Tool output").
"""

from __future__ import annotations

import os
from pathlib import Path

from agent.failures import describe
from agent.tools.paths import STATE_DIRECTORY

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024
CAPTURE_LIMIT = 10_000_000  # bytes of one program's output that are kept
_TRIM_AT = 16 * MAX_BYTES


class CapturedOutput:
    """Takes output as it comes: the head up to the capture limit, and always the tail."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.size += len(data)
        self._head += data[: max(0, CAPTURE_LIMIT - len(self._head))]
        self._tail += data
        if len(self._tail) > _TRIM_AT:  # now and then, so that trimming costs little
            del self._tail[: -2 * MAX_BYTES]

    def shown(self) -> tuple[str, bool]:
        """The text for the model, and whether it is less than everything."""
        tail = _last_lines(bytes(self._tail[-MAX_BYTES:]))
        if len(tail) < self.size:
            tail = _from_character(tail)
        return tail.decode("utf-8", "replace"), len(tail) < self.size

    def save(self, workspace: Path, call_id: str) -> str:
        """Keep the output below the agent's state; a line about where it is, or why it is not."""
        name = f"{STATE_DIRECTORY}/tool-output/{call_id}.txt"
        path = workspace / name
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(path, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(self._head)
        except OSError as error:
            return f"output cut; the whole could not be kept: {describe(error)}"
        if self.size > CAPTURE_LIMIT:
            return (
                f"output cut; its first {CAPTURE_LIMIT} of {self.size} bytes are in {name}, "
                "the rest was not kept"
            )
        return f"output cut; all {self.size} bytes are in {name}"


def _last_lines(tail: bytes) -> bytes:
    at = len(tail) - tail.endswith(b"\n")
    for _ in range(MAX_LINES):
        at = tail.rfind(b"\n", 0, at)
        if at < 0:
            return tail
    return tail[at + 1 :]


def _from_character(tail: bytes) -> bytes:
    """Drop the rest of a character whose first bytes were cut off (at most three bytes)."""
    skip = 0
    while skip < 3 and skip < len(tail) and tail[skip] & 0xC0 == 0x80:
        skip += 1
    return tail[skip:]
