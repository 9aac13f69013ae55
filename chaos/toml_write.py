"""Writing TOML: what `tomllib` reads, as a text that a person can go on with.

Tables and arrays of tables of the top level get headers of their own, what is below them is
inline. `tomllib.loads(write_toml(data)) == data` for strings, numbers, booleans, arrays and tables;
dates are not written.

Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def write_toml(data: Mapping[str, Any]) -> str:
    """A TOML document. Raises TypeError for a value that it does not write."""
    return "\n".join(_lines(data)) + "\n"


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    tables = {key for key, value in data.items() if isinstance(value, Mapping)}
    arrays = {key for key, value in data.items() if _is_tables(value)}
    for key, value in data.items():
        if key not in tables | arrays:
            yield _pair(key, value)
    for key in data:
        if key in tables:
            yield from _table(_key(key), data[key])
        elif key in arrays:
            yield from _array(_key(key), data[key])


def _table(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """`[name]`; an array of tables in it has headers too (`[[provider.turn]]`)."""
    arrays = {key for key, value in table.items() if _is_tables(value)}
    if not arrays or len(arrays) < len(table):
        yield from ("", f"[{name}]")
        yield from (_pair(key, value) for key, value in table.items() if key not in arrays)
    for key in table:
        if key in arrays:
            yield from _array(f"{name}.{_key(key)}", table[key])


def _array(name: str, tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for table in tables:
        yield from ("", f"[[{name}]]")
        yield from (_pair(key, value) for key, value in table.items())


def _is_tables(value: object) -> bool:
    items = value if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, Mapping) for item in items)


def _pair(key: str, value: object) -> str:
    return f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            pairs = ", ".join(_pair(key, item) for key, item in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
    raise TypeError(f"TOML of chaos has no {type(value).__name__}")


def _text(text: str) -> str:
    """A basic string: its escapes are those of JSON, but that DEL needs one too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
