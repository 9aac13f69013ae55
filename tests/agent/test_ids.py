"""Ids increase whatever the clock does, and look the way a log wants them."""

from __future__ import annotations

from agent.ids import IdSource, is_uuid7, milliseconds_of


def test_an_id_is_a_lower_case_uuid7_of_the_current_millisecond() -> None:
    fresh = IdSource(clock_ms=lambda: 1_700_000_000_123).fresh()
    assert is_uuid7(fresh)
    assert milliseconds_of(fresh) == 1_700_000_000_123
    assert not is_uuid7(fresh.upper())
    assert not is_uuid7(fresh.replace("-7", "-4", 1))


def test_ids_increase_within_one_millisecond() -> None:
    source = IdSource(clock_ms=lambda: 5)
    drawn = [source.fresh() for _ in range(5000)]
    assert drawn == sorted(set(drawn))
    assert all(map(is_uuid7, drawn))


def test_ids_increase_when_the_clock_steps_back() -> None:
    clock = iter([2000, 1000, 999, 3000])
    source = IdSource(clock_ms=lambda: next(clock))
    drawn = [source.fresh() for _ in range(4)]
    assert drawn == sorted(set(drawn))
    assert milliseconds_of(drawn[3]) == 3000


def test_ids_follow_the_greatest_id_of_a_log_written_by_a_faster_clock() -> None:
    after = "ffff0000-0000-7fff-bfff-ffffffffffff"
    fresh = IdSource(after, clock_ms=lambda: 1).fresh()
    assert fresh == "ffff0000-0001-7000-8000-000000000000"
    assert is_uuid7(fresh)


def test_past_the_last_id_there_are_still_unique_ones() -> None:
    source = IdSource("ffffffff-ffff-7fff-bfff-ffffffffffff", clock_ms=lambda: 7)
    assert is_uuid7(source.fresh())
    assert milliseconds_of(source.fresh()) == 7
