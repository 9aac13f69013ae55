"""One failure as the page tells it: lanes, launches, and the log as it grew."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

from chaos.evidence import Blobs, Event, Evidence, LogWrite
from chaos.report.page.story import LANE, LANES, story_of
from tests.report import sample


def story(evidence: Evidence | None = None) -> dict[str, object]:
    return story_of(sample.violated(), evidence or sample.evidence())


def log_of(*states: bytes) -> dict[str, object]:
    """The log of a run that leaves it in these states, one after the other."""
    blobs = Blobs()
    names = [blobs.put(state) for state in states]
    writes = tuple(
        LogWrite(order, 0, 1.0, 7, "write", "log:x#1", order, 0, 1, 1, name)
        for order, name in enumerate(names[1:], start=1)
    )
    empty = blobs.put(b"")
    launch = replace(
        sample.evidence().launches[0],
        log_before=names[0],
        log_after=names[-1],
        stdout=empty,
        stderr=empty,
    )
    made = replace(sample.evidence(), launches=(launch,), events=writes, blobs=blobs)
    log = story(made)["log"]
    assert isinstance(log, dict)
    return log


def test_every_kind_of_event_has_a_lane() -> None:
    assert set(LANE) == set(get_args(Event))
    assert set(LANE.values()) == set(LANES)


def test_every_event_is_in_its_lane() -> None:
    events = story()["events"]
    assert isinstance(events, list)
    assert [LANES[event[3]] for event in events] == [
        "provider",
        "provider",
        "log",
        "kills",
        "tools",
        "outside",
    ]
    assert [event[0] for event in events] == [1, 2, 3, 4, 5, 6]


def test_raw_facts_name_blobs_by_their_digest_and_quote_bodies() -> None:
    events = story()["events"]
    assert isinstance(events, list)
    request, kill = events[0][6], events[3][6]
    assert request["log"].startswith("sha256 ")
    assert request["status"] == 200
    assert kill["kept"] == len(sample.INTENT)
    assert "tree" not in kill


def test_launches_say_how_they_ended_and_their_last_words() -> None:
    first, second = story()["launches"]  # type: ignore[misc]
    assert (first["name"], first["killed"]) == ("launch 1 (run)", True)
    assert second["stderr"] == ["warning: \\x1b[31mred\\x1b[0m", "key [api key] refused"]


def test_a_violation_says_where() -> None:
    (violation,) = story()["violations"]  # type: ignore[misc]
    assert violation["id"] == "E2"
    assert (violation["expected"], violation["found"]) == ("0", "1")
    assert violation["what"] == "deploy with key [api key]"
    assert violation["where"] == "launch 2 (resume), line 4, seq 3"
    assert (violation["launch"], violation["line"], violation["order"]) == (1, 4, 6)


def test_the_log_is_told_as_what_came_and_what_went() -> None:
    one, two = sample.fact(1, type="runStarted"), sample.fact(2, type="stepAttempt", attempt=1)
    torn = two[:9]
    log = log_of(
        sample.HEADER, sample.HEADER + one, sample.HEADER + one + torn, sample.HEADER + one
    )
    assert log["steps"] == [[0, 0, 0, [0]], [1, 0, 1, [1]], [2, 0, 2, [2]], [3, 0, 2, []]]
    header, fact, tail = log["lines"]  # type: ignore[misc]
    assert header[0] == [[None, "header"]]
    assert fact[0] == [[1, "runStarted"]]
    assert tail == [[], torn.decode(), len(torn)]


def test_the_kill_itself_may_change_the_log() -> None:
    log = story()["log"]
    assert isinstance(log, dict)
    assert [step[0] for step in log["steps"]] == [3]


def test_a_line_that_is_rewritten_is_lost_and_added() -> None:
    one, other = sample.fact(1, type="runStarted"), sample.fact(1, type="stepAttempt")
    log = log_of(one + one, one + other)
    assert log["steps"] == [[0, 0, 0, [0, 0]], [1, 0, 1, [1]]]


def test_bytes_that_are_no_text_are_shown() -> None:
    log = log_of(b"", b"\xff\x00\n")
    assert log["lines"] == [[[], "\ufffd\\x00"]]


def test_long_lines_and_many_events_are_cut_and_say_so() -> None:
    log = log_of(b"", b"x" * 100_000 + b"\n")
    assert len(json.dumps(log)) < 5000
    assert "characters left out" in json.dumps(log)
    evidence = sample.evidence()
    many = tuple(replace(evidence.events[0], order=n) for n in range(1, 2001))
    told = story(replace(evidence, events=many))
    assert told["more"] == 1700


def test_the_secret_is_taken_out_before_anything_is_cut() -> None:
    """A cut through the key would leave the half of it that nothing finds any more."""
    line = b"y" * 990 + sample.SECRET.encode() + b"y" * 1990 + b"\n"
    assert "sk-kill" not in json.dumps(log_of(b"", line))
    assert sample.SECRET not in json.dumps(story())
