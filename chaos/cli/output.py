"""Where the command line writes: results to stdout, messages to stderr.

A result that cannot be written is an error, which the exit code tells; a message that cannot be
written changes nothing.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from chaos.cli.paint import painted
from chaos.errors import HarnessError, UsageError
from chaos.whole import write_whole

STDOUT = "-"  # a file's name that means standard output


def prepare_streams() -> None:
    """Keep the numbers of closed standard streams from files opened later, and make the others
    print an escape where the locale lacks a character. Raises HarnessError if stdout is closed."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        raise HarnessError(
            "standard output is closed; let it lead somewhere, at least to /dev/null"
        )


def say(text: str) -> None:
    """Text of a result, LF included, seen at once. Raises HarnessError if it cannot be written,
    BrokenPipeError if the reader has gone (`chaos run | head`)."""
    with failing_well():
        sys.stdout.write(text)
        sys.stdout.flush()


def show(text: str) -> None:
    """The same, of a report that a person reads: in colour where that is wanted."""
    say(painted(text, sys.stdout))


@contextmanager
def failing_well() -> Iterator[None]:
    """What goes wrong with writing to stdout, as `say` tells it."""
    try:
        yield
    except OSError as error:
        _give_up(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise
        raise HarnessError(f"standard output cannot be written: {error.strerror}") from None


def tell(text: str) -> None:
    """Text for the person at the terminal, LF included."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)


def near(path: Path) -> str:
    """As a file is named from here, where it is below: what a person copies."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def near_each(files: Mapping[str, str]) -> dict[str, str]:
    """The failure files by schedule id, as they are named from here: for what is read on another
    machine, or carried to one. A person here is told whole paths, for any directory."""
    return {ident: near(Path(file)) for ident, file in files.items()}


def complain(message: str) -> None:
    """A message for the person at the terminal."""
    tell(f"chaos: {message}\n")


def _give_up(stream: TextIO) -> None:
    """Let what `stream` still holds go to nowhere, or Python would fail on it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def check_writable(file: str | None) -> None:
    """Refuse before a sweep of a minute, not after it."""
    if file in (None, STDOUT):
        return
    path = Path(str(file))
    there = path if path.exists() and not path.is_file() else path.parent
    if path.is_dir() or not path.parent.is_dir() or not os.access(there, os.W_OK):
        raise UsageError(
            f"{file}: cannot be written; expected a file in a folder that exists and can be "
            "written to"
        )


def write_report(file: str | None, text: str) -> None:
    """Write a report where the command line asked for one. Raises HarnessError."""
    if file == STDOUT:
        say(text)
    elif file is not None:
        try:
            write_whole(Path(file), text)
        except OSError as error:
            raise HarnessError(f"{file}: cannot be written: {error.strerror}") from None
