"""Colour for the report on a terminal: the same text, with the words that count set apart.

A table says what is set apart; it is looked for in the finished text, so that nothing else knows of
colours and what is printed without them is the same. rich draws it. Only the sixteen colours of the
terminal's own theme.

    NO_COLOR=1     never
    FORCE_COLOR=1  always, for a CI that shows colours
    otherwise      on a terminal that is not TERM=dumb
"""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.text import Text

# In order: what comes later wins. The group is what is set apart, or else the whole match.
_SET_APART = (
    (r"^  ([a-z]+(?: it)?)(?=  |$)", "dim"),  # labels
    (r"^(VIOLATION|HARNESS_ERROR)  .*", "bold red"),
    (r"^(INCONCLUSIVE)  .*", "bold yellow"),
    (r"^  ([LPERX]\d+)  .*", "bold red"),
    (r"^  PASS  ", "green"),
    (r"^  (VIOLATION|HARNESS_ERROR)  ", "red"),
    (r"^  (INCONCLUSIVE)  ", "yellow"),
    (r"^  killed    (.*)", "bold"),
    (r"^  expected  (.*)", "green"),
    (r"^  found     (.*)", "red"),
    (r"^    >.*", "bold"),
    (r"^ +[\d.]+ ms  (KILL     .*)", "bold red"),
    (r"^  again     (.*)", "bold"),
    (r"\b\d+ passed\b", "green"),
    (r"\b\d+ (?:VIOLATION|HARNESS_ERROR)\b", "bold red"),
    (r"\b\d+ INCONCLUSIVE\b", "bold yellow"),
)


def is_plain_terminal(stream: TextIO | None) -> bool:
    """Is this a terminal that can move its cursor?"""
    return stream is not None and stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def in_colour(stream: TextIO | None) -> bool:
    """Are there to be colours in what goes there?"""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_plain_terminal(stream)


def painted(text: str, stream: TextIO | None) -> str:
    """`text`, with colours where `stream` is to have them."""
    if not in_colour(stream):
        return text
    from rich.console import Console  # slow to import, and of no use in CI

    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        _environ=surroundings(),
    )
    console.print(set_apart(text), end="", soft_wrap=True)
    return out.getvalue()


def surroundings() -> dict[str, str]:
    """The environment for rich, which would draw nothing at all on a terminal of no width."""
    sizes = {name for name in ("COLUMNS", "LINES") if not os.environ.get(name, "").strip("0 ")}
    return {name: value for name, value in os.environ.items() if name not in sizes}


def set_apart(text: str) -> Text:
    """The same, for rich to draw."""
    from rich.text import Text  # as above

    drawn = Text(text)
    for pattern, style in _SET_APART:
        for match in re.finditer(pattern, text, re.MULTILINE):
            drawn.stylize(style, *match.span(1 if match.re.groups else 0))
    return drawn
