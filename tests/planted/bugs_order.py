"""Planted bugs of order: what comes before the fact that announces it is durable."""

from __future__ import annotations

import subprocess
from typing import Any

from agent.model_steps import ModelSteps
from agent.plans import StartStep, StartTool
from agent.provider import Provider
from agent.store import SessionStore
from agent.tool_calls import ToolCalls
from tests.planted.table import bug


@bug("P1", 0, "plain-answer")
def request_before_attempt() -> None:
    """The model is asked first, and the attempt written down when it has answered."""
    start, complete = ModelSteps.start, Provider.complete
    early: list[Any] = []

    def start_step(self: ModelSteps, plan: StartStep) -> None:
        work = self._work
        context = work.state.active_context
        early.append(complete(self._provider, work.configuration, context, print))
        start(self, plan)

    ModelSteps.start = start_step  # type: ignore[method-assign]
    Provider.complete = lambda self, *_: early.pop()  # type: ignore[method-assign]


@bug("E1", 0, "deploy-is-never-repeated")
def effect_before_intent() -> None:
    """The tool runs first, and its intent is written down when it is done."""
    announce = ToolCalls._announce

    def announce_late(self: ToolCalls, turn: Any, plan: StartTool) -> None:
        command = plan.arguments.get("command")
        if isinstance(command, str):
            subprocess.run(["sh", "-c", command], cwd=self._work.workspace, check=False)
        announce(self, turn, plan)

    ToolCalls._announce = announce_late  # type: ignore[method-assign]


@bug("E1", 0, "deploy-is-never-repeated")
def tool_start_before_intent() -> None:
    """The tool's program is started before its intent, though its effect comes after."""
    announce = ToolCalls._announce

    def announce_late(self: ToolCalls, turn: Any, plan: StartTool) -> None:
        subprocess.run(["true", str(plan.arguments.get("command"))], check=False)
        announce(self, turn, plan)

    ToolCalls._announce = announce_late  # type: ignore[method-assign]


@bug("P1", 0, "plain-answer")
def a_prompt_is_acknowledged_before_it_is_durable() -> None:
    """The prompt is announced, and asked about, while it is in memory only: it is written down
    with the reply."""
    write = SessionStore._write
    held: list[bytes] = []

    def write_behind(self: SessionStore, line: bytes) -> None:
        held.append(line)
        if b'"runStarted"' not in line and b'"stepAttempt"' not in line:
            write(self, b"\n".join(held))
            held.clear()

    SessionStore._write = write_behind  # type: ignore[method-assign]


@bug("P2", 1, "plain-answer", cut=True)
def a_lost_request_is_sent_again_under_its_old_attempt() -> None:
    """What resumes an open attempt asks at once, without an attempt of its own."""
    announce = ModelSteps._announce

    def announce_first(self: ModelSteps, plan: StartStep) -> None:
        if plan.attempt == 1:
            announce(self, plan)

    ModelSteps._announce = announce_first  # type: ignore[method-assign]
