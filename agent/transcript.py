"""Which lists of messages a model provider accepts.

Pure. The rule (session contract, section 3): no user or assistant message while a call is
unanswered, no result that answers nothing, no call id twice in one turn.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.facts import Message

_ARTICLE = {"user": "a user", "assistant": "an assistant"}


def complaint(messages: Iterable[Message]) -> str:
    """ "" for a legal transcript, else what is wrong with it."""
    unanswered: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in unanswered:
                return f"the result of {message['tool_call_id']!a} answers no open call"
            unanswered.remove(message["tool_call_id"])
        elif unanswered:
            return f"{_ARTICLE[message['role']]} message while {min(unanswered)!a} is unanswered"
        else:
            unanswered = call_ids(message)
            if len(unanswered) != len(message.get("tool_calls", ())):
                return "two calls of one turn have the same id"
    return f"{min(unanswered)!a} is never answered" if unanswered else ""


def call_ids(message: Message) -> set[str]:
    """The ids of the calls that a message makes."""
    return {call["id"] for call in message.get("tool_calls", ())}
