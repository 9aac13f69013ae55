"""JSON as strictly as a session log demands it.

Promises: one JSON value per text, keys unique at every depth, every string made of Unicode scalar
values, every number finite. A number without a fraction (`1.0`, `1e3`) is an integer, as in JSON
Schema, and is returned as `int`. Does not know what a log is.

Source: session contract, section 1.
"""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

# Only an escape can bring a lone surrogate into strict UTF-8; most lines hold none.
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def decode_json(text: str) -> object:
    """The value of `text`. Raises ValueError with a reason that can be printed."""
    try:
        value: object = _DECODER.decode(text)
        if _SURROGATE_ESCAPE.search(text):
            _refuse_lone_surrogates(value)
    except RecursionError:
        raise ValueError("JSON nested too deeply to be read") from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} twice in one object")
    return members


def _number(digits: str) -> float | int:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"a number beyond all bounds: {digits[:20]}")
    return int(value) if value.is_integer() else value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name}, which is no JSON")


def _refuse_lone_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate in a string") from None


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_number,
    parse_constant=_constant,
)
