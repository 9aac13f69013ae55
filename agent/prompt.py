"""The system prompt: the agent's own text, then the workspace's `AGENTS.md` where there is one.

What it promises: no date, time, port, pid or path, so that the same agent in the same workspace
gives the same digest, today and after any crash. Reading `AGENTS.md` never fails: what cannot be
used is said in its place, in words that depend on the file alone, because a file that the agent's
own tool has spoiled must not keep the session from going on (the model reads why, and can mend it).
What it does not do: it does not watch the file. The loop reads it before each new step.

Source: session contract, section 6 ("The system prompt").
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agent.facts import is_blank
from agent.tools.base import ToolError
from agent.tools.paths import inside

INSTRUCTIONS = "AGENTS.md"
INSTRUCTIONS_LIMIT = 64 * 1024  # bytes that join the prompt; every request carries them

SYSTEM_PROMPT = """\
You are an agent that works in a directory, the workspace, with the tools you are given.

- Paths are relative to the workspace. Look before you change; change no more than was asked for.
- Every bash command starts in the workspace with empty standard input. Whatever it leaves running \
is ended with it.
- A result that says a tool was interrupted means that its effect may or may not have happened, or \
happened in part. Find out what is the case before you do it again.
- When the task is done, say in a few words what you did and what you found.
"""


def system_prompt(workspace: Path) -> str:
    """The prompt for a request that is made now. `workspace` is a real path."""
    instructions = _instructions(workspace)
    if is_blank(instructions):
        return SYSTEM_PROMPT
    return f"{SYSTEM_PROMPT}\nThe workspace's {INSTRUCTIONS} says:\n\n{instructions.strip()}\n"


def _instructions(workspace: Path) -> str:
    """The text of AGENTS.md, "" without one, or why it cannot be used."""
    if not os.path.lexists(f"{workspace}/{INSTRUCTIONS}"):
        return ""  # asked before each step, and mostly answered so
    try:
        data = _read(inside(workspace, INSTRUCTIONS))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"({INSTRUCTIONS} could not be read: {error.strerror})"
    except ToolError:
        # A link to somebody's keys must not send them to the provider.
        return f"({INSTRUCTIONS} was not read: it links to a place outside the workspace)"
    text = data[:INSTRUCTIONS_LIMIT].decode("utf-8", "replace")
    if len(data) > INSTRUCTIONS_LIMIT:
        text += f"\n({INSTRUCTIONS} is cut here, after {INSTRUCTIONS_LIMIT} bytes)"
    return text


def _read(path: Path) -> bytes:
    """The first bytes of a regular file, one more than the limit if there are more."""
    # O_NONBLOCK: a FIFO must not hang the open; for a regular file it means nothing.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(0, "not a regular file")
        return file.read(INSTRUCTIONS_LIMIT + 1)
