"""Strict JSON: what the wire and the log both demand of their bytes.

Pure. Strict means UTF-8, unique keys at every depth, no lone surrogate (raw or escaped), no NaN or
Infinity. Does not know what the value means.

Source: session contract section 1; design section 4.
"""

from __future__ import annotations

import json


class StrictJSONError(ValueError):
    """Bytes that are not strict JSON; the message says what was expected and what was found."""


def parse_json(data: bytes) -> object:
    """The value that the bytes hold. Raises StrictJSONError."""
    try:
        text = data.decode("utf-8")
        value: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        found = f"0x{data[error.start]:02x} at byte {error.start}"
        raise StrictJSONError(f"expected UTF-8, found {found}") from None
    except UnicodeEncodeError as error:
        near = error.object[max(0, error.start - 20) : error.start]
        surrogate = f"\\u{ord(error.object[error.start]):04x}"
        raise StrictJSONError(
            f"expected Unicode text, found the lone surrogate {surrogate} after {near!r}"
        ) from None
    except RecursionError:
        raise StrictJSONError("expected JSON, found it nested too deeply to read") from None
    except StrictJSONError:
        raise
    except ValueError as error:  # JSONDecodeError, or a number of more digits than Python reads
        raise StrictJSONError(f"expected JSON, found {error}") from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise StrictJSONError(f"expected unique keys, found {twice!r} twice in one object")
    return value


def _refuse_constant(name: str) -> object:
    raise StrictJSONError(f"expected JSON, found {name}")
