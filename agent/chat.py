"""`agent chat`: one session, prompt after prompt, until the person leaves.

What it promises: the session is this program's alone from its first prompt (or its recovery) to the
end; what a killed agent left unfinished is brought to its end first, and the person is told what
became of it; Esc ends an operation and not the program; Ctrl-C ends both and the exit code is 130.
Whatever happens, what was accepted is in the log and the terminal is as it was.
What it does not do: it decides nothing about a session that is blocked, but says what to restore
and leaves (exit 3), as `resume` does.

The three commands stand in one table. A prompt that begins with a slash is typed after a space.
The system prompt is taken anew for each operation; MCP servers serve them all.

Source: session contract, section 6; design, section 7.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent.chat_keys import Interruptions
from agent.chat_line import LineEditor
from agent.chat_recovery import RecoveryWords, last_exchange
from agent.commands import new_header, refusal, require_prompt
from agent.configuration import Configuration, Settings
from agent.facts import is_blank
from agent.failures import ExitCode, UsageFailure
from agent.ids import IdSource
from agent.loop import Loop
from agent.mcp.config import configured_servers
from agent.mcp.servers import offered_tools
from agent.outcome import Outcome
from agent.output import Output, shortened
from agent.signals import AbortSwitch
from agent.state import Idle
from agent.store import SessionStore
from agent.tools import BUILTIN_TOOLS, Tool
from agent.view import listing
from agent.work import Announce
from agent.workspace import Workspace, require_session_id

_PROMPT_SHOWN = 200  # characters


def chat(workspace_dir: str, session: str | None, durability: str, output: Output) -> ExitCode:
    """Talk with the agent in a new or a known session."""
    workspace = Workspace.at(workspace_dir)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageFailure(
            "chat needs a terminal as standard input and output; for scripts there are `run` and "
            "`resume`"
        )
    settings = Settings.from_environment(os.environ, workspace, stream=output.on_terminal)
    settings.require_key()
    session_id = session or IdSource().fresh()
    require_session_id(session_id)
    path = workspace.find(session_id) or workspace.path_of_new(session_id)

    with _Conversation(workspace, settings, session_id, path, durability, output) as conversation:
        return conversation.hold()


class _Conversation:
    """The session while somebody talks in it. A context manager: it holds the session's lock."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        session_id: str,
        path: Path,
        durability: str,
        output: Output,
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._session_id = session_id
        self._path = path
        self._durability = durability
        self._output = output
        self._servers = configured_servers(os.environ, workspace.root)
        self._tools: Mapping[str, Tool] | None = None
        self._closing = contextlib.ExitStack()  # of the servers
        # A new session gets its file with its first prompt: who only looks leaves none behind.
        self._store = self._opened() if path.exists() else None

    def __enter__(self) -> _Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._closing.close()
        finally:
            if self._store is not None:
                self._store.close()

    def hold(self) -> ExitCode:
        """Talk until the person leaves; the exit code of the program."""
        self._output.session(self._session_id, self._path)
        end = self._recover()
        editor = LineEditor(self._workspace.sessions.parent)
        while end is None:
            try:
                end = self._answer(editor.ask())
            except EOFError:
                end = ExitCode.DONE
            except KeyboardInterrupt:
                end = ExitCode.ABORTED
        return end

    def _answer(self, line: str) -> ExitCode | None:
        """Do what a line asks for; an exit code if that is the end."""
        if is_blank(line):
            return None
        if not line.startswith("/"):
            return self._prompt(line.strip())
        command = _COMMANDS.get(line.strip())
        if command is None:
            self._output.note(
                f"unknown command {line.strip()}; expected one of {', '.join(_COMMANDS)}; type a "
                "prompt that begins with a slash after a space"
            )
            return None
        return command(self)

    def _prompt(self, text: str) -> ExitCode | None:
        try:
            require_prompt(text)
        except UsageFailure as failure:
            self._output.note(str(failure))
            return None
        return self._work(self._begun(), lambda loop: _accepted(loop, text))

    def _recover(self) -> ExitCode | None:
        """Bring to its end what a killed agent left, and say what became of it."""
        store = self._store
        if store is None or not store.is_session:
            return None
        prompt, reply = last_exchange(store.state.transcript)
        if prompt:
            self._output.note(f"the last prompt was: {shortened(prompt, _PROMPT_SHOWN)}")
            self._output.reply(reply)
        operation = store.state.operation
        if isinstance(operation, Idle):
            return None
        words = RecoveryWords(operation)
        self._output.note(words.found)

        def announce(fact: Mapping[str, Any]) -> None:
            told = words.of(fact)
            if told:
                self._output.note(told)
            else:
                self._output.fact(fact)

        return self._work(store, Loop.drive, announce)

    def _work(
        self,
        store: SessionStore,
        start: Callable[[Loop], Outcome],
        announce: Announce | None = None,
    ) -> ExitCode | None:
        """Carry out one operation. An exit code where the conversation ends with it."""
        root = self._workspace.root
        announce = announce or self._output.fact
        with Interruptions(sys.stdin.fileno()) as interruptions:
            switch = interruptions.switch
            tools = self._offered(store, switch)
            configuration = Configuration.of(self._settings, tools).in_workspace(root)
            # What is unfinished is gone on with; only the planner can refuse that.
            idle = isinstance(store.state.operation, Idle)
            outcome = refusal(store, configuration) if idle else None
            if outcome is None:
                loop = Loop(store, configuration, root, announce, switch, self._output.text)
                outcome = start(loop)
            self._output.outcome(outcome)
        if interruptions.leaving:
            return ExitCode.ABORTED
        return ExitCode.BLOCKED if outcome.kind == "blocked" else None

    def _offered(self, store: SessionStore, switch: AbortSwitch) -> Mapping[str, Tool]:
        """The tools. MCP servers start with the first operation that is not aborted meanwhile."""
        if self._tools is None:
            started = offered_tools(self._servers, self._workspace.root, store.lock_fd, switch)
            tools = self._closing.enter_context(started)
            if self._servers and tools is BUILTIN_TOOLS:
                return tools
            self._tools = tools
        return self._tools

    def _opened(self) -> SessionStore:
        return SessionStore.open(self._path, create=True, durability=self._durability)

    def _begun(self) -> SessionStore:
        """The session, made where there is none yet."""
        self._store = self._store or self._opened()
        if not self._store.is_session:
            self._store.begin(new_header(self._session_id, self._workspace, self._settings))
        return self._store

    def compact(self) -> ExitCode | None:
        """`/compact`."""
        if self._store is None or not self._store.is_session:
            self._output.note("nothing to compact")
            return None
        return self._work(self._store, Loop.compact)

    def list_sessions(self) -> None:
        """`/sessions`."""
        for line in listing(self._workspace):
            self._output.note(line)


def _accepted(loop: Loop, text: str) -> Outcome:
    loop.accept(text)
    return loop.drive()


_COMMANDS: Mapping[str, Callable[[_Conversation], ExitCode | None]] = {
    "/compact": _Conversation.compact,
    "/exit": lambda _: ExitCode.DONE,
    "/sessions": _Conversation.list_sessions,
}
