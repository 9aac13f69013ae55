"""The names of instants: by meaning and by position, counted in one launch."""

from __future__ import annotations

import pytest

from chaos.launch.model import Call
from chaos.points import CALL_PHASES, KillPoint
from chaos.supervise.due import Due
from chaos.supervise.naming import Naming

HEADER = b'{"kind":"header"}\n'
STARTED = b'{"kind":"record","record":{"type":"toolStarted","toolName":"%s"}}\n'


def write(data: bytes, name: str = "write") -> Call:
    return Call(pid=1, tid=1, name=name, label="log", path="/log", length=len(data), data=data)


def test_a_call_has_several_names_the_fullest_last() -> None:
    naming = Naming()
    assert naming.log(write(HEADER), b"") == ("log@1", "log:header#1")
    for tool, names in [
        (b"bash", ("log@2", "log:toolStarted#1", "log:toolStarted[bash]#1")),
        (b"read", ("log@3", "log:toolStarted#2", "log:toolStarted[read]#1")),
        (b"bash", ("log@4", "log:toolStarted#3", "log:toolStarted[bash]#2")),
    ]:
        assert naming.log(write(STARTED % tool), HEADER) == names


def test_a_call_is_named_by_the_line_that_it_completes() -> None:
    naming = Naming()
    assert naming.log(write(HEADER[:5]), b"")[-1] == "log:partial#1"
    assert naming.log(write(HEADER[5:]), HEADER[:5])[-1] == "log:header#1"
    assert naming.log(write(b"", "ftruncate"), HEADER)[-1] == "log:ftruncate#1"


def test_effects_are_counted_by_their_name() -> None:
    naming = Naming()
    found = [naming.effects(write(b""), [name]) for name in ("deploy", "announce", "deploy")]
    assert found == [
        ("effect@1", "effect:deploy#1"),
        ("effect@2", "effect:announce#1"),
        ("effect@3", "effect:deploy#2"),
    ]


def test_a_call_that_makes_several_effects_has_all_their_names() -> None:
    found = Naming().effects(write(b""), ["deploy", "announce"])
    assert found == ("effect@1", "effect:deploy#1", "effect:announce#1")


def test_a_file_is_named_by_its_path_and_a_temporary_one_by_its_glob() -> None:
    naming = Naming((".tmp-*",))
    assert naming.file(write(b"x"), "notes.txt")[-1] == "file:write[notes.txt]#1"
    assert naming.file(write(b"x"), "sub/.tmp-77")[-1] == "file:write[.tmp-*]#1"
    assert naming.file(write(b"", "rename"), "notes.txt") == (
        "file@3",
        "file:rename#1",
        "file:rename[notes.txt]#1",
    )


def test_a_sync_is_an_instant_without_a_position() -> None:
    naming = Naming()
    assert naming.file(write(b"", "fsync"), "a") == ("file:fsync#1", "file:fsync[a]#1")
    assert naming.file(write(b"x"), "a")[0] == "file@1"


def test_a_name_that_could_not_be_read_back_is_not_given() -> None:
    assert Naming().file(write(b"x"), "a;b") == ("file@1", "file:write#1")
    assert Naming().effects(write(b""), ["a/b"]) == ("effect@1",)


@pytest.mark.parametrize(
    ("point", "reached"),
    [
        ("log@2/before", True),
        ("log@1/before", False),
        ("log:toolStarted#1/after", True),
        ("log:toolStarted[bash]#1/after", True),
        ("log:toolStarted[read]#1/after", False),
        ("log:toolStarted#2/after", False),
        ("log:header#1/after", False),
    ],
)
def test_a_kill_point_is_reached_by_any_of_its_names(point: str, reached: bool) -> None:
    naming = Naming()
    naming.log(write(HEADER), b"")
    instants = naming.log(write(STARTED % b"bash"), HEADER)
    due = Due(KillPoint.parse(point))
    assert (due.take_kill(instants, *CALL_PHASES) is not None) is reached


def test_files_that_hold_a_session_go_by_their_glob() -> None:
    naming = Naming()
    call = write(b"bytes", "pwrite64")
    assert naming.state(call, "*-wal")[-1] == "state:pwrite64[*-wal]#1"
    assert naming.state(call, "*.db")[-1] == "state:pwrite64[*.db]#1"
    names = naming.state(call, "*-wal")
    assert names == ("state@3", "state:pwrite64#3", "state:pwrite64[*-wal]#2")


def test_a_transcript_is_named_by_the_roles_of_its_lines() -> None:
    naming = Naming(transcript={"role": "who", "tool": "tool"})
    assert naming.log(write(b'{"who":"user"}\n'), b"")[-1] == "log:user#1"
    named = naming.log(write(b'ult","tool":"bash"}\n'), b'{"who":"res')
    assert named == ("log@2", "log:result#1", "log:result[bash]#1")
