"""The command line of the agent.

    python -m agent run    [--workspace DIR] [--session ID] [--json] PROMPT
    python -m agent resume [--workspace DIR] [--json] SESSION
    python -m agent abort  [--workspace DIR] [--json] SESSION
    python -m agent compact [--workspace DIR] [--json] SESSION
    python -m agent chat   [--workspace DIR] [--session ID]
    python -m agent sessions [--workspace DIR]
    python -m agent show     [--workspace DIR] SESSION
    python -m agent inspect FILE
    python -m agent plan FILE --config CURRENT.json

Exit codes: 0 completed or idle · 1 failed · 2 usage · 3 blocked · 4 corrupt session · 5 session
busy · 130 aborted, or ended by Ctrl-C. What went wrong is one message on standard error, and with
`--json` the last event; never a traceback for what a user or a disk can do.

Source: design, section 7.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from agent import reports, streams
from agent.errors import SessionError
from agent.failures import AgentFailure, ExitCode, describe
from agent.output import Output

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_NAMES = {
    ExitCode.FAILED: "failed",
    ExitCode.USAGE: "usage",
    ExitCode.CORRUPT: "corrupt",
    ExitCode.BUSY: "busy",
    ExitCode.ABORTED: "interrupted",
}


def _run(a: argparse.Namespace, output: Output) -> ExitCode:
    from agent import commands

    return commands.run(a.workspace, a.session, a.prompt, a.durability, output)


def _resume(a: argparse.Namespace, output: Output) -> ExitCode:
    from agent import commands

    return commands.resume(a.workspace, a.session, a.durability, output)


def _abort(a: argparse.Namespace, output: Output) -> ExitCode:
    from agent import abort_command

    return abort_command.abort(a.workspace, a.session, a.durability, output)


def _compact(a: argparse.Namespace, output: Output) -> ExitCode:
    from agent import commands

    return commands.compact(a.workspace, a.session, a.durability, output)


def _chat(a: argparse.Namespace, output: Output) -> ExitCode:
    from agent.chat import chat

    return chat(a.workspace, a.session, a.durability, output)


class _Command(NamedTuple):
    """A command: what it does, and its arguments as argparse takes them."""

    run: Callable[[argparse.Namespace, Output], ExitCode]
    help: str
    arguments: tuple[tuple[str, Mapping[str, Any]], ...]


_PROGRAM = "python -m agent"
_WORKSPACE = ("--workspace", {"metavar": "DIR", "default": ".", "help": "default: here"})
_JSON = ("--json", {"action": "store_true", "help": "print events as JSON lines"})
_ID = ("--session", {"metavar": "ID", "help": "session to begin or go on with (UUIDv7)"})
_SESSION = ("session", {"metavar": "SESSION", "help": "id or file"})
_DURABILITY = (
    "--durability",
    {
        "choices": ("process", "fsync"),
        "default": "process",
        "help": "what a durable fact survives: the end of the process (default), or power loss too",
    },
)
_PROMPT = ("prompt", {"metavar": "PROMPT"})
_FILE = ("file", {"metavar": "FILE"})
_CONFIG = ("--config", {"metavar": "CURRENT.json", "required": True})


_SYSTEM = "Linux"
_ELSEWHERE = (
    "needs Linux, which alone lets a process adopt and end what its tools left running; "
    "sessions, show, inspect and plan work here"
)


# The commands that work are imported when they are given: the others start twice as fast.
_COMMANDS: Mapping[str, _Command] = {
    "run": _Command(
        _run,
        "accept a prompt and work on it to its end",
        (_WORKSPACE, _ID, _DURABILITY, _JSON, _PROMPT),
    ),
    "resume": _Command(
        _resume,
        "bring an unfinished operation to its end",
        (_WORKSPACE, _DURABILITY, _JSON, _SESSION),
    ),
    "abort": _Command(
        _abort,
        "abort what is unfinished, or is being worked on",
        (_WORKSPACE, _DURABILITY, _JSON, _SESSION),
    ),
    "compact": _Command(
        _compact, "replace older messages by a summary", (_WORKSPACE, _DURABILITY, _JSON, _SESSION)
    ),
    "chat": _Command(
        _chat, "talk with the agent; Esc aborts, /exit leaves", (_WORKSPACE, _ID, _DURABILITY)
    ),
    "sessions": _Command(
        lambda a, _: reports.sessions(a.workspace), "list the sessions", (_WORKSPACE,)
    ),
    "show": _Command(
        lambda a, _: reports.show(a.workspace, a.session), "print a session", (_WORKSPACE, _SESSION)
    ),
    "inspect": _Command(
        lambda a, _: reports.inspect(a.file), "reduce a log to its state, as JSON", (_FILE,)
    ),
    "plan": _Command(
        lambda a, _: reports.plan(a.file, a.config),
        "print the recovery plan of a log, as JSON",
        (_CONFIG, _FILE),
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    streams.prepare()
    try:
        return _command(sys.argv[1:] if argv is None else list(argv))
    finally:
        streams.settle()


def _command(words: Sequence[str]) -> int:
    try:
        arguments = _parse(words)
    except SystemExit as exit_:  # argparse has printed what was wrong, or the help
        return int(exit_.code or 0)
    except AgentFailure as failure:  # the help could not be printed
        return _report(Output(sys.stdout, sys.stderr, events=False), ExitCode.FAILED, str(failure))
    output = Output(sys.stdout, sys.stderr, events=getattr(arguments, "json", False))
    command = _COMMANDS[arguments.command]
    if _DURABILITY in command.arguments and os.uname().sysname != _SYSTEM:
        return _report(output, ExitCode.USAGE, _ELSEWHERE)
    try:
        return int(command.run(arguments, output))
    except AgentFailure as failure:
        return _report(output, failure.exit_code, str(failure))
    except SessionError as error:
        message = f"corrupt session: {error}; the file was not changed"
        return _report(output, ExitCode.CORRUPT, message, error=error.to_json())
    except OSError as error:
        return _report(output, ExitCode.FAILED, describe(error))
    except KeyboardInterrupt:
        message = "interrupted; what was accepted is kept: go on with `resume`"
        return _report(output, ExitCode.ABORTED, message)


def _report(output: Output, code: ExitCode, message: str, **more: object) -> int:
    output.failure(_NAMES[code], code, message, more)
    return int(code)


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: SupportsWrite[str] | None = None) -> None:  # noqa: ARG002
        """To stdout; argparse would keep quiet where it cannot be written."""
        streams.print_result(self.format_help())


def _parse(words: Sequence[str]) -> argparse.Namespace:
    """A command that is given at once is parsed by a parser of its own, and no other is made:
    argparse is half of a start."""
    name = words[0] if words else ""
    if name in _COMMANDS:
        return _parser_of(name).parse_args(words[1:], argparse.Namespace(command=name))
    parser = _Parser(prog=_PROGRAM, description="A durable, crash-only agent.")
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in _COMMANDS.items():
        _fill(parsers.add_parser(name, help=command.help), command)
    return parser.parse_args(words)


@cache
def _parser_of(name: str) -> _Parser:
    parser = _Parser(prog=f"{_PROGRAM} {name}")
    _fill(parser, _COMMANDS[name])
    return parser


def _fill(parser: _Parser, command: _Command) -> None:
    for flag, settings in command.arguments:
        parser.add_argument(flag, **settings)
