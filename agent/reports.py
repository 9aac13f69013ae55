"""The commands that only read: `inspect`, `plan`, `sessions`, `show`.

What they promise: no lock is taken and no byte is changed. They load no part of the agent that
works, because the harness and the scripts of users start them often.
"""

from __future__ import annotations

import errno
import os
import stat

from agent import inspection, strict_json
from agent.errors import SessionError
from agent.failures import ExitCode, UsageFailure
from agent.output import printable
from agent.streams import print_result


def sessions(workspace_dir: str) -> ExitCode:
    """List the sessions of a workspace."""
    from agent.view import listing
    from agent.workspace import Workspace

    for line in listing(Workspace.at(workspace_dir)):
        _line(printable(line))
    return ExitCode.DONE


def show(workspace_dir: str, session: str) -> ExitCode:
    """Print a session for people."""
    from agent.view import transcript
    from agent.workspace import Workspace

    data = _file(str(Workspace.at(workspace_dir).known(session)))
    if b"\n" not in data:
        _line("not a session yet")
        return ExitCode.DONE
    for line in transcript(data):
        _line(printable(line))
    return ExitCode.DONE


def inspect(file: str) -> ExitCode:
    """Reduce a log and print its state or error as JSON. A corrupt log is exit 4."""
    data = _file(file)
    answer = inspection.inspect(data)
    _line(strict_json.dumps(answer).decode())
    return ExitCode.DONE if answer["ok"] else ExitCode.CORRUPT


def plan(file: str, config: str) -> ExitCode:
    """Print the recovery plan of a log under a configuration as JSON. Raises SessionError."""
    try:
        current = strict_json.loads(_file(config))
        answer = inspection.plan(_file(file), current)
    except SessionError:
        raise
    except ValueError as error:
        raise UsageFailure(f"{config}: {error}") from error
    _line(strict_json.dumps(answer).decode())
    return ExitCode.DONE


def _file(path: str) -> bytes:
    """The bytes of a regular file; a pipe or device is refused before it can hang the reader."""
    # Not by pathlib, which alone takes a tenth of the start of `inspect`.
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise UsageFailure(f"no such file: {path}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", path)
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _line(text: str) -> None:
    print_result(text + "\n")
