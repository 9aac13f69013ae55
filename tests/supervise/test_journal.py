"""Effects are lines of the journal, whatever brought them there."""

from __future__ import annotations

import pytest

from chaos.supervise.journal import Journal


@pytest.mark.parametrize(
    ("states", "effects"),
    [
        ([b"a\n"], [["a"]]),
        ([b"a\n", b"a\nb\nc\n"], [["a"], ["b", "c"]]),
        ([b"pi", b"ping\n"], [[], ["ping"]]),  # a line counts when its LF is there
        ([b"a\n", b"", b"b\n"], [["a"], [], ["b"]]),  # cut and begun anew
        ([b"a\n", b"b\n"], [["a"], ["b"]]),  # replaced
        ([b"a\n", b"a\n"], [["a"], []]),
        ([b"\n"], [[""]]),
        ([b"a\xffb\n"], [["a\N{REPLACEMENT CHARACTER}b"]]),
        ([b"a\rb\x85c\n"], [["a\rb\N{REPLACEMENT CHARACTER}c"]]),  # LF alone ends a line
    ],
)
def test_what_a_change_adds(states: list[bytes], effects: list[list[str]]) -> None:
    journal = Journal()
    assert [journal.take(state) for state in states] == effects


def test_what_was_there_before_is_no_effect_of_this_launch() -> None:
    journal = Journal(b"old\n")
    assert journal.take(b"old\nnew\n") == ["new"]


def test_a_last_line_without_lf_counts_once_nothing_can_complete_it() -> None:
    journal = Journal()
    assert journal.take(b"a\npi") == ["a"]
    assert journal.close() == ["pi"]
    assert journal.close() == []
