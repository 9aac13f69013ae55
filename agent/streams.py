"""The standard streams, whatever the one who started the agent made of them.

What it promises: no file that is opened later gets the number of a closed stream; results that
cannot be written are an error of the commands that only print; at the end of the program nothing is
left that Python would fail to write.
What it does not do: it does not end work because nobody can be told of it; see `agent.output`.
"""

from __future__ import annotations

import os
import sys

from agent.failures import AgentFailure


def prepare() -> None:
    """Open what is closed: reading gives nothing, results cannot be written, messages go nowhere.
    All print UTF-8, whatever the locale says: a reply must not fail to print."""
    # For results a descriptor that can only be read, so that who must tell them learns of it.
    for fd, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free: this one
    # Python has None where a stream was closed, of which its types know nothing.
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def print_result(text: str) -> None:
    """Print what was asked for, LF included, at once. A reader that has gone has what it wanted.

    Raises AgentFailure where it cannot be written.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        raise AgentFailure(f"standard output cannot be written: {error.strerror}") from None


def settle() -> None:
    """Write what is left, or let it go: Python would complain of it and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
