"""Why the agent ends without an outcome, and its exit codes.

    AgentFailure            the work could not be done           exit 1
    ├── UsageFailure        a command line or setting is wrong   exit 2
    ├── SessionBusy         another process owns the session     exit 5
    └── StoreFailure        the session log cannot be written    exit 1

A corrupt log is an `agent.errors.SessionError`, exit 4. Messages say what was expected, what was
found, where, and what to do next; they hold no secret.

Source: design, section 7 (exit codes).
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the agent; scripts depend on them."""

    DONE = 0  # completed, or nothing to do
    FAILED = 1
    USAGE = 2
    BLOCKED = 3
    CORRUPT = 4
    BUSY = 5
    ABORTED = 130


class AgentFailure(Exception):  # noqa: N818 - the root of the tree above
    """Base of what the command line reports as one message."""

    exit_code = ExitCode.FAILED


class UsageFailure(AgentFailure):
    """The command cannot be carried out as given; nothing was changed."""

    exit_code = ExitCode.USAGE


class SessionBusy(AgentFailure):
    """Another process holds the session's lock. `owner` is its pid where the kernel tells it."""

    exit_code = ExitCode.BUSY

    def __init__(self, message: str, owner: int | None) -> None:
        super().__init__(message)
        self.owner = owner


class StoreFailure(AgentFailure):
    """The log could not be written; the store takes nothing more until it is opened again."""


def describe(error: OSError) -> str:
    """An OSError in words that a log can hold: a file name need not be UTF-8, the log must be."""
    reason = error.strerror or str(error)
    words = f"{error.filename}: {reason}" if error.filename else reason
    return words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
