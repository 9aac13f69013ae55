"""What a file of records must hold, and what is said where it does not."""

from __future__ import annotations

import pytest

from tests.stress.lines import InexactError, Promise, check_rest, compare, line, writer_of

A, B = (0, 0), (2, 1)


def test_a_line_follows_from_its_writer_and_its_number() -> None:
    assert line(A, 0) == "0.0:0:é\n".encode()
    assert line(B, 1) == f"2.1:1:é{'b' * 20}\n".encode()
    assert [writer_of(line(writer, 7)) for writer in (A, B)] == [A, B]


def test_lines_come_in_any_order_of_writers_and_in_order_of_each() -> None:
    promise = Promise()
    for writer, number in ((A, 0), (B, 0), (A, 1)):
        made = promise.hand_over(line(writer, number))
        promise.kept(made, len(made))
    assert promise.data == line(A, 0) + line(B, 0) + line(A, 1)
    with pytest.raises(InexactError, match="should bring"):
        promise.hand_over(line(B, 2))


def test_one_call_may_bring_several_lines() -> None:
    promise = Promise()
    joined = line(A, 0) + line(A, 1)
    assert promise.hand_over(joined) == joined
    promise.kept(joined, 9)
    assert promise.data == joined[:9]


@pytest.mark.parametrize("text", [b"", b"x", b"0.x:1", b"0.0:0:\xc3\xa9", line(A, 1)])
def test_bytes_that_no_writer_brings(text: bytes) -> None:
    with pytest.raises(InexactError):
        Promise().hand_over(text)


def test_a_difference_is_told_by_its_place() -> None:
    compare(b"one", b"one")
    with pytest.raises(InexactError, match="promised 3 bytes, found 2; they differ from byte 2"):
        compare(b"one", b"on")
    with pytest.raises(InexactError, match="differ from byte 1: promised b'ne', found b'Ne'"):
        compare(b"one", b"oNe")


def test_the_spared_go_on_and_the_dead_do_not() -> None:
    died = line(A, 0) + line(B, 0) + line(B, 1)[:5]
    check_rest(died, line(A, 1) + line(A, 2), dead=2)
    check_rest(died, b"", dead=None)
    for rest, dead, told in (
        (line(A, 1), None, "nobody was left"),
        (line(B, 2), 2, "process 2 was killed, but wrote"),
        (line(A, 2), 2, "differ from byte 4"),
        (line(A, 1)[:-3], 2, "differ from byte"),
    ):
        with pytest.raises(InexactError, match=told):
            check_rest(died, rest, dead)
