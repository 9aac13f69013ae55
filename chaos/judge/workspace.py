"""Workspace paths and changes, as the rules read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from chaos.evidence import FileChange

_REMOVALS = frozenset({"unlink", "unlinkat"})
_RENAMES = frozenset({"rename", "renameat", "renameat2"})


def is_temporary(path: str, globs: Sequence[str]) -> bool:
    """Does a glob match? One without a slash matches the last name of a path, anywhere; `**/`
    also matches no directory at all."""
    name = path.rpartition("/")[2]
    return any(
        fnmatchcase(path, glob)
        or fnmatchcase(path, glob.removeprefix("**/"))
        or ("/" not in glob.removeprefix("**/") and fnmatchcase(name, glob.removeprefix("**/")))
        for glob in globs
    )


def removes(change: FileChange) -> bool:
    """Did it take a name away?"""
    return change.call in _REMOVALS


def replaces(change: FileChange) -> bool:
    """Did it put another file in its place, at once?"""
    return change.call in _RENAMES
