"""Typed reading of a TOML text, with errors that name file, line and the nearest right key.

`read_toml` gives the root `Table`; a reader asks it for what it expects, by type, and the first
thing that is otherwise raises `ScenarioError("path:line: …")`. Scenario and target files are read
with it.

Pure: it reads text, not files. It knows nothing of what the keys mean.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from chaos.errors import ScenarioError
from chaos.toml_lines import Path, key_lines

# Linux passes 128 KiB in one argument or variable; the rest is for the words around it.
MOST_PASSED_BYTES = 120 * 1024

_KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "a table",
}
_SYNTAX = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of.*)\)")


def nearest(word: str, known: Collection[str]) -> str:
    """`; did you mean 'x'?` for the closest known word, else the list of them."""
    close = get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known here: {', '.join(sorted(known))}" if known else ""


def read_toml(text: str, path: str) -> Table:
    """The root table of a TOML text. Raises ScenarioError for text that is not TOML."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise ScenarioError(f"{path}: not TOML that can be used: nested too deeply") from None
    except ValueError as error:
        match = _SYNTAX.fullmatch(str(error))
        line = int(match["line"] or text.count("\n") + 1) if match else 1
        what = match["what"] if match else str(error)
        column = f" (column {match['column']})" if match and match["column"] else ""
        raise ScenarioError(f"{path}:{line}: not valid TOML: {what}{column}") from None
    return Table(path, key_lines(text), (), data)


class Table:
    """One table of the file. Every getter refuses a value of another type."""

    def __init__(
        self, path: str, lines: Mapping[Path, int], at: Path, data: Mapping[str, Any]
    ) -> None:
        self.path = path
        self._lines = lines
        self._at = at
        self._data = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def names(self) -> tuple[str, ...]:
        """The keys that are there, in the order of the file."""
        return tuple(self._data)

    def error(self, message: str, *keys: str | int) -> ScenarioError:
        """An error at the line of `keys` below this table; of a table that is not there, line 1."""
        line = self._lines.get((*self._at, *keys), 1)
        return ScenarioError(f"{self.path}:{line}: {message}")

    def only(self, *known: str) -> None:
        """Refuse any key that is not among `known`."""
        for key in self._data:
            if key not in known:
                raise self.error(f"unknown key {self._name(key)!r}{nearest(key, known)}", key)

    def text(self, key: str, default: str | None = None) -> str:
        """A string of one line or more that is not blank; required without a default."""
        value = self._get(key, str, default)
        if key in self._data and not value.strip():
            raise self.error(f"{self._name(key)} is blank; say something", key)
        self._no_nul(value, key)
        return str(value)

    def argument(self, key: str) -> str:
        """A `text` that a program is given on its command line; required."""
        value = self.text(key)
        self._passable(value, key)
        return value

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """An array of strings, none blank."""
        values = self._get(key, list, default)
        for index, value in enumerate(values):
            if not isinstance(value, str) or not value.strip():
                raise self.error(
                    f"{self._name(key)}: expected strings that are not blank, found {value!r}",
                    key,
                    index,
                )
            self._no_nul(value, key, index)
        return tuple(values)

    def whole(self, key: str, *, least: int) -> int:
        """An integer of at least `least`; required."""
        value = self._get(key, int, None)
        if value < least:
            raise self.error(f"{self._name(key)}: expected {least} or more, found {value}", key)
        return int(value)

    def seconds(self, key: str, default: float) -> float:
        """A positive number of seconds."""
        value = self._get(key, float, default)
        if not 0 < value <= 3600:  # also refuses nan and inf
            raise self.error(f"{self._name(key)}: expected seconds in 0…3600, found {value}", key)
        return float(value)

    def either(self, key: str, *kinds: type) -> Any:
        """A value of one of several types, None where there is none."""
        value = self._data.get(key)
        if value is not None and not any(_is(value, kind) for kind in kinds):
            expected = " or ".join(_KINDS[kind] for kind in kinds)
            raise self._mistyped(key, expected, value)
        return value

    def table(self, key: str) -> Table:
        """A sub-table; an empty one where there is none."""
        value = self._get(key, dict, {})
        return Table(self.path, self._lines, (*self._at, key), value)

    def tables(self, key: str) -> list[Table]:
        """An array of tables; empty where there is none."""
        values = self._get(key, list, [])
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.error(f"{self._name(key)}: expected tables, found {value!r}", key, index)
        return [
            Table(self.path, self._lines, (*self._at, key, index), value)
            for index, value in enumerate(values)
        ]

    def mapping(self, key: str, kind: type) -> dict[str, Any]:
        """A sub-table whose values are all of one type; empty where there is none."""
        below = self.table(key)
        for name, value in below._data.items():
            if not name.strip():
                raise below.error(f"{self._name(key)}: a name is blank", name)
            if not _is(value, kind):
                raise below._mistyped(name, _KINDS[kind], value)
        return dict(below._data)

    def environment(self, key: str) -> dict[str, str]:
        """A sub-table of environment variables."""
        found = self.mapping(key, str)
        for name, value in found.items():
            if "=" in name or "\0" in name + value:
                raise self.error(f"{self._name(key)}: {name!r} cannot be set", key, name)
            if name.startswith("CHAOS_"):
                raise self.error(
                    f"{self._name(key)}: {name} belongs to the harness; take another name",
                    key,
                    name,
                )
            self._passable(f"{name}={value}", key, name)
        return found

    def _passable(self, value: str, *keys: str | int) -> None:
        size = len(value.encode())
        if size > MOST_PASSED_BYTES:
            raise self.error(
                f"{self._name(str(keys[0]))}: a program can be passed {MOST_PASSED_BYTES} bytes at "
                f"once, found {size}",
                *keys,
            )

    def _get(self, key: str, kind: type, default: Any) -> Any:
        if key not in self._data:
            if default is None:
                raise self.error(f"missing key {self._name(key)!r} ({_KINDS[kind]})")
            return default
        value = self._data[key]
        if not _is(value, kind):
            raise self._mistyped(key, _KINDS[kind], value)
        return value

    def _mistyped(self, key: str, expected: str, value: object) -> ScenarioError:
        found = _KINDS.get(type(value), "a date or time")
        shown = "" if isinstance(value, dict | list) else f": {value!r}"
        return self.error(f"{self._name(key)}: expected {expected}, found {found}{shown}", key)

    def _no_nul(self, value: str, *keys: str | int) -> None:
        if "\0" in value:
            raise self.error("a NUL character cannot be passed to a program", *keys)

    def _name(self, key: str) -> str:
        """The dotted name of `key` as a person writes it: `provider.turn[2].content`."""
        name = ""
        for part in (*self._at, key):
            name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
        return name


def _is(value: object, kind: type) -> bool:
    """TOML's types: true is no number, and a whole number is a number."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
