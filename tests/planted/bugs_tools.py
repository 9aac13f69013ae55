"""Planted bugs of tools: what they do to files, how often they run, what of them is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import agent.guard
import agent.tools.output
import agent.tools.write
from agent.loop import Loop
from agent.provider import Provider
from agent.tool_calls import ToolCalls
from agent.tools.base import ToolResult
from tests.planted.table import With, bug


@bug("E5", 0, "three-calls-in-one-turn")
def write_in_place() -> None:
    """The file is opened for writing where it stands: for a moment it is empty."""

    def replace_file(path: Path, content: bytes, *_: Any, **__: Any) -> None:
        path.write_bytes(content)

    agent.tools.write.replace_file = replace_file


@bug("P4", 0, "safe-read-is-replayed")
def the_result_is_not_shown_to_the_model() -> None:
    """The model hears another text than the log holds."""
    real = Provider.complete

    def complete(self: Provider, configuration: Any, context: Any, show: Any) -> Any:
        told = [{**m, "content": "ok"} if m["role"] == "tool" else m for m in context]
        return real(self, configuration, told, show)

    Provider.complete = complete  # type: ignore[method-assign]


def _run_instead(run: Callable[[Any, Any, Any], Any], when: Callable[[], bool]) -> None:
    """`run(tool, arguments, context)` stands for a tool's own work, where `when` says so."""
    real = ToolCalls._run

    def run_otherwise(self: ToolCalls, intent: Any) -> None:
        kept = self._work.configuration
        tool = kept.tools[intent.tool_name]
        other = replace(tool, run=lambda *given: run(tool, *given))
        if when():
            tools = {**kept.tools, intent.tool_name: other}
            self._work.configuration = replace(kept, tools=tools)
        real(self, intent)
        self._work.configuration = kept

    ToolCalls._run = run_otherwise  # type: ignore[method-assign]


@bug("E2", 0, "deploy-is-never-repeated")
def a_tool_is_run_twice() -> None:
    """To be sure, each tool is run once more before its result is taken."""

    def twice(tool: Any, arguments: Any, context: Any) -> Any:
        tool.run(arguments, context)
        return tool.run(arguments, context)

    _run_instead(twice, lambda: True)


@bug("E2", 0, "processes/a-failed-call-is-not-tried-again")
def a_failed_tool_is_tried_again() -> None:
    """What ends with an error is run once more, as if it had not happened."""

    def try_again(tool: Any, arguments: Any, context: Any) -> Any:
        result = tool.run(arguments, context)
        return tool.run(arguments, context) if result.kind == "error" else result

    _run_instead(try_again, lambda: True)


@bug("E3", 1, "deploy-is-never-repeated")
def who_resumes_only_pretends_to_run_tools() -> None:
    """Whoever takes a session over says that its tools succeed, and runs none."""
    accept = Loop.accept
    accepted: list[str] = []

    def note(self: Loop, prompt: str) -> None:
        accepted.append(prompt)
        accept(self, prompt)

    Loop.accept = note  # type: ignore[method-assign]
    _run_instead(lambda *_: ToolResult("success", "(no output)"), lambda: not accepted)


@bug("X3", 0, "deploy-is-never-repeated")
def tools_have_the_log_open() -> None:
    """The descriptor of the log goes over to the programs that tools start."""

    def leave_open(first: int, end: int) -> None:
        for fd in range(first, min(end, 64)):
            if Path(f"/proc/self/fd/{fd}").exists():
                os.set_inheritable(fd, Path(f"/proc/self/fd/{fd}").resolve().suffix == ".jsonl")

    agent.guard.os = With(os, closerange=leave_open)  # type: ignore[assignment]


@bug("X4", 0, "plain-answer")
def the_last_request_is_kept_in_a_file() -> None:
    """For who looks for a fault later: the request, with all its headers."""
    real = Provider._exchange

    def exchange(self: Provider, client: Any, body: bytes, show: Any) -> Any:
        kept = {"headers": dict(client.headers), "body": json.loads(body)}
        Path("last-request.json").write_text(json.dumps(kept))
        return real(self, client, body, show)

    Provider._exchange = exchange  # type: ignore[method-assign]


@bug("R5", 0, "regression/13-broken-text")
def output_is_cut_inside_a_character() -> None:
    """What the limit leaves of a character is told as a question mark in a box."""
    agent.tools.output._from_character = lambda tail: tail
