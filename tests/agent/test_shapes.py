"""Shapes: what fits, and what a complaint says about what does not."""

from __future__ import annotations

from typing import Any

import pytest

from agent.shapes import (
    Check,
    Closed,
    array,
    integer,
    non_empty,
    one_of,
    remembering,
    sha256_digest,
    string_or_null,
    tagged,
    uuid7,
)

UUID = "01900000-0000-7000-8000-00000000000a"
POINT = Closed({"id": uuid7, "kind": one_of("a", "b"), "name": non_empty}, {"note": non_empty})


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (uuid7, UUID),
        (sha256_digest, "sha256:" + "a" * 64),
        (integer(1, 2), 2),
        (integer(0), 2**53 - 1),
        (string_or_null, None),
        (array(non_empty), []),
        (POINT, {"id": UUID, "kind": "a", "name": "x"}),
        (POINT, {"note": "y", "name": "x", "kind": "b", "id": UUID}),
        (tagged("t", {"a": Closed({"t": non_empty})}), {"t": "a"}),
    ],
)
def test_fits(check: Check, value: Any) -> None:
    assert check(value) == ""


@pytest.mark.parametrize(
    ("check", "value", "complaint"),
    [
        (uuid7, UUID.upper(), "expected a lower-case UUIDv7, found '01900000-0000-7000-8000-00"),
        (uuid7, UUID + "\n", "expected a lower-case UUIDv7"),
        (uuid7, UUID.replace("-7000-", "-4000-"), "expected a lower-case UUIDv7"),
        (uuid7, None, "found null"),
        (sha256_digest, "sha256:" + "A" * 64, "64 lower-case hex digits"),
        (integer(1, 2), True, "found a boolean"),
        (integer(0), 2**53, "expected an integer from 0 to 9007199254740991"),
        (integer(0), -1, "found -1"),
        (integer(0), 1.5, "found 1.5"),
        (non_empty, "", "expected some text, found ''"),
        (array(non_empty, 1), [], "expected at least 1 item, found 0"),
        (array(non_empty), ["a", 7], "[1]: expected some text, found 7"),
        (array(non_empty), {}, "expected an array, found an object"),
        (POINT, [], "expected an object, found an array"),
        (POINT, {"id": UUID, "kind": "a"}, "the key 'name' is missing"),
        (POINT, {"id": UUID, "kind": "c", "name": "x"}, "kind: expected 'a' or 'b', found 'c'"),
        (POINT, {"id": 7, "kind": "a", "name": "x"}, "id: expected a lower-case UUIDv7, found 7"),
        (
            POINT,
            {"id": f"{UUID}\na", "kind": "", "name": "x"},
            "id: expected a lower-case UUIDv7",
        ),
        (
            POINT,
            {"id": UUID, "kind": "a", "name": "x", "nmae": 1},
            "the key 'nmae' is unknown; known are id, kind, name, note",
        ),
        (POINT, {"id": UUID, "kind": "a", "name": "x", "note": ""}, "note: expected some text"),
        (tagged("t", {"a": non_empty}), {"t": ["a"]}, "t: expected 'a', found an array"),
        (tagged("t", {"a": non_empty}), 1, "expected an object, found 1"),
    ],
)
def test_complains(check: Check, value: Any, complaint: str) -> None:
    assert complaint in check(value)


def test_remembering_says_the_same_and_looks_once_at_what_comes_again() -> None:
    looked: list[Any] = []

    def check(value: Any) -> str:
        looked.append(value)
        return "" if value == "right" else "wrong"

    both = remembering(check)
    assert [both(v) for v in ("wrong", "right", "right", "wrong", "right")] == [
        "wrong",
        "",
        "",
        "wrong",
        "",
    ]
    assert looked == ["wrong", "right", "wrong"]
