"""Where each key of a TOML text stands.

`tomllib` gives values without their lines; an error message needs them. `key_lines` walks the
same text once and notes the line of every table, key and array element, by path:
`("provider", "turn", 1, "content") -> 14`.

Pure. Promises nothing for text that `tomllib` refuses: check the syntax first.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")
_BASIC = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LITERAL = re.compile(r"'([^']*)'")
_BASIC_BLOCK = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}(?!")', re.DOTALL)
_LITERAL_BLOCK = re.compile(r"'''.*?'{3,5}(?!')", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def key_lines(text: str) -> dict[Path, int]:
    """The 1-based line of every path in a valid TOML text; of a repeated path, the first."""
    return _Walk(text).document()


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.lines: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}  # tables so far in each array of tables
        self._counted_to = 0
        self._line = 1

    def document(self) -> dict[Path, int]:
        table: Path = ()
        self.take(_BETWEEN)
        while self.pos < len(self.text):
            if self.text.startswith("[", self.pos):
                table = self.header()
            else:
                self.pair(table)
            self.take(_BETWEEN)
        return self.lines

    def header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the path that the keys after it belong to."""
        line = self.line()
        many = self.text.startswith("[[", self.pos)
        self.pos += 2 if many else 1
        keys = self.keys()
        self.pos += 2 if many else 1
        path: Path = ()
        for depth, key in enumerate(keys, 1):
            path = (*path, key)
            self.note(path, line)
            if many and depth == len(keys):
                self.counts[path] = self.counts.get(path, 0) + 1
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
                self.note(path, line)
        return path

    def pair(self, table: Path) -> None:
        """`a.b = value`."""
        line = self.line()
        path = table
        for key in self.keys():
            path = (*path, key)
            self.note(path, line)
        self.pos += 1  # the equals sign
        self.value(path)

    def keys(self) -> list[str]:
        found = []
        while True:
            self.take(_BLANK)
            found.append(self.key())
            self.take(_BLANK)
            if not self.text.startswith(".", self.pos):
                return found
            self.pos += 1

    def key(self) -> str:
        if self.text.startswith('"', self.pos):
            return _ESCAPE.sub(_unescape, self.take(_BASIC)[1:-1])
        if self.text.startswith("'", self.pos):
            return self.take(_LITERAL)[1:-1]
        return self.take(_BARE_KEY)

    def value(self, path: Path) -> None:
        self.take(_BLANK)
        for opening, pattern in (
            ('"""', _BASIC_BLOCK),
            ("'''", _LITERAL_BLOCK),
            ('"', _BASIC),
            ("'", _LITERAL),
        ):
            if self.text.startswith(opening, self.pos):
                self.take(pattern)
                return
        if self.text.startswith("[", self.pos):
            self.array(path)
        elif self.text.startswith("{", self.pos):
            self.inline_table(path)
        else:
            self.take(_BARE_VALUE)

    def array(self, path: Path) -> None:
        index = 0
        self.pos += 1
        self.take(_BETWEEN)
        while not self.text.startswith("]", self.pos):
            self.note((*path, index), self.line())
            self.value((*path, index))
            index += 1
            self.separator()
        self.pos += 1

    def inline_table(self, path: Path) -> None:
        self.pos += 1
        self.take(_BETWEEN)
        while not self.text.startswith("}", self.pos):
            self.pair(path)
            self.separator()
        self.pos += 1

    def separator(self) -> None:
        self.take(_BETWEEN)
        if self.text.startswith(",", self.pos):
            self.pos += 1
            self.take(_BETWEEN)

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.pos)
        assert match is not None, "tomllib accepted a text that this walk does not understand"  # noqa: S101
        self.pos = match.end()
        return match[0]

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self.pos)
        self._counted_to = self.pos
        return self._line

    def note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)
