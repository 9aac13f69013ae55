"""The line that a person types into: editing and history, by prompt_toolkit.

What it promises: history is kept in `.agent/chat-history` for its owner alone (0600), and where it
cannot be kept, work goes on without; Ctrl-C and SIGTERM end the line as KeyboardInterrupt, Ctrl-D
on an empty line as EOFError, and the terminal is then as it was. No thread is started.
What it does not do: it runs only between operations; see `agent.chat_keys` for the time of work.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

HISTORY = "chat-history"
PROMPT = "you> "


class LineEditor:
    """Asks for lines. `state` is the directory that the history lives in."""

    def __init__(self, state: Path) -> None:
        self._session: PromptSession[str] = PromptSession(history=_history(state / HISTORY))

    def ask(self) -> str:
        """The next line. Raises KeyboardInterrupt and EOFError."""
        return self._session.prompt(PROMPT, pre_run=self._heed_sigterm)

    def _heed_sigterm(self) -> None:
        """By its default, SIGTERM would leave the terminal as the editor has made it."""
        app = self._session.app
        loop = asyncio.get_running_loop()
        # prompt_toolkit runs a loop of its own for each line, which takes its handlers along.
        loop.add_signal_handler(signal.SIGTERM, lambda: app.exit(exception=KeyboardInterrupt()))


class _PrivateHistory(FileHistory):
    """Goes on without history where the disk takes no more."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


def _history(path: Path) -> History:
    """The history in the file, made 0600 before anything is in it; one in memory if that fails."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, flags, 0o600)
    except OSError:
        return InMemoryHistory()
    try:
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
        if regular:
            os.fchmod(fd, 0o600)
    finally:
        os.close(fd)
    return _PrivateHistory(str(path)) if regular else InMemoryHistory()
