"""Damage of a log: what each kind leaves, byte by byte, and which damages a log has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.damage import Damage, damages_of
from chaos.errors import UsageError

LOG = b'{"version":2,"name":"a"}\nsecond\nthird\n'


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        ("cut@0", b""),
        ("cut@28", b'{"version":2,"name":"a"}\nsec'),
        ("glue@2", b'{"version":2,"name":"a"}\nsecondthird\n'),
        ("nul@25+3", b'{"version":2,"name":"a"}\n\0\0\0ond\nthird\n'),
        ("nul@38+2", LOG + b"\0\0"),
        ("nul@36+3", LOG[:36] + b"\0\0\0"),
        ("empty@1", b"\nsecond\nthird\n"),
        ("drop@1", b"second\nthird\n"),
        ("duplicate@3", LOG + b"third\n"),
        ("swap@2", b'{"version":2,"name":"a"}\nthird\nsecond\n'),
        ("crlf", b'{"version":2,"name":"a"}\r\nsecond\r\nthird\r\n'),
        ("say@1:version=30", b'{"version":30,"name":"a"}\nsecond\nthird\n'),
        ("say@1:name=b:2", b'{"version":2,"name":"b:2"}\nsecond\nthird\n'),
    ],
)
def test_what_it_leaves(damage: str, left: bytes) -> None:
    assert Damage.parse(damage).apply(LOG) == left


@pytest.mark.parametrize(
    "damage",
    ["cut@38", "glue@3", "swap@3", "nul@39+1", "nul@0+0", "drop@4", "empty@0", "say@2:version=3"],
)
def test_a_place_that_the_log_does_not_have(damage: str) -> None:
    with pytest.raises(UsageError, match=r"no such place; it has 38 bytes in 3 complete lines"):
        Damage.parse(damage).apply(LOG)


@pytest.mark.parametrize(
    "text", ["", "cut", "cut@", "cut@-1", "cut@01", "nul@3", "crlf@1", "say@1:version", "melt@3"]
)
def test_what_is_no_damage(text: str) -> None:
    with pytest.raises(UsageError, match="not a damage"):
        Damage.parse(text)


def test_a_torn_tail_is_no_line() -> None:
    assert Damage.parse("drop@3").apply(LOG + b"tail") == LOG[:32] + b"tail"
    with pytest.raises(UsageError):
        Damage.parse("glue@3").apply(LOG + b"tail")


def test_every_byte_or_only_telling_ones() -> None:
    every = [d.at for d in damages_of(LOG, every=True) if d.kind == "cut"]
    assert every == list(range(len(LOG)))
    telling = [d.at for d in damages_of(LOG) if d.kind == "cut"]
    assert telling == [0, 1, 12, 24, 25, 26, 28, 31, 32, 33, 35, 37]


def test_a_log_without_a_complete_line_can_only_be_cut() -> None:
    assert [str(d) for d in damages_of(b"")] == []
    assert {d.kind for d in damages_of(b"torn", every=True)} == {"cut"}


@given(st.lists(st.binary(max_size=6).filter(lambda line: b"\n" not in line), max_size=5))
def test_each_listed_damage_reads_back_and_changes_something(lines: list[bytes]) -> None:
    log = b"".join(line + b"\n" for line in lines)
    for damage in damages_of(log, every=True):
        assert Damage.parse(str(damage)) == damage
        made = damage.apply(log)
        assert made != log or damage.kind in ("swap", "empty", "nul")  # of lines that are alike


def test_only_the_first_line_and_the_last_ones() -> None:
    log = b"".join(b"line %d\n" % number for number in range(1, 10))
    lines = {d.at for d in damages_of(log, last=2) if d.kind == "empty"}
    assert lines == {1, 8, 9}
    cuts = [d.at or 0 for d in damages_of(log, last=2) if d.kind == "cut"]
    assert all(at < 7 or at >= 49 for at in cuts)
