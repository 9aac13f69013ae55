"""Edits of the written bytes: framing, encoding, JSON. Each says what it did."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.loggen.slots import Rng


def flip_byte(rng: Rng, data: bytes) -> tuple[bytes, str]:
    if not data:
        return data, "empty"
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :], f"byte {at} changed"


def cut_tail(rng: Rng, data: bytes) -> tuple[bytes, str]:
    at = rng.randrange(len(data) + 1)
    return data[:at], f"cut to {at} bytes"


def crlf(rng: Rng, data: bytes) -> tuple[bytes, str]:
    return _at_line_end(rng, data, b"\r", "CR LF")


def trailing_space(rng: Rng, data: bytes) -> tuple[bytes, str]:
    return _at_line_end(rng, data, rng.choice([b" ", b"\t", b" \t ", b"\x0b"]), "space at the end")


def blank_line(rng: Rng, data: bytes) -> tuple[bytes, str]:
    text = rng.choice([b"", b" ", b"\t", b"\r", b"\xe3\x80\x80", b"\xe2\x80\x8b"])
    return _at_line_end(rng, data, b"\n" + text, "blank line")


def _at_line_end(rng: Rng, data: bytes, inserted: bytes, what: str) -> tuple[bytes, str]:
    ends = [at for at, byte in enumerate(data) if byte == 10]
    if not ends:
        return data, "no line"
    at = rng.choice(ends)
    return data[:at] + inserted + data[at:], f"{what} at {at}"


def insert_bytes(rng: Rng, data: bytes) -> tuple[bytes, str]:
    at = rng.choice([0, rng.randrange(len(data) + 1)])
    what = rng.choice([b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\x00", b" ",
                       b'"', b",", b"\\ud800", b"\xc0\xaf", b"\r", b"[" * 100_000])  # fmt: skip
    return data[:at] + what + data[at:], f"{what[:6]!r} at {at}"


def repeat_key(rng: Rng, data: bytes) -> tuple[bytes, str]:
    keys = [match.start() for match in re.finditer(rb'"\w+":', data)]
    if not keys:
        return data, "no key"
    at = rng.choice(keys)
    key = data[at : data.index(b":", at)]
    return data[:at] + key + b":null," + data[at:], f"{key.decode()} twice"


def glue_lines(rng: Rng, data: bytes) -> tuple[bytes, str]:
    ends = [at for at, byte in enumerate(data) if byte == 10]
    if not ends:
        return data, "no line"
    at = rng.choice(ends)
    return data[:at] + data[at + 1 :], f"LF at {at} removed"


BYTE_EDITS: list[tuple[int, Callable[[Rng, bytes], tuple[bytes, str]]]] = [
    (6, flip_byte),
    (4, cut_tail),
    (1, crlf),
    (1, trailing_space),
    (2, blank_line),
    (3, insert_bytes),
    (2, repeat_key),
    (1, glue_lines),
]
