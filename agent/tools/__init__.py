"""The tools the agent offers, in the order in which the model is told of them."""

from __future__ import annotations

from collections.abc import Mapping

from agent.tools.base import CallContext, Tool, ToolResult
from agent.tools.bash import BASH
from agent.tools.edit import EDIT
from agent.tools.read import READ
from agent.tools.write import WRITE

__all__ = ["BUILTIN_TOOLS", "CallContext", "Tool", "ToolResult"]

BUILTIN_TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (READ, WRITE, EDIT, BASH)}
