"""A transcript's lines are read by the paths that a target file gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chaos.transcript import Line, line_name, read_line

PARTS = {
    "role": "message.role",
    "call": "message.content[].id",
    "tool": "message.content[].name",
    "result": "message.toolCallId",
}
TEXT = {"type": "text", "text": "I will"}
CALLS = [{"type": "toolCall", "id": "c1", "name": "bash"}, {"id": "c2", "name": "read"}]


def line(**message: Any) -> bytes:
    return json.dumps({"message": message}).encode()


@pytest.mark.parametrize(
    ("data", "meaning"),
    [
        (line(role="user", content="text"), Line("user", (), (), ())),
        (
            line(role="assistant", content=[TEXT, *CALLS]),
            Line("assistant", ("c1", "c2"), ("bash", "read"), ()),
        ),
        (line(role="toolResult", toolCallId="c1"), Line("toolResult", (), (), ("c1",))),
        (b'{"type":"session","message":7}', Line("", (), (), ())),
        (b"[1]", Line("", (), (), ())),
        (b'{"message":{"role":"us', None),
    ],
)
def test_a_line(data: bytes, meaning: Line | None) -> None:
    assert read_line(data, PARTS) == meaning


def test_paths_may_lead_through_several_arrays() -> None:
    paths = {"role": "role", "call": "turns[].calls[].id"}
    data = b'{"role":"a","turns":[{"calls":[{"id":"1"},{"id":"2"}]},{"calls":[{"id":"3"}]}]}'
    assert read_line(data, paths) == Line("a", ("1", "2", "3"), (), ())


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (line(role="assistant", content=CALLS) + b"\n", ("assistant", "bash")),
        (line(role="user", content="x") + b"\n" + line(role="later") + b"\n", ("user", None)),
        (line(role="1 tool/result") + b"\n", ("tool-result", None)),  # as a point can be written
        (b"{}\n", ("line", None)),
        (b"{}", ("partial", None)),
        (b"no JSON\n", ("partial", None)),
    ],
)
def test_what_a_write_is_called(data: bytes, name: tuple[str, str | None]) -> None:
    assert line_name(data, PARTS) == name
