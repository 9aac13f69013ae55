"""Arguments of the wrong type are the tool's own error, never an exception."""

from __future__ import annotations

from typing import Any

import pytest

from agent.tools import BUILTIN_TOOLS
from tests.agent.tools.conftest import Call

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("read", {}, "'path' is missing"),
    ("read", {"path": 5}, "'path' to be a string"),
    ("read", {"path": "a", "offset": 0}, "'offset' from 1"),
    ("read", {"path": "a", "offset": "1"}, "'offset' to be an integer"),
    ("read", {"path": "a", "limit": True}, "'limit' to be an integer"),
    ("read", {"path": "a\0b"}, "NUL"),
    ("read", {"path": "a", "lines": 3}, "unknown argument 'lines'; expected path, offset, limit"),
    ("write", {"path": "a"}, "'content' is missing"),
    ("edit", {"path": "a", "old_text": None, "new_text": ""}, "'old_text' to be a string"),
    ("bash", {"command": ["ls"]}, "'command' to be a string"),
    ("bash", {"command": "ls", "timeout": 99999}, "'timeout' from 1 to 3600"),
]


@pytest.mark.parametrize(("tool", "arguments", "words"), WRONG)
def test_wrong_arguments(call: Call, tool: str, arguments: dict[str, Any], words: str) -> None:
    result = call(tool, **arguments)
    assert result.kind == "error"
    assert words in result.text


def test_only_read_may_be_replayed() -> None:
    declared = {tool.name: (tool.replay, tool.replay_key) for tool in BUILTIN_TOOLS.values()}
    assert declared == {
        "read": ("safe", "builtin:read:v1"),
        "write": ("never", "builtin:write:v1"),
        "edit": ("never", "builtin:edit:v1"),
        "bash": ("never", "builtin:bash:v1"),
    }


def test_a_definition_is_what_the_provider_is_told() -> None:
    definition = BUILTIN_TOOLS["bash"].definition
    assert definition["type"] == "function"
    assert definition["function"]["name"] == "bash"
    assert definition["function"]["parameters"]["required"] == ["command"]
