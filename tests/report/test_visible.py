"""What others wrote, made safe to print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.report.visible import SECRET, visible, without_secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode ✓ 🌧", "plain ünïcode ✓ 🌧"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),  # colours, the bell
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\x9b2J", "\\x9b2J"),  # a control sequence in one C1 character
        ("abc\u202edcba", "abc\\u202edcba"),  # runs backwards on a terminal
        ("\ud83d", "\\ud83d"),  # half of a pair: could not even be printed
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_only_what_can_be_seen_is_left(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_it_can_always_be_printed_on_one_line(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


def test_long_text_keeps_both_ends() -> None:
    shown = visible("a" * 50 + "b" * 50, limit=10)
    assert shown == "aaaaa … 90 characters left out … bbbbb"


def test_the_secret_is_taken_out_of_text_and_data() -> None:
    data = {"k": ["x key1 y", {"key1": 1}], "n": 3}
    assert without_secret(data, "key1") == {"k": [f"x {SECRET} y", {SECRET: 1}], "n": 3}
    assert without_secret("abc", "") == "abc"
