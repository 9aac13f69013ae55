"""The first difference of two runs is named; chance that is known of is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.evidence import Evidence
from chaos.supervise.same_twice import difference
from tests.test_saved import evidence

CHANCE = {"/tmp/lane-1": "ROOM", "/tmp/lane-2": "ROOM"}


def ended(log: bytes = b"{}\n", files: bytes = b"content", exit_code: int = 0) -> Evidence:
    made = evidence()
    launch = replace(
        made.launches[0],
        exit_code=exit_code,
        log_after=made.blobs.put(log),
        files_after={"a": made.blobs.put(files)},
    )
    return replace(made, launches=(launch,))


def test_a_run_is_like_itself() -> None:
    assert difference(ended(), ended(), CHANCE) == ""


def test_what_lanes_call_their_own_is_no_difference() -> None:
    one, other = ended(b'{"a":"/tmp/lane-1/x"}\n'), ended(b'{"a":"/tmp/lane-2/x"}\n')
    assert difference(one, other, CHANCE) == ""
    assert difference(one, other, {}) != ""


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (ended(log=b'{"a":1}\n'), "the session log after launch 1 (run): line 1"),
        (ended(files=b"other"), "workspace files after launch 1 (run): a"),
        (ended(exit_code=1), "exit code 0, then 1 after launch 1 (run)"),
        (replace(ended(), launches=()), "1 launches, then 0"),
    ],
)
def test_the_first_difference_is_told(other: Evidence, told: str) -> None:
    assert told in difference(ended(), other, CHANCE)
