"""Where the command line writes: results to stdout, messages to stderr."""

from __future__ import annotations

import io
import sys


def make_printable() -> None:
    """In a locale that lacks a character, write its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Text of a result, LF included, seen at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def complain(message: str) -> None:
    """A message for the person at the terminal."""
    sys.stderr.write(f"chaos: {message}\n")
    sys.stderr.flush()
