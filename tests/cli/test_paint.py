"""Colour sets words apart and changes none of them."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.cli.paint import in_colour, painted
from chaos.report.explain import explain
from chaos.report.visible import visible
from tests.report import sample

_ESCAPE = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("terminal", "environment", "colour"),
    [
        (True, {}, True),
        (False, {}, False),  # a pipe, a file, CI
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),  # empty is not set
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_who_gets_colours(
    terminal: bool, environment: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    assert in_colour(stream) is colour
    assert ("\x1b[" in painted("VIOLATION  x\n", stream)) is colour


def test_a_failure_in_colour_is_the_same_text() -> None:
    text = explain(sample.violated(), "x.json")
    drawn = painted(text, Terminal())
    assert _ESCAPE.sub("", drawn) == text
    assert "\x1b[1;31mVIOLATION\x1b[0m" in drawn
    assert "\x1b[1;31mE2\x1b[0m" in drawn
    assert "\x1b[32m0\x1b[0m\n" in drawn  # what was expected
    assert "\x1b[1mlaunch 1 (run): agent killed" in drawn
    assert "\x1b[2mhappened\x1b[0m\n" in drawn  # a label


@given(st.text(st.characters(), max_size=300))
def test_whatever_others_wrote_is_the_same_text(text: str) -> None:
    shown = f"  found     {visible(text)}\n"
    assert _ESCAPE.sub("", painted(shown, Terminal())) == shown


def test_long_lines_are_not_broken() -> None:
    line = f"  found     {'ü漢' * 400}\n"
    assert _ESCAPE.sub("", painted(line, Terminal())) == line


@pytest.mark.parametrize("columns", ["0", "", "1"])
def test_a_terminal_of_no_width_hides_nothing(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "one fault" in painted("one fault\n", None)
