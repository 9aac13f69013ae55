"""What servers list becomes tools with names that every provider takes, the same at every start."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent.configuration import Configuration
from agent.failures import AgentFailure
from agent.mcp.tools import MAX_DEFINITION, MAX_TOOLS, Listed, McpTool, offered
from agent.tools import BUILTIN_TOOLS, Tool, ToolResult
from tests.agent.support import settings

SCHEMA = {"type": "object", "properties": {"n": {"type": "number", "maximum": 0.5}}}


def listed(name: str = "look", server: str = "s", about: str = "", **schema: Any) -> Listed:
    return Listed(server, name, about, schema or SCHEMA)


def tools(*listing: Listed) -> dict[str, Tool]:
    return offered(listing, lambda server, tool, arguments, context: ToolResult("success", tool))


def test_a_tool_is_named_after_server_and_tool() -> None:
    (tool,) = tools(listed("look", "desk", "Look at it.")).values()
    assert tool.name == "mcp__desk__look"
    assert tool.definition["function"] == {
        "name": "mcp__desk__look",
        "description": "Look at it.",
        "parameters": SCHEMA,
    }


def test_it_is_never_run_again_and_its_key_names_server_and_tool() -> None:
    (tool,) = tools(listed("look", "desk")).values()
    assert (tool.replay, tool.replay_key) == ("never", "mcp:desk:look")


def test_another_definition_is_another_tool() -> None:
    def digest(of: Listed) -> str:
        return tools(of)["mcp__s__look"].definition_digest

    assert digest(listed()) == digest(listed())
    assert digest(listed()) != digest(listed(about="new words"))
    assert digest(listed()) != digest(listed(type="object"))


def test_the_order_in_which_a_server_lists_does_not_matter() -> None:
    a, b = listed("a"), listed("b")
    assert list(tools(a, b)) == list(tools(b, a))

    def of(*listing: Listed) -> str:
        offer = {**BUILTIN_TOOLS, **tools(*listing)}
        return Configuration.of(settings(), offer).current.configuration_digest

    assert of(a, b) == of(b, a) != of(a)


@pytest.mark.parametrize("name", ["a.b/c", "x" * 128, "é", "a b"])
def test_every_name_is_one_that_providers_take(name: str) -> None:
    (found,) = tools(listed(name))
    assert re.fullmatch(r"mcp__s__[A-Za-z0-9_-]+", found)
    assert len(found) <= 64
    assert [found] == list(tools(listed(name)))


def test_names_that_would_become_equal_stay_apart() -> None:
    alike = [listed("a.b"), listed("a/b"), listed("a_b"), listed("x" * 60 + "1"), listed("x" * 61)]
    assert len(tools(*alike)) == len(alike)
    assert "mcp__s__a_b" in tools(*alike)


def test_the_same_name_on_two_servers_is_two_tools() -> None:
    assert set(tools(listed(server="a"), listed(server="b"))) == {"mcp__a__look", "mcp__b__look"}


def test_a_tool_listed_twice_is_refused() -> None:
    with pytest.raises(AgentFailure, match="MCP server s lists 'look' twice"):
        tools(listed(), listed())


def test_number_and_size_are_bounded() -> None:
    many = [listed(f"t{number}", f"s{number % 3}") for number in range(MAX_TOOLS + 1)]
    assert len(tools(*many[:-1])) == MAX_TOOLS
    with pytest.raises(AgentFailure, match="list 101 tools, expected at most 100"):
        tools(*many)
    with pytest.raises(AgentFailure, match="expected at most 32768"):
        tools(listed(about="x" * MAX_DEFINITION))


@pytest.mark.parametrize(
    "unusable", [listed(about="\ud800"), listed("\ud800"), listed(maximum=2**64)]
)
def test_a_definition_that_no_log_can_hold_is_refused(unusable: Listed) -> None:
    with pytest.raises(AgentFailure, match="no JSON form"):
        tools(unusable)


def test_arguments_are_for_the_server_to_judge() -> None:
    tool = tools(listed())["mcp__s__look"]
    assert isinstance(tool, McpTool)
    tool.check({"anything": [1, None]})
