"""The canonical form of session logs and crash images: what is left when chance is taken away.

Pure. Two runs of the same thing give the same bytes; a different fact, effect or file content
gives different ones. Taken away are:

- UUIDv7, replaced by their order of appearance: `#1`, `#2` …
- the `timestamp` of a fact and the header's `createdAt`, replaced by 0
- the texts named by the caller (paths, port, token), replaced by their label: `#<ROOM>`
- digests over these, recomputed over the canonical values: the configuration's and the
  compaction's. One that does not match its own values is left as it stands. The digest of the
  system prompt, whose text the log does not hold, is replaced by its order of appearance
- key order and white space between tokens; a torn tail, of which only the class is kept

A `#` of the log itself is doubled, so that nothing the target writes can look like a label.

Promises never to raise: a line that is not strict JSON stands by the hash of its bytes. Does not
verify a log (`chaos.judge.strict` does) and knows the dialect session-v2 only.

Source: design section 3; session contract sections 1, 2 and 4.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import rfc8785

from chaos.strict_json import StrictJSONError, parse_json

_UUID7 = (
    r"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-f])"
)
_UTC_NAME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:-\d{1,9})?Z?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_SAFE = 2**53 - 1
_MAX_DEPTH = 100  # of a fact; a line with a deeper one stands by its bytes
_EXCERPT = 60  # characters shown on each side of a difference


def canonical_log(data: bytes, substitutions: Mapping[str, str] | None = None) -> bytes:
    """The canonical form of a session log: its lines, then the class of its torn tail.

    `substitutions` maps texts that change from run to run to their labels.
    """
    return _Canon(substitutions or {}).log(data)


def image_key(
    log: bytes,
    files: Mapping[str, str],
    effects: Sequence[str],
    accepted: int,
    state_files: Sequence[str],
    substitutions: Mapping[str, str] | None = None,
    *,
    ahead: Sequence[str] = (),
) -> str:
    """The name of a crash image: hex SHA-256 over its canonical form.

    `files` maps workspace paths to content hashes, `effects` is the effect journal in order,
    `accepted` counts the prompts that are durable, `state_files` names the target's own files,
    `ahead` tells what the scenario still holds: the step that comes next, events of later launches.
    """
    last = _last_canon(tuple(sorted((substitutions or {}).items())))
    text = last.log(log)
    canon = last.copy()
    image = {
        "log": text.decode("ascii"),
        "files": {canon.text(name): files[name] for name in sorted(files)},
        "effects": [canon.text(effect) for effect in effects],
        "accepted": accepted,
        "ahead": list(ahead),
        "state_files": sorted(
            _UTC_NAME.sub("#time", canon.text(name)) for name in sorted(state_files)
        ),
    }
    return hashlib.sha256(_dumps(image)).hexdigest()


def first_difference(a: bytes, b: bytes) -> str:
    """Where two canonical logs part, for a person: line, column, expected (a), found (b).

    Empty when they are equal.
    """
    if a == b:
        return ""
    left, right = a.split(b"\n"), b.split(b"\n")
    number = next(
        (n for n, (x, y) in enumerate(zip(left, right, strict=False)) if x != y),
        min(len(left), len(right)),
    )
    expected, found = (_line(lines, number) for lines in (left, right))
    column = next(
        (n for n, (x, y) in enumerate(zip(expected, found, strict=False)) if x != y),
        min(len(expected), len(found)),
    )
    return (
        f"line {number + 1}, column {column + 1}: expected {_around(expected, column)}, "
        f"found {_around(found, column)}"
    )


@lru_cache(maxsize=16)
def _last_canon(substitutions: tuple[tuple[str, str], ...]) -> _Canon:
    """The form of the log that `image_key` was asked for last: the next one mostly begins with it,
    as logs grow, and then only what is new has to be read."""
    return _Canon(dict(substitutions))


class _Canon:
    """One canonical form in the making: what was replaced so far, and by what."""

    def __init__(self, substitutions: Mapping[str, str]) -> None:
        self._labels = substitutions
        # The longest text first: one may be the beginning of another.
        texts = sorted(filter(None, substitutions), key=len, reverse=True)
        self._changing = re.compile("|".join([_UUID7, *map(re.escape, texts), "#"]))
        self._begin()

    def _begin(self) -> None:
        self._read = b""  # the lines that stand in canonical form below
        self._lines: list[bytes] = []
        self._ids: dict[str, str] = {}
        self._prompts: dict[str, str] = {}
        self._messages: dict[str, Any] = {}  # of message entries, by the entry's id

    def copy(self) -> _Canon:
        """One to go on with, that leaves this one as it is."""
        made = copy(self)
        made._ids = dict(self._ids)
        return made

    def log(self, data: bytes) -> bytes:
        """See `canonical_log`. A log that goes on where the last one ended costs what is new."""
        end = data.rfind(b"\n") + 1
        if not data[:end].startswith(self._read):
            self._begin()
        new, self._read = data[len(self._read) : end], data[:end]
        self._lines += [self._line(line) for line in new.split(b"\n")[:-1]]
        return b"".join(
            line + b"\n" for line in [*self._lines, b"#torn " + _torn_class(data[end:])]
        )

    def text(self, text: str) -> str:
        """A text without what changes from run to run."""
        return self._changing.sub(self._replacement, text)

    def _replacement(self, match: re.Match[str]) -> str:
        found = match[0]
        if found == "#":
            return "##"
        if found in self._labels:
            return f"#<{self._labels[found]}>"
        return self._ids.setdefault(found, f"#{len(self._ids) + 1}")

    def value(self, value: Any, depth: int = 0) -> Any:
        """A JSON value likewise, in the order of its sorted keys. Keys are left alone.

        Raises RecursionError beyond _MAX_DEPTH, not where the caller's stack happens to end.
        """
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, (list, dict)):
            return value
        if depth == _MAX_DEPTH:
            raise RecursionError
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        return {key: self.value(value[key], depth + 1) for key in sorted(value)}

    def _line(self, line: bytes) -> bytes:
        """One line: a transaction, the header, or bytes that are neither."""
        value = _parse(line)
        self._messages |= _messages(value)
        try:
            if isinstance(value, list):
                return _dumps([self._fact(fact) for fact in value])
            return _raw(line) if value is None else _dumps(self._fact(value))
        except RecursionError:
            return _raw(line)

    def _fact(self, fact: Any) -> Any:
        """A header or a fact, its clock stopped and its digests renewed."""
        canonical = self.value(fact)
        if not isinstance(fact, dict):
            return canonical
        for clock in ("timestamp", "createdAt"):
            if type(fact.get(clock)) is int and 0 <= fact[clock] <= _MAX_SAFE:
                canonical[clock] = 0
        record = fact.get("record")
        if isinstance(record, dict):
            self._renew_configuration(record, canonical["record"])
            self._renew_sources(record, canonical["record"])
        return canonical

    def _renew_configuration(self, record: dict[str, Any], canonical: dict[str, Any]) -> None:
        snapshot = record.get("configurationSnapshot")
        digest = record.get("configurationDigest")
        if not isinstance(snapshot, dict) or digest is None or digest != _digest(snapshot):
            return
        prompt = snapshot.get("systemPromptDigest")
        if isinstance(prompt, str) and _DIGEST.fullmatch(prompt):
            name = self._prompts.setdefault(prompt, f"#prompt{len(self._prompts) + 1}")
            canonical["configurationSnapshot"]["systemPromptDigest"] = name
        canonical["configurationDigest"] = _digest(canonical["configurationSnapshot"])

    def _renew_sources(self, record: dict[str, Any], canonical: dict[str, Any]) -> None:
        compacted, retained = record.get("compactedEntryIds"), record.get("retainedEntryIds")
        if not isinstance(compacted, list) or not isinstance(retained, list):
            return
        sources = [
            {"sourceEntryId": entry, "message": self._messages.get(entry)}
            for entry in (*compacted, *retained)
            if isinstance(entry, str)
        ]
        if record.get("sourceDigest") == _digest(sources):
            canonical["sourceDigest"] = _digest(self.value(sources))


def _messages(value: Any) -> dict[str, Any]:
    """The message of each message entry of a line, by the entry's id."""
    found: dict[str, Any] = {}
    for fact in value if isinstance(value, list) else [value]:
        entry = fact.get("entry") if isinstance(fact, dict) else None
        if isinstance(entry, dict) and "message" in entry and isinstance(fact.get("id"), str):
            found[fact["id"]] = entry["message"]
    return found


