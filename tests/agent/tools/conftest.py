"""A workspace, and calls of the built-in tools in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.configuration import tool_environment
from agent.signals import AbortSwitch
from agent.tools import BUILTIN_TOOLS, CallContext, ToolResult
from tests.agent.support import no_abort

Call = Callable[..., ToolResult]


@pytest.fixture(name="workspace")
def _workspace(tmp_path: Path) -> Path:
    workspace = Path(os.path.realpath(tmp_path)) / "workspace"
    (workspace / ".agent" / "sessions").mkdir(parents=True)
    return workspace


@pytest.fixture(name="call")
def _call(workspace: Path) -> Iterator[Call]:
    switch = AbortSwitch()
    context = CallContext(
        workspace=workspace,
        call_id="018f0000-0000-7000-8000-000000000001",
        lock_fd=None,
        environment=tool_environment({**os.environ, "AGENT_API_KEY": "sk", "KEPT": "kept"}),
        abort=no_abort(switch),
    )

    def call(tool: str, /, **arguments: Any) -> ToolResult:
        return BUILTIN_TOOLS[tool].call(arguments, context)

    with switch:
        yield call
