"""A signal reaches the writer of the log at its instant, while whoever made the instant is held."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from chaos.evidence import Effect, Ended, Event, LogWrite, Signal
from chaos.launch.model import Command
from chaos.launch.tracer import trace
from chaos.points import KillPoint
from chaos.scenario_events import PlannedEvent
from chaos.supervise.recorder import Recorder
from chaos.supervise.room import Room

# A shell is the agent: it writes two lines, and a third one when it is interrupted. Its tool has
# an effect between the two.
AGENT = """
trap 'echo interrupted >> log/s.jsonl' INT
echo first >> log/s.jsonl
sh -c 'echo deploy >> "$CHAOS_EFFECTS"'
echo second >> log/s.jsonl
"""


def events(
    tmp_path: Path, signals: Mapping[str, str], script: str = AGENT, kill: str | None = None
) -> list[Event]:
    """What a launch with these signals is recorded as."""
    room = Room(tmp_path / "room", "log/*.jsonl", ("log",))
    room.reset({}, {})
    (room.workspace / "log").mkdir()
    recorder = Recorder(room)
    planned = [PlannedEvent(1, at, f"signal:{name}") for at, name in signals.items()]
    recorder.begin(0, KillPoint.parse(kill) if kill else None, planned)
    env = {"PATH": os.environ["PATH"], "CHAOS_EFFECTS": str(room.effects)}
    streams = str(room.stdout), str(room.stderr)
    command = Command(("sh", "-c", script), env, str(room.workspace), *streams)
    trace(command, recorder, limit_s=20, grace_s=2)
    recorder.finish_launch()
    return recorder.notebook.events


def story(found: list[Event]) -> list[str]:
    """The events in a word each; of a write, the last line of the log after it."""
    words = []
    for event in found:
        match event:
            case LogWrite():
                words.append(event.point)
            case Effect():
                words.append(event.name)
            case Signal():
                words.append(f"SIG{event.name}")
    return words


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("log@1/before", ["SIGINT", "log:partial#1", "log:partial#2", "deploy", "log:partial#3"]),
        ("log@1/after", ["log:partial#1", "SIGINT", "log:partial#2", "deploy", "log:partial#3"]),
        (
            "effect:deploy#1/before",
            ["log:partial#1", "SIGINT", "deploy", "log:partial#2", "log:partial#3"],
        ),
        (
            "effect:deploy#1/after",
            ["log:partial#1", "deploy", "SIGINT", "log:partial#2", "log:partial#3"],
        ),
        ("log:partial#2/after", ["log:partial#1", "deploy", "log:partial#2", "SIGINT"]),
    ],
)
def test_a_signal_comes_at_its_instant(tmp_path: Path, at: str, expected: list[str]) -> None:
    found = events(tmp_path, {at: "INT"})
    assert story(found)[: len(expected)] == expected
    (sent,) = [event for event in found if isinstance(event, Signal)]
    assert (sent.at, sent.name) == (at, "INT")
    assert sent.pid == next(e.pid for e in found if isinstance(e, LogWrite))


def test_the_log_of_a_signal_is_that_of_its_instant(tmp_path: Path) -> None:
    for at, lines in (("log@2/before", 1), ("log@2/after", 2)):
        room = Room(tmp_path / "room", "log/*.jsonl", ("log",))
        found = events(tmp_path, {at: "INT"})
        (sent,) = [event for event in found if isinstance(event, Signal)]
        written = [event for event in found if isinstance(event, LogWrite)]
        before = [event.log for event in written if event.order < sent.order]
        assert len(before) == lines
        assert sent.log == before[-1]
        assert room.log().endswith(b"interrupted\n")


def test_an_instant_that_does_not_come_sends_nothing(tmp_path: Path) -> None:
    found = events(tmp_path, {"effect:deploy#2/before": "INT", "provider:1/request": "TERM"})
    assert story(found) == ["log:partial#1", "deploy", "log:partial#2"]


def test_without_a_writer_of_the_log_nobody_is_signalled(tmp_path: Path) -> None:
    script = 'echo deploy >> "$CHAOS_EFFECTS"; echo first >> log/s.jsonl'
    found = events(tmp_path, {"effect:deploy#1/after": "INT"}, script)
    assert story(found) == ["deploy", "log:partial#1"]


def test_at_the_point_of_the_kill_the_kill_comes_first(tmp_path: Path) -> None:
    found = events(tmp_path, {"log@1/after": "INT"}, kill="log@1/after")
    assert story(found) == ["log:partial#1"]


def test_a_cancelled_tool_is_recorded(tmp_path: Path) -> None:
    tool = "echo tool >> log/s.jsonl; sleep 60; true"
    script = f"sh -c '{tool}' & until grep -qs tool log/s.jsonl; do :; done; kill $!; wait"
    found = events(tmp_path, {}, script)
    ended = [event for event in found if isinstance(event, Ended)]
    assert (ended[0].argv, ended[0].signal) == (("sh", "-c", tool), 15)
