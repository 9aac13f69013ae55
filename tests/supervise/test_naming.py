"""The names of instants: by meaning and by position, counted in one launch."""

from __future__ import annotations

import pytest

from chaos.launch.model import Call
from chaos.points import KillPoint
from chaos.supervise.naming import Naming

HEADER = b'{"kind":"header"}\n'
STARTED = b'{"kind":"record","record":{"type":"toolStarted","toolName":"%s"}}\n'


def write(data: bytes, name: str = "write") -> Call:
    return Call(pid=1, tid=1, name=name, label="log", path="/log", length=len(data), data=data)


def test_a_call_has_several_names_the_fullest_last() -> None:
    naming = Naming()
    assert naming.call(write(HEADER), b"") == ("log@1", "log:header#1")
    for tool, names in [
        (b"bash", ("log@2", "log:toolStarted#1", "log:toolStarted[bash]#1")),
        (b"read", ("log@3", "log:toolStarted#2", "log:toolStarted[read]#1")),
        (b"bash", ("log@4", "log:toolStarted#3", "log:toolStarted[bash]#2")),
    ]:
        assert naming.call(write(STARTED % tool), HEADER) == names


def test_a_call_is_named_by_the_line_that_it_completes() -> None:
    naming = Naming()
    assert naming.call(write(HEADER[:5]), b"")[-1] == "log:partial#1"
    assert naming.call(write(HEADER[5:]), HEADER[:5])[-1] == "log:header#1"
    assert naming.call(write(b"", "ftruncate"), HEADER)[-1] == "log:ftruncate#1"


def test_effects_are_counted_by_their_name() -> None:
    naming = Naming()
    found = [naming.effect(name) for name in ("deploy", "announce", "deploy")]
    assert found == ["effect:deploy#1", "effect:announce#1", "effect:deploy#2"]


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
    naming.call(write(HEADER), b"")
    naming.call(write(STARTED % b"bash"), HEADER)
    assert naming.reached(KillPoint.parse(point)) is reached
