"""Paths that a tool may touch: inside the workspace, whatever symbolic links say.

What it promises: a resolved path lies in the workspace at the time of the look.
What it does not do: it is no sandbox (`bash` can go anywhere), and somebody who swaps a directory
for a link between look and use is not defended against.
"""

from __future__ import annotations

import os
from pathlib import Path

from agent.tools.base import ToolError

STATE_DIRECTORY = ".agent"


def inside(workspace: Path, path: str) -> Path:
    """The real path of `path`, relative to `workspace` or absolute. Raises ToolError outside."""
    if not path:
        raise ToolError("the path is empty")
    real = Path(os.path.realpath(workspace / path))  # Path.resolve raises on a loop of links
    if not real.is_relative_to(workspace):
        raise ToolError(f"{path} is outside the workspace")
    return real


def changeable(workspace: Path, path: str) -> Path:
    """Like `inside`, but not in the agent's own state: the session log lives there."""
    real = inside(workspace, path)
    if real.is_relative_to(workspace / STATE_DIRECTORY):
        raise ToolError(f"{path} belongs to the agent itself and cannot be changed")
    return real
