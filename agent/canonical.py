"""Canonical JSON (RFC 8785) and the digests over it.

Pure. The session contract takes digests of configuration snapshots and of compaction sources, so
equal values must give equal bytes, whatever order their keys were written in.
"""

from __future__ import annotations

import hashlib

import rfc8785

from agent.strict_json import JSON


def canonical_json(value: JSON) -> bytes:
    """The RFC 8785 bytes of `value`. Raises ValueError for what has no canonical form."""
    return rfc8785.dumps(value)


def digest(value: JSON) -> str:
    """`sha256:` and the hex SHA-256 of the canonical JSON (session contract, section 2)."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
