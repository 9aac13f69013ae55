"""Flavours: the model APIs that the mock provider speaks, and the neutral form behind them.

Pure. `flavour_of` tells the API of a request by its path; a `Flavour` refuses what the real API
refuses, reads a request as a `Conversation` and writes a `Reply`. One module an API, one more for
what it refuses. Serves nothing (`chaos.provider` does) and judges nothing.
"""

from __future__ import annotations

from chaos.flavours.chat import CHAT
from chaos.flavours.form import (
    NO_MARKS,
    Conversation,
    Flavour,
    Message,
    Reply,
    SideMarks,
    ToolUse,
)
from chaos.flavours.gemini import GEMINI
from chaos.flavours.messages import MESSAGES
from chaos.flavours.responses import RESPONSES

__all__ = [
    "CHAT",
    "FLAVOURS",
    "GEMINI",
    "MESSAGES",
    "NO_MARKS",
    "RESPONSES",
    "Conversation",
    "Flavour",
    "Message",
    "Reply",
    "SideMarks",
    "ToolUse",
    "flavour_of",
]

FLAVOURS = (CHAT, RESPONSES, MESSAGES, GEMINI)


def flavour_of(method: str, path: str) -> Flavour | None:
    """The API that a request asks the model by; `path` is below the provider's root (evidence holds
    it so), with or without its query. None: it asks no model."""
    place = path.partition("?")[0]
    if method != "POST":
        return None
    return next((flavour for flavour in FLAVOURS if flavour.path.fullmatch(place)), None)
