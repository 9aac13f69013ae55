"""What recovery does with what a killed agent left, in words for the person who comes back.

It listens to the facts of a recovery, prints nothing itself, and gives words for each one that only
a crash explains. A call whose effect is unknown is named as exactly as the log knows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.facts import Message
from agent.output import event_name, shortened
from agent.state import Compaction, Run, ToolIntent

_SHOWN = 120  # characters of a call
_INTERRUPTED = {"type": "synthetic", "reason": "interrupted"}


class RecoveryWords:
    """Made from the operation as it was found; `of` is then given each new fact."""

    def __init__(self, found: Run | Compaction) -> None:
        intents = found.tool_calls if isinstance(found, Run) else ()
        self._pending = {i.tool_started_id: i for i in intents if i.status == "pending"}
        self.found = f"the session has an unfinished {_NOUNS[found.kind]}; going on with it"

    def of(self, fact: Mapping[str, Any]) -> str:
        """The words for a fact; "" for one that needs none."""
        match event_name(fact), fact:
            case "toolResult", {"entry": {"toolStartedId": str(started), "result": result}}:
                intent = self._pending.pop(started, None)
                if intent is None:
                    return ""  # a call of now
                call = f"`{call_words(intent)}`"
                if result == _INTERRUPTED:
                    return f"interrupted: {call} may have run; it was not run again"
                return f"replayed: {call} was interrupted; it changes nothing and was run again"
            case "stepAttempt", {"record": {"attempt": 2}}:
                return "interrupted: a request to the model; it is sent once more"
            case _:
                return ""


_NOUNS: Mapping[str, str] = {"run": "operation", "compaction": "compaction"}


def call_words(intent: ToolIntent) -> str:
    """A call as a person would say it: a command line, or the tool and its first argument."""
    arguments = intent.arguments
    if intent.tool_name == "bash" and isinstance(arguments.get("command"), str):
        return shortened(arguments["command"], _SHOWN)
    first = next(iter(arguments.values()), "")
    return shortened(f"{intent.tool_name} {first}", _SHOWN)


def last_exchange(transcript: Sequence[Message]) -> tuple[str, str]:
    """The last prompt of a conversation and the last reply to it; "" for what there is not.

    A reply can be durable that a killed agent did not come to show.
    """
    reply = ""
    for message in reversed(transcript):
        if message["role"] == "user":
            return message["content"], reply
        if message["role"] == "assistant":
            reply = reply or message["content"] or ""
    return "", reply
