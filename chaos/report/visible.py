"""Text that others wrote, made safe to print.

An agent, a tool or a model may have written anything: terminal control sequences, text that runs
backwards, half a character. `visible` keeps what can be read and writes the rest as escapes.
`without_secret` takes the target's API key out of what is shown or saved.

Pure. The evidence itself keeps every byte.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

SECRET = "[api key]"  # noqa: S105 - what is shown in the place of one

# Controls; marks such as the right-to-left override; lone surrogates; separators; unassigned.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"}


def visible(text: str, limit: int = 2000) -> str:
    """`text` on one line, printable, cut in the middle beyond `limit` characters."""
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]} … {len(text) - 2 * half} characters left out … {text[-half:]}"
    # Nearly all texts are: what is printable has none of _HIDDEN.
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def without_secret(value: Any, secret: str) -> Any:
    """`value` (text, bytes, JSON-like data, dataclasses) with every `secret` in it replaced."""
    if not secret:
        return value
    if isinstance(value, str):
        return value.replace(secret, SECRET)
    if isinstance(value, bytes):
        return value.replace(secret.encode(), SECRET.encode())
    if isinstance(value, Mapping):
        return {
            without_secret(key, secret): without_secret(item, secret) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(without_secret(item, secret) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        told = {each.name: getattr(value, each.name) for each in fields(value)}
        return replace(value, **without_secret(told, secret))
    return value
