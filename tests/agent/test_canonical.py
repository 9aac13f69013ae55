"""Canonical JSON and digests, against the vectors of RFC 8785."""

from __future__ import annotations

import hashlib
import itertools

import pytest

from agent.canonical import canonical_json, digest


def test_the_example_of_the_rfc() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json(value).decode() == expected


def test_keys_are_ordered_by_utf16() -> None:
    assert canonical_json({"\ufb33": 1, "\U0001f600": 2, "a": 3}).decode() == (
        '{"a":3,"\U0001f600":2,"\ufb33":1}'
    )


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    items = [("a", "1"), ("b", ["x"]), ("c", {"d": None})]
    digests = {digest(dict(order)) for order in itertools.permutations(items)}
    text = b'{"a":"1","b":["x"],"c":{"d":null}}'
    assert digests == {"sha256:" + hashlib.sha256(text).hexdigest()}


def test_the_order_of_an_array_counts() -> None:
    assert digest(["a", "b"]) != digest(["b", "a"])


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("\ud800", "non-UTF-8"),
        (float("nan"), "not representable"),
        (2**53, "exceeds safe integer domain"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        canonical_json(value)
