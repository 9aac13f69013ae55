"""Files that are there whole or not at all, so that a run that is killed leaves no half report.

Says nothing about a loss of power: nothing is synced.
"""

from __future__ import annotations

import os
from pathlib import Path

_PART = ".part"
_ESCAPED = "backslashreplace"  # a folder may have a name that is not UTF-8


def write_whole(path: Path, text: str) -> None:
    """Put `text` (UTF-8, half a character as an escape) in the place of `path`, at once. What is
    no regular file, such as /dev/stdout, is written to as it is. Raises OSError."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", errors=_ESCAPED)
        return
    # A link stays, and leads to the new text. Not Path.resolve, which raises RuntimeError for one
    # that leads to itself.
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}{_PART}")
    part.write_text(text, encoding="utf-8", errors=_ESCAPED)
    part.replace(path)


def is_part_of(name: str, whole: str) -> bool:
    """Is `name` what a killed `write_whole` left of a file that was to be called `whole`?"""
    return name == f".{whole}{_PART}"
