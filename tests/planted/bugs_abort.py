"""Planted bugs of the abort: its order, its words, and what goes on in spite of it."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import agent.abort
from agent import new_facts
from agent.abort import Abort
from agent.model_steps import ModelSteps
from agent.signals import AbortSwitch
from agent.store import Reserved
from agent.tool_calls import ToolCalls
from tests.planted.table import bug


@bug("L11", 0, "abort-while-the-model-answers")
def the_request_is_cancelled_before_the_abort_is_durable() -> None:
    """The wait ends as if the abort were durable; it is written down when the request is gone."""
    heed, fail = Abort.heed, ModelSteps._fail

    def fail_late(self: ModelSteps, *given: Any) -> None:
        heed(self._work.abort)
        fail(self, *given)

    ModelSteps._fail = fail_late  # type: ignore[method-assign]
    Abort.heed = lambda self: self._switch.requested  # type: ignore[method-assign]


@bug("L11", 0, "abort-while-a-tool-runs")
def a_late_result_is_recorded() -> None:
    """What the tool gave is written down, although the abort was durable before."""
    run = ToolCalls._run

    def run_on(self: ToolCalls, intent: Any) -> None:
        run(self, intent)
        if self._work.abort.durable:
            late = new_facts.tool_result(
                step_id=intent.step_id,
                tool_started_id=intent.tool_started_id,
                tool_call_id=intent.tool_call_id,
                tool_name=intent.tool_name,
                result="success",
                content="late",
            )
            self._work.commit(Reserved(intent.result_entry_id, late))

    ToolCalls._run = run_on  # type: ignore[method-assign]


@bug("L11", 0, "abort-while-the-model-answers")
def the_abort_names_the_wrong_phase() -> None:
    """Whatever is aborted, the log calls it a compaction."""
    agent.abort.abort_of = lambda operation: new_facts.abort_requested(
        operation_id=operation.operation_id,
        operation_kind=operation.kind,
        phase="compact",
        tool_call_id=None,
    )


@bug("L11", 1, "abort-after-a-crash")
def abort_goes_on_instead() -> None:
    """What a crash left is brought to its end as if nobody had given up on it."""
    AbortSwitch.request = lambda _: None  # type: ignore[method-assign]


@bug("P5", 0, "abort-while-the-model-answers")
def asks_once_more_after_the_abort() -> None:
    """The same request goes out again when its abort is durable."""
    fail = ModelSteps._fail

    def fail_late(self: ModelSteps, *given: Any) -> None:
        settings = self._work.configuration.settings
        headers = {"Authorization": f"Bearer {settings.api_key}"}
        messages = [{"role": "system", "content": "?"}, *self._work.state.active_context]
        body = json.dumps({"model": settings.model, "messages": messages}).encode()
        url = f"{settings.base_url}/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, body, headers)).close()
        fail(self, *given)

    ModelSteps._fail = fail_late  # type: ignore[method-assign]
