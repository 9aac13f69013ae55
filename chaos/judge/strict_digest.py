"""The digest of a JSON value: `sha256:` of its canonical form (RFC 8785).

Promises one digest per value, whatever the order of its keys.

Source: session contract, section 2.
"""

from __future__ import annotations

import hashlib

import rfc8785


def digest_of(value: object) -> str:
    """`sha256:` and 64 hex digits. `value` holds objects, arrays, strings and null only."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()  # type: ignore[arg-type]
