"""Replace a file atomically, and remove what a killed replacement left behind.

What it promises: a reader sees the old bytes or the new bytes, never a mixture; the mode is kept.
The temporary file lies beside its target under a name that follows from the call, so the next start
knows exactly which files to sweep and searches nothing.
With `sync` that holds for a loss of power too, and the new file is there once the call is over.
What it does not do: hard links to the old file keep the old bytes.

Source: session contract, section 1 ("Temporary files").
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.durability import sync_directory
from agent.failures import describe
from agent.tools.base import CallContext, ToolError
from agent.tools.paths import changeable

TEMPORARY_PREFIX = ".killpoint-tmp-"


def temporary_beside(target: Path, call_id: str) -> Path:
    """The temporary file of the call `call_id` that replaces `target` (a real path)."""
    return target.with_name(TEMPORARY_PREFIX + call_id)


def replace_file(target: Path, content: bytes, context: CallContext) -> None:
    """Give `target` (a real path) the content in one step. On OSError nothing has changed; a
    ToolError says that it has, but that a loss of power could take it back."""
    temporary = temporary_beside(target, context.call_id)
    mode = _mode_of(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(temporary, flags, 0o666), "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if context.sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.rename(target)
    except BaseException:
        sweep(temporary)
        raise
    if context.sync:
        try:
            for directory in target.parents:  # the name, and the directories made for it
                sync_directory(directory)
                if directory == context.workspace:
                    break
        except OSError as error:
            raise ToolError(f"written, but not durable yet: {describe(error)}") from error


def sweep_call(workspace: Path, arguments: Mapping[str, Any], call_id: str) -> None:
    """Remove what the call `call_id` left behind when it was killed, if it was one that replaces.

    Exact and cheap: only a pending call can have left anything, and only this one file.
    """
    path = arguments.get("path")
    if isinstance(path, str):
        with contextlib.suppress(ToolError, ValueError):  # a call that never came this far
            sweep(temporary_beside(changeable(workspace, path), call_id))


def sweep(temporary: Path) -> None:
    """Remove a temporary file if it is there and ours to remove: a regular file, not a link."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(temporary.lstat().st_mode):
            temporary.unlink()


def _mode_of(target: Path) -> int | None:
    """Permission bits of the file to be replaced; None for a new one. Only regular files."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        code = errno.EISDIR if stat.S_ISDIR(found) else errno.EINVAL
        raise OSError(code, "not a regular file", str(target))
    return stat.S_IMODE(found)
