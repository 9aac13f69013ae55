"""What MCP servers list, as tools of the agent.

What it promises: names are unique, legal for every provider (64 of `A-Za-z0-9_-`), and the same at
every start, whatever order a server lists in: the order of the tools is part of the configuration
that a resume compares. Number and size of the definitions are bounded. No such tool is ever run
again after a crash: its replay is `never`, and its key names server and tool.
What it does not do: it does not check arguments; the server does.

Source: session contract, section 2 (`toolStarted`); issue 3.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent import strict_json
from agent.failures import AgentFailure
from agent.tools.base import Arguments, CallContext, Tool, ToolResult

MAX_TOOLS = 100  # of all servers together; providers take 128, and the agent has some of its own
MAX_DEFINITION = 32 * 1024  # bytes of one definition as JSON; every request carries them all
_LONGEST_NAME = 64
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")

Caller = Callable[[str, str, Arguments, CallContext], ToolResult]


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server lists it."""

    server: str
    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object


@dataclass(frozen=True)
class McpTool(Tool):
    """A tool that a server carries out."""

    key: str = ""

    @property
    def replay_key(self) -> str:
        """Names server and tool, e.g. `mcp:tracker:create_issue`."""
        return self.key

    def check(self, arguments: Arguments) -> None:
        """Any object: the schema is the server's, and so is the judgement."""


def offered(listed: Iterable[Listed], call: Caller) -> dict[str, Tool]:
    """The tools by name. Raises AgentFailure for a listing that cannot be offered to a model."""
    tools: dict[str, Tool] = {}
    seen: set[tuple[str, str]] = set()
    for each in sorted(listed, key=lambda tool: (tool.server, tool.name)):
        if (each.server, each.name) in seen:
            raise AgentFailure(f"the MCP server {each.server} lists {each.name!r} twice")
        seen.add((each.server, each.name))
        tool = _tool(each, tools, call)
        _require_usable(each, tool)
        tools[tool.name] = tool
    if len(tools) > MAX_TOOLS:
        raise AgentFailure(
            f"the MCP servers list {len(tools)} tools, expected at most {MAX_TOOLS}: "
            "name fewer servers"
        )
    return tools


def _tool(listed: Listed, taken: Mapping[str, Tool], call: Caller) -> McpTool:
    def run(arguments: Arguments, context: CallContext) -> ToolResult:
        return call(listed.server, listed.name, arguments, context)

    return McpTool(
        name=_name(listed, taken),
        description=listed.description,
        parameters=listed.parameters,
        run=run,
        key=f"mcp:{listed.server}:{listed.name}",
    )


def _name(listed: Listed, taken: Mapping[str, Tool]) -> str:
    """`mcp__SERVER__TOOL`; with a digest where that is too long, unusable or taken."""
    plain = f"mcp__{listed.server}__{listed.name}"
    name = _UNUSABLE.sub("_", plain)
    if name == plain and len(name) <= _LONGEST_NAME and name not in taken:
        return name
    mark = "_" + hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:8]
    return name[: _LONGEST_NAME - len(mark)] + mark


def _require_usable(listed: Listed, tool: McpTool) -> None:
    """Raise AgentFailure unless log and request can hold the definition."""
    what = f"the MCP server {listed.server} lists a tool {listed.name[:100]!a}"
    try:
        tool.replay_key.encode("utf-8")
        size = len(strict_json.dumps(tool.definition))
        tool.definition_digest  # noqa: B018 - must be computable
    except ValueError as error:
        raise AgentFailure(f"{what} with a definition that has no JSON form: {error}") from None
    if size > MAX_DEFINITION:
        raise AgentFailure(
            f"{what} with a definition of {size} bytes, expected at most {MAX_DEFINITION}"
        )