def _parse(line: bytes) -> Any:
    """The value of a line; None where it stands by its bytes alone (`null` is no fact either)."""
    # CR before LF is white space to JSON, but corruption to the contract: it must stay visible.
    try:
        return None if line.endswith(b"\r") else parse_json(line)
    except StrictJSONError:
        return None


def _raw(line: bytes) -> bytes:
    return b"#raw " + hashlib.sha256(line).hexdigest().encode()


def _torn_class(torn: bytes) -> bytes:
    """Recovery cuts a torn tail whatever it is; whole lines without their LF are told apart
    because a reader that takes them for facts is a fault of its own."""
    if not torn:
        return b"none"
    return b"partial" if _parse(torn) is None else b"whole-line-without-LF"


def _digest(value: Any) -> str | None:
    """The contract's digest of a value; None for one that has no canonical JSON."""
    try:
        return _digest_of(_dumps(value))
    except (rfc8785.CanonicalizationError, RecursionError):
        return None


@lru_cache(maxsize=256)
def _digest_of(text: bytes) -> str:
    """Of a value by its text. Remembered: a configuration stands in every attempt of a log."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(json.loads(text))).hexdigest()


def _dumps(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _line(lines: Sequence[bytes], number: int) -> str:
    return lines[number].decode("utf-8", "replace") if number < len(lines) else "(no such line)"


def _around(line: str, column: int) -> str:
    start, end = max(0, column - _EXCERPT), column + _EXCERPT
    return f"{'…' * (start > 0)}{line[start:end]}{'…' * (end < len(line))}"
