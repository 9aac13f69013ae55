"""The vocabulary of a session log: its values and its fixed texts.

Pure. How new facts are written stands in `new_facts`, their shapes in `schema`, their meaning in
the reducer. Source: session contract, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agent.strict_json import StrictJSONError, loads

JSONObject = dict[str, Any]
Message = dict[str, Any]  # {"role": "user" | "assistant" | "tool", "content": …, …}

VERSION = 2
MAX_SAFE_INTEGER = 2**53 - 1
COMPACTED_HISTORY = "[Compacted history]\n"  # what an active context begins with after compaction
ABORTED_ERROR = {"code": "aborted", "message": "Operation aborted"}
EMPTY_RESPONSE_ERROR = {"code": "empty_response", "message": "The model returned an empty response"}

# Byte for byte; never translated: the model and other readers of the log see them.
SYNTHETIC_TEXT: Mapping[str, str] = {
    "invalidArguments": "Error: Tool arguments were invalid; the tool was not executed.",
    "unknownTool": "Error: Unknown tool; the tool was not executed.",
    "truncated": (
        "Error: Tool call arguments were truncated by the model token limit; "
        "the tool was not executed."
    ),
    "aborted": "Operation aborted before execution.",
    "interrupted": (
        "Operation interrupted after execution status became unknown; the tool was not replayed."
    ),
}

# Arguments stand up to four levels deep in a line of the log, whose own bound is larger.
MAX_ARGUMENTS_DEPTH = 128


class Fact(NamedTuple):
    """A fact as read. `body` is its `entry` or `record`, or the usage fact's own keys."""

    kind: str  # entry | record | usage
    variant: str  # user, assistant, startedResult, …, toolStarted, …, usage: a row of `schema`
    seq: int
    id: str
    timestamp: int  # milliseconds since 1970
    body: JSONObject


def parse_arguments(text: str) -> JSONObject | None:
    """The arguments of a tool call, or None where they are not one strict JSON object."""
    try:
        found = loads(text, max_depth=MAX_ARGUMENTS_DEPTH)
    except StrictJSONError:
        return None
    return found if isinstance(found, dict) else None


def is_blank(text: str | None) -> bool:
    """Empty or white space only (session contract, section 3)."""
    return text is None or not text.strip()
