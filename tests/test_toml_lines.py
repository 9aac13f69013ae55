"""Lines of keys. Every number in these texts is the line on which it stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chaos.toml_lines import Path, key_lines

EVERY_FORM = '''\
plain = 1
dotted.key = 2
"quoted \\"key\\" #" = 3
'literal.key' = 4 # a comment with = and [brackets]
basic = "with # and \\" and ]"
after_basic = 6
block = """
[not.a.table]
key = "no" ""
\\""" """
after_block = 11
literal_block = \'\'\'
a = 'b' \\\'\'\'
after_literal_block = 14
ends_in_quotes = """one ""two"""""
after_quotes = 16
array = [ # comment ]
  18,
  19, [19, 19], # nested
  { a = 20, b = { c = 20 } }, "]", 20,
]
date = 1979-05-27 07:32:00Z
after_date = 23

[table]
a = 26
[table.sub]
a = 28

[[many]]
a = 31
  [many.sub]
  a = 33
  [[many.deep]]
  a = 35
  [[many.deep]]
  a = 37
[[many]]
a = 39
[ many . sub ]
a = 41
[[many."de.ep"]]
a = 43
'''


def numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, int]]:
    """Every integer of a document with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from numbers(item, (*path, index))
    elif type(value) is int:
        yield path, value


def assert_lines_are_right(text: str) -> None:
    lines = key_lines(text)
    for path, line in numbers(tomllib.loads(text)):
        assert lines[path] == line, f"{path} in\n{text}"


def test_every_form_of_toml() -> None:
    assert_lines_are_right(EVERY_FORM)


def test_windows_line_ends() -> None:
    assert_lines_are_right(EVERY_FORM.replace("\n", "\r\n"))


def test_a_table_and_each_element_have_lines_too() -> None:
    lines = key_lines('[a.b]\nc = [\n"x",\n]\n[[d]]\n[[d]]\n')
    assert lines[("a",)] == lines["a", "b"] == 1
    assert lines["a", "b", "c", 0] == 3
    assert lines[("d",)] == lines["d", 0] == 5
    assert lines["d", 1] == 6


# Pieces of one or more lines that a value, a comment or a blank may be; none holds a number.
FILLERS = (
    "",
    "# [x] = ''' \"\"\" {",
    'KEY = "a # \\" ] }"',
    "KEY = '\\'",
    'KEY = """\n[t]\nx = "" \\\\"""',
    "KEY = '''\n'' # \\'''",
    'KEY = ["a",\n  # ]\n  ["b"], ]',
    'KEY = { a = "}", b = [] }',
    'KEY = """"""',
    "KEY = false # true",
)


@given(st.lists(st.sampled_from(FILLERS), max_size=12), st.sampled_from(["[T]", "[[T]]", ""]))
def test_a_number_after_anything(fillers: list[str], header: str) -> None:
    text = f"{header}\n"
    for index, filler in enumerate(fillers):
        text += filler.replace("KEY", f"k{index}") + "\n"
        text += f"n{index} = {text.count(chr(10)) + 1}\n"
    assert_lines_are_right(text)
