"""The tool `bash`: run a shell command under the guard.

What it promises: the call is over when its whole process tree is over; standard input is empty;
the environment is the agent's own without its keys. What the command did cannot be known after a
crash, so its intent says `never`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

from agent.tools.base import Arguments, CallContext, Tool, ToolError, ToolResult
from agent.tools.output import CapturedOutput

_SHELLS = ("/bin/bash", "/bin/sh")
_DEFAULT_TIMEOUT_S = 120
_GREATEST_TIMEOUT_S = 3600


def _bash(arguments: Arguments, context: CallContext) -> ToolResult:
    # Only a process that starts a program pays for ctypes and the rest of the guard.
    from agent.guard import ToolProgram, run_guarded

    shell = next((path for path in _SHELLS if os.access(path, os.X_OK)), None)
    if shell is None:
        raise ToolError(f"there is no shell on this machine; looked for {' and '.join(_SHELLS)}")
    timeout_s: int = arguments.get("timeout", _DEFAULT_TIMEOUT_S)
    captured = CapturedOutput()
    ending = run_guarded(
        ToolProgram(
            argv=(shell, "-c", arguments["command"]),
            cwd=str(context.workspace),
            env=context.environment,
            timeout_s=timeout_s,
        ),
        context.lock_fd,
        captured.add,
        context.abort,
    )
    text, cut = captured.shown()
    notes = [captured.save(context.workspace, context.call_id)] if cut else []
    words = _ENDINGS[ending.how](ending.code, timeout_s)
    if words:
        notes.append(words)
    body = text.rstrip("\n") or "(no output)"
    return ToolResult(
        "error" if words else "success", "\n".join([body, *(f"[{note}]" for note in notes)])
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# how the call ended -> words for the model; empty: success
_ENDINGS: Mapping[str, Callable[[int, int], str]] = {
    "exit": lambda code, _: f"exit code {code}" if code else "",
    "signal": lambda code, _: f"ended by {_signal_name(code)}",
    "timeout": lambda _, timeout_s: (
        f"timed out after {timeout_s} s; the command and everything it started were killed"
    ),
    "aborted": lambda _, __: "ended, because the operation was aborted",
    "lost": lambda _, __: "the command's guard was killed; the command was killed with it",
}

BASH = Tool(
    name="bash",
    description=(
        "Run a shell command in the workspace. Standard output and error come back together, "
        "the last 2,000 lines or 50 KiB of them. Background processes end with the call."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line"},
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "maximum": _GREATEST_TIMEOUT_S,
                "description": f"Seconds, {_DEFAULT_TIMEOUT_S} by default",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    run=_bash,
)
