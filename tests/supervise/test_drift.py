"""What one launch finds changed in its room, and that it is taken back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.errors import ChaosError
from chaos.evidence import Blobs
from chaos.results import Verdict
from chaos.scenario import parse_scenario
from chaos.scenario_events import START, PlannedEvent
from chaos.supervise import drift
from chaos.supervise.drift import changed_paths, drifted, taken_back
from chaos.supervise.room import Room
from chaos.target import load_target
from tests.planted.support import run


@pytest.fixture
def room(tmp_path) -> Room:  # type: ignore[no-untyped-def]
    made = Room(tmp_path / "room", ".agent/sessions/*.jsonl", (".agent",))
    made.reset({"notes.txt": "one", "docs/a": "a", ".agent/sessions/s.jsonl": "log\n"}, {})
    return made


def events(*acts: str) -> list[PlannedEvent]:
    return [PlannedEvent(1, START, act) for act in acts]


def texts(room: Room) -> dict[str, str]:
    blobs = Blobs()
    return {name: blobs.get(sha).decode() for name, sha in room.tree(blobs).items()}


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


WHOLE = {"notes.txt": "one", "docs/a": "a"}


@pytest.mark.parametrize(
    ("acts", "found"),
    [
        (["write:notes.txt=two=2"], {**WHOLE, "notes.txt": "two=2"}),
        (["write:new/b=b\n"], {**WHOLE, "new/b": "b\n"}),
        (["delete:notes.txt"], {"docs/a": "a"}),
        (["delete:docs"], {"notes.txt": "one"}),
        (["delete:nothing"], WHOLE),
        (["delete:docs", "write:docs=now a file"], {"notes.txt": "one", "docs": "now a file"}),
        (["move:elsewhere"], WHOLE),
        (["write:x=y", "move:elsewhere", "delete:docs"], {"notes.txt": "one", "x": "y"}),
    ],
)
def test_the_workspace_is_another_and_then_its_own_again(
    room: Room, acts: list[str], found: dict[str, str]
) -> None:
    with drifted(room, events(*acts), "warm") as env:
        assert texts(room) == found
        assert env == {}
        assert room.log() == b"log\n"
    assert texts(room) == WHOLE
    assert names(room.root) == ["effects", "home", "workspace"]
    assert names(room.workspace) == [".agent", "docs", "notes.txt"]


def test_it_is_at_another_path_for_that_long(room: Room) -> None:
    home = room.workspace
    with drifted(room, events("move:elsewhere"), "warm"):
        assert room.workspace == home.with_name("elsewhere")
        assert room.classify(f"{room.workspace}/.agent/sessions/s.jsonl") == "log"
        assert room.classify(f"{home}/.agent/sessions/s.jsonl") is None
    assert room.workspace == home


def test_it_is_taken_back_whatever_the_launch_raises(room: Room) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        drifted(room, events("move:elsewhere", "write:notes.txt=two"), "warm"),
    ):
        raise KeyboardInterrupt
    assert texts(room) == WHOLE


@pytest.mark.parametrize("act", ["delete:docs", "delete:notes.txt", "write:docs=now a file"])
def test_what_the_target_put_in_its_place_is_taken_away(room: Room, act: str) -> None:
    with drifted(room, events(act), "warm"):
        for name in ("docs", "notes.txt"):
            if not (path := room.workspace / name).exists():
                path.mkdir()
                (path / "new").write_text("by the target")
    assert texts(room) == WHOLE


def remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def make_a_file(path: Path) -> None:
    remove(path)
    path.write_text("by the target")


@pytest.mark.parametrize("happens", [remove, make_a_file])
@pytest.mark.parametrize("act", ["delete:docs/a", "write:docs/a=b", "write:docs/new/b=b"])
def test_what_held_it_is_gone(room: Room, act: str, happens: Callable[[Path], None]) -> None:
    """The file is put back with the directories that it was in; a new one needs none."""
    before = room.tree(Blobs())
    with drifted(room, events(act), "warm"):
        happens(room.workspace / "docs")
        now = room.tree(Blobs())
    assert taken_back(now, before, changed_paths(events(act))) == room.tree(Blobs())
    if act.endswith("docs/a"):
        assert texts(room) == WHOLE


def test_a_directory_that_the_target_needs_too_stays(room: Room) -> None:
    with drifted(room, events("write:new/b=b"), "warm"):
        (room.workspace / "new" / "c").write_text("c")
    assert texts(room) == {**WHOLE, "new/c": "c"}


def test_a_file_holds_no_file(room: Room) -> None:
    with (
        pytest.raises(ChaosError, match=r"write:notes.txt/b=x: expected a directory, found a file"),
        drifted(room, events("write:notes.txt/b=x"), "warm"),
    ):
        pass
    assert texts(room) == WHOLE


@pytest.mark.parametrize(
    ("acts", "now"),
    [
        (["write:notes.txt=two"], {"docs/a": "a", "notes.txt": "two", "made": "m"}),
        (["write:new/b=b"], {**WHOLE, "new/b": "b", "made": "m"}),
        (["delete:docs"], {"notes.txt": "one", "docs/new": "by the target", "made": "m"}),
        (["set:A=b", "move:elsewhere"], {**WHOLE, "made": "m"}),
    ],
)
def test_what_a_kill_would_leave_when_the_change_is_taken_back(
    acts: list[str], now: dict[str, str]
) -> None:
    """What the target did elsewhere stays."""
    assert taken_back(now, WHOLE, changed_paths(events(*acts))) == {**WHOLE, "made": "m"}


def test_only_what_lies_below_a_path_is_changed_by_it() -> None:
    assert taken_back({"docs2": "mine"}, {"docs": "its"}, ["docs"]) == {
        "docs2": "mine",
        "docs": "its",
    }


def test_a_variable_may_hold_any_text(room: Room) -> None:
    with drifted(room, events("set:A=b=c", "signal:INT"), "exec") as env:
        assert env == {"A": "b=c"}


def test_a_warm_launch_shifts_its_own_clock(room: Room) -> None:
    with drifted(room, events("clock:-1h"), "warm") as env:
        assert env == {"FAKETIME": "-3600"}


def test_a_fresh_process_needs_a_library_for_that(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "_LIBRARIES", ("/nowhere/libfaketime.so.1",))
    with (
        pytest.raises(ChaosError, match="apt-get install libfaketime"),
        drifted(room, events("clock:-1h"), "exec"),
    ):
        pass
    assert texts(room) == WHOLE


CHANGED = """\
name = "changed"
about = "Its instructions are other ones when it is resumed, and nothing is left to do after that."
target.profile = "agent"
step = [{ run = "say it" }]
expect = { blocked = "configuration_changed" }
[[provider.turn]]
content = "said"
[[event]]
launch = 2
do = "write:AGENTS.md=Answer in verse."
[kill]
points = ["log:stepAttempt#1/after"]
"""


def test_what_the_harness_put_there_is_not_what_the_target_left() -> None:
    scenario = parse_scenario(CHANGED, "s.toml", lambda name: load_target(name, beside="/nowhere"))
    (found,) = run(scenario, keep=True).scenarios
    assert [result.verdict for result in found.schedules] == [Verdict.PASS] * 2
    killed = found.schedules[1].evidence
    assert killed is not None
    blocked = next(launch for launch in killed.launches if launch.changed)
    assert (blocked.exit_code, dict(blocked.files_after)) == (3, {})
