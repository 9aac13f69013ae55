"""Planted bugs that forget: the log is whole, the transcript legal, and the model is not told."""

from __future__ import annotations

from typing import Any

from agent.provider import Provider
from tests.planted.table import bug


@bug("E6", 1, "deploy-is-never-repeated")
def an_interrupted_call_is_pruned() -> None:
    """A call without a real result is left out of what the model is told next, with its turn: the
    repair that makes a transcript legal again, and the effect unheard of."""
    complete = Provider.complete
    forgotten: list[str] = []

    def pruned(self: Provider, configuration: Any, context: Any, show: Any) -> Any:
        lost = {
            message["tool_call_id"]
            for message in context
            if message["role"] == "tool" and "interrupted" in message["content"]
        } - set(forgotten)
        forgotten.extend(lost)
        kept = [
            message
            for message in context
            if message.get("tool_call_id") not in lost
            and not any(call["id"] in lost for call in message.get("tool_calls") or ())
        ]
        return complete(self, configuration, kept, show)

    Provider.complete = pruned  # type: ignore[method-assign]


@bug("E6", 0, "deploy-is-never-repeated")
def only_the_last_prompt_is_sent() -> None:
    """Once, a request begins anew: what the tools did since the prompt is not in it."""
    complete = Provider.complete
    forgotten: list[Any] = []

    def short(self: Provider, configuration: Any, context: Any, show: Any) -> Any:
        if not forgotten and context[-1]["role"] == "tool":
            forgotten.append(context)
            context = [m for m in context if m["role"] == "user"][-1:]
        return complete(self, configuration, context, show)

    Provider.complete = short  # type: ignore[method-assign]
