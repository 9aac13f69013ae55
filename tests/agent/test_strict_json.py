"""Strict JSON: what the log refuses, and what it takes for the same value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.strict_json import MAX_DEPTH, StrictJSONError, dumps, loads

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b'{"a":1,"a":2}', "'a' stands twice"),
        (b'[{"x":{"a":1,"b":2,"a":1}}]', "'a' stands twice"),
        (b'"\\ud800"', "lone surrogate"),
        (b'{"\\udfff":1}', "lone surrogate"),
        (b'["\\ude00\\ud83d"]', "lone surrogate"),
        (b"NaN", "NaN is not JSON"),
        (b'{"a":-Infinity}', "-Infinity is not JSON"),
        (b"1e999", "too large"),
        (b"[" + b"9" * 5000 + b"]", "too many digits"),
        (b"{}{}", "more than one"),
        (b"{} x", "more than one"),
        (b"", "character 0"),
        (b"\xef\xbb\xbf{}", "character 0"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b"'a'", "character 0"),
        (b'{"a":1,}', "character"),
        (b'"a\tb"', "control character"),
        (b"01", "character"),
        (b'"\\x41"', "escape"),
    ],
)
def test_refuses(text: bytes, complaint: str) -> None:
    with pytest.raises(StrictJSONError, match="(?i)" + complaint):
        loads(text)


def test_refuses_a_raw_lone_surrogate_in_text() -> None:
    with pytest.raises(StrictJSONError, match="lone surrogate"):
        loads('"\ud800"')


def test_takes_an_escaped_pair_and_an_escaped_backslash() -> None:
    assert loads(b'"\\ud83d\\ude00"') == "\U0001f600"
    assert loads(rb'"\\ud800"') == r"\ud800"


def test_line_separators_of_unicode_are_ordinary_text() -> None:
    assert loads('"\u2028\u0085"') == "\u2028\u0085"


def test_white_space_around_is_free() -> None:
    assert loads(b" \t\r\n {} \n") == {}
    assert loads(b"{} \r") == {}


@pytest.mark.parametrize("text", ["1", "1.0", "1e0", "10e-1"])
def test_a_number_without_fraction_is_an_integer(text: str) -> None:
    found = loads(text)
    assert found == 1
    assert type(found) is int


def test_other_numbers_stay_what_they_are() -> None:
    assert loads("1.5") == 1.5
    assert loads("9007199254740993") == 9007199254740993
    assert type(loads("1e300")) is float


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded_whatever_the_stack(opening: str, closing: str) -> None:
    within = opening * MAX_DEPTH + "1" + closing * MAX_DEPTH
    assert loads(within)
    with pytest.raises(StrictJSONError, match="nested deeper"):
        loads(opening + within + closing)
    with pytest.raises(StrictJSONError, match="nested deeper"):
        loads(opening * 100_000)


def test_brackets_inside_strings_are_not_depth() -> None:
    text = json.dumps(["[" * 5000, '\\"[{' * 500])
    assert loads(text) == json.loads(text)


def test_written_lines_are_compact_utf8() -> None:
    assert dumps({"a": ["é", 1]}) == '{"a":["é",1]}'.encode()


@pytest.mark.parametrize("value", ["\ud800", {"\udc00": 1}, float("nan"), {1, 2}])
def test_refuses_to_write_what_it_would_not_read(value: object) -> None:
    with pytest.raises(StrictJSONError):
        dumps(value)


@given(VALUES)
def test_what_is_written_is_read_back(value: object) -> None:
    line = dumps(value)
    assert b"\n" not in line
    assert loads(line) == value


@given(st.binary(max_size=40) | st.text('[]{}",:\\u0d8NaN1e. ', max_size=40))
def test_nothing_but_its_own_error_is_ever_raised(data: bytes | str) -> None:
    try:
        loads(data)
    except StrictJSONError:
        return
    json.loads(data)
