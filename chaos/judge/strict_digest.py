"""The digest of a JSON value: `sha256:` of its canonical form (RFC 8785).

Promises one digest per value, whatever the order of its keys. Remembers recent ones, because a
sweep judges the same configuration snapshot thousands of times.

Source: session contract, section 2.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

import rfc8785


def digest_of(value: object) -> str:
    """`sha256:` and 64 hex digits. `value` holds objects, arrays, strings and null only."""
    return _digest_of_text(json.dumps(value, ensure_ascii=False))


@lru_cache(maxsize=256)
def _digest_of_text(text: str) -> str:
    return "sha256:" + hashlib.sha256(rfc8785.dumps(json.loads(text))).hexdigest()
