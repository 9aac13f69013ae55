"""Events come out the same wherever the network cuts the bytes."""

from __future__ import annotations

import time

import pytest

from agent.sse import EventDecoder


def decode(*chunks: bytes) -> list[bytes]:
    decoder = EventDecoder()
    return [data for chunk in chunks for data in decoder.feed(chunk)]


def test_an_event_ends_at_its_blank_line() -> None:
    assert decode(b'data: {"a":1}\n\ndata: [DONE]\n\n') == [b'{"a":1}', b"[DONE]"]
    assert decode(b"data: cut\n") == []


def test_comments_and_other_fields_are_dropped() -> None:
    assert decode(b": keep-alive\n\nevent: x\nid: 1\ndata: yes\n\n") == [b"yes"]


def test_data_lines_of_one_event_are_joined() -> None:
    assert decode(b"data: one\ndata:two\ndata:\n\n") == [b"one\ntwo\n"]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_cut_gives_the_same_events(end: bytes) -> None:
    stream = end.join([b"data: \xc3\xa9 1", b"data: 2", b"", b": c", b"data: 3", b"", b""])
    for cut in range(len(stream) + 1):
        assert decode(stream[:cut], stream[cut:]) == [b"\xc3\xa9 1\n2", b"3"], cut
    assert decode(*(stream[i // 2 : i // 2 + i % 2] for i in range(2 * len(stream)))) == [
        b"\xc3\xa9 1\n2",
        b"3",
    ]


def test_line_separators_of_unicode_do_not_end_a_line() -> None:
    assert decode("data: a\u2028b\u0085c\x0bd\n\n".encode()) == ["a\u2028b\u0085c\x0bd".encode()]


def test_a_long_event_in_many_chunks_costs_what_its_bytes_cost() -> None:
    decoder, started = EventDecoder(), time.process_time()
    for _ in range(3000):
        assert list(decoder.feed(b"x" * 4096)) == []
    assert time.process_time() - started < 2  # 12 MB; looking at the line each time: 18 GB
