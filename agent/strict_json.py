"""JSON as strict as the log needs it, for the log itself and for tool arguments.

Pure. Beyond RFC 8259 it refuses what two readers could understand differently: equal keys in one
object, lone surrogates (raw or escaped), NaN and Infinity, numbers too large for a double, and
nesting deeper than a fixed bound (so that the answer never depends on the stack).

A number without fraction is an integer however it is written (`1`, `1.0`, `1e0`), as JSON Schema
says, and is returned as `int`. Integers too long for a double's exact range stay exact.

It does not judge shapes; `shapes` does.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

JSON = Any  # None | bool | int | float | str | list[JSON] | dict[str, JSON]

MAX_DEPTH = 256
_EXACT = 2**53 - 1  # the largest integer that a double holds with all its neighbours

# One string, or one bracket outside strings. Possessive, so that a long string cannot backtrack.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)

_OPENING = ("{", "[")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class StrictJSONError(ValueError):
    """The text is not one strict JSON value; the message says what is wrong and where."""


def _object(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise StrictJSONError(f"the key {twice!a} stands twice in one object")
    return found


def _constant(name: str) -> NoReturn:
    raise StrictJSONError(f"{name} is not JSON")


def _number(text: str) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise StrictJSONError(f"the number {text[:40]} is too large for a double")
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
)


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> JSON:
    """Read exactly one JSON value. Raises StrictJSONError and nothing else."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        if text.count("[") + text.count("{") > max_depth and _depth(text) > max_depth:
            raise StrictJSONError(f"nested deeper than {max_depth} levels")  # noqa: TRY301
        if isinstance(data, str):
            data.encode("utf-8")
        if text[:1] in _OPENING:  # a line of the log: no white space to skip
            value, end = _decoder.raw_decode(text)
            if end != len(text) and text[end:].strip(" \t\r\n"):
                raise StrictJSONError(f"more than one JSON value at character {end}")  # noqa: TRY301
        else:
            value = _decoder.decode(text)
        if "\\u" in text:
            _refuse_surrogates(value)
    except StrictJSONError:
        raise
    except json.JSONDecodeError as error:
        raise StrictJSONError(f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise StrictJSONError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise StrictJSONError(f"not UTF-8 at byte {error.start}") from None
    except UnicodeEncodeError as error:
        raise StrictJSONError(f"a lone surrogate at character {error.start}") from None
    except ValueError:  # Python converts no integer of more digits than its own bound
        raise StrictJSONError("an integer has too many digits") from None
    return value


def dumps(value: JSON) -> bytes:
    """Write compact UTF-8 in one line. Raises StrictJSONError for what `loads` would refuse."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise StrictJSONError(f"a lone surrogate at character {error.start}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise StrictJSONError(f"cannot be written as JSON: {error}") from None


def _depth(text: str) -> int:
    """The deepest nesting of brackets outside strings."""
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in ("[", "{"):
            depth += 1
            deepest = max(deepest, depth)
        elif mark in ("]", "}"):
            depth -= 1
    return deepest


def _refuse_surrogates(value: JSON) -> None:
    """Decoding joins every escaped pair, so a surrogate that is left in `value` is alone."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and _SURROGATE.search(item):
                raise StrictJSONError("a lone surrogate in a string")
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
