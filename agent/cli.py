"""The command line of the agent.

    python -m agent run    [--workspace DIR] [--session ID] [--json] PROMPT
    python -m agent resume [--workspace DIR] [--json] SESSION
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
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from agent import reports
from agent.errors import SessionError
from agent.failures import AgentFailure, ExitCode, describe
from agent.output import Output

_NAMES = {
    ExitCode.FAILED: "failed",
    ExitCode.USAGE: "usage",
    ExitCode.CORRUPT: "corrupt",
    ExitCode.BUSY: "busy",
    ExitCode.ABORTED: "interrupted",
}


def _run(a: argparse.Namespace, output: Output) -> ExitCode:
    from agent import commands

    return commands.run(a.workspace, a.session, a.prompt, output)


def _resume(a: argparse.Namespace, output: Output) -> ExitCode:
    from agent import commands

    return commands.resume(a.workspace, a.session, output)


# The commands that work are imported when they are given: the others start twice as fast.
_COMMANDS: Mapping[str, Callable[[argparse.Namespace, Output], ExitCode]] = {
    "run": _run,
    "resume": _resume,
    "sessions": lambda a, _: reports.sessions(a.workspace),
    "show": lambda a, _: reports.show(a.workspace, a.session),
    "inspect": lambda a, _: reports.inspect(a.file),
    "plan": lambda a, _: reports.plan(a.file, a.config),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    _use_utf8(sys.stdout)
    _use_utf8(sys.stderr)
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as exit_:  # argparse has printed what was wrong, or the help
        return int(exit_.code or 0)
    output = Output(sys.stdout, sys.stderr, events=getattr(arguments, "json", False))
    try:
        return int(_COMMANDS[arguments.command](arguments, output))
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agent", description="A durable, crash-only agent."
    )
    command = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = command.add_parser("run", help="accept a prompt and work on it to its end")
    run.add_argument("--session", metavar="ID", help="session to begin or go on with (UUIDv7)")
    run.add_argument("prompt", metavar="PROMPT")
    resume = command.add_parser("resume", help="bring an unfinished operation to its end")
    resume.add_argument("session", metavar="SESSION", help="id or file")
    sessions = command.add_parser("sessions", help="list the sessions of a workspace")
    show = command.add_parser("show", help="print a session")
    show.add_argument("session", metavar="SESSION", help="id or file")
    for parsed in (run, resume, sessions, show):
        parsed.add_argument("--workspace", metavar="DIR", default=".", help="default: here")
    for parsed in (run, resume):
        parsed.add_argument("--json", action="store_true", help="print events as JSON lines")
    inspect = command.add_parser("inspect", help="reduce a log to its state, as JSON")
    plan = command.add_parser("plan", help="print the recovery plan of a log, as JSON")
    for parsed in (inspect, plan):
        parsed.add_argument("file", metavar="FILE")
    plan.add_argument("--config", metavar="CURRENT.json", required=True)
    return parser


def _use_utf8(stream: TextIO) -> None:
    """Whatever the locale says: the log is UTF-8, and a reply must not fail to print."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
