"""The neutral form of a conversation with a model, and what a flavour of the wire is made of.

Pure. What agents ask and what models say is the same in every API; how it is written is not. The
mock provider answers the neutral form, the judge compares it, and a flavour (a module beside this
one) turns it into the bytes of one API and back.

Does not know any API. Source: design section 4.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

# The counters of a reply, by neutral name. Cached tokens are a part of the prompt's.
USAGE_KEYS = ("prompt_tokens", "completion_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that the model makes. `arguments` is raw text: JSON, unless the model failed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that was said. `role` is "user", "assistant" or "tool"; `result_of` is the id of
    the call that a tool message answers."""

    role: str
    text: str = ""
    calls: tuple[ToolUse, ...] = ()
    result_of: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request holds. `tools` are the names of those it offers."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    model: str
    stream: bool

    @property
    def users(self) -> list[str]:
        """The texts of the user's messages."""
        return [message.text for message in self.messages if message.role == "user"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says, to be written in a flavour's form.

    `stop` is a neutral word (STOPS), or sent as it is. `usage` holds USAGE_KEYS, whatever their
    values; empty: none is reported. `message` is what the flavour has for a message, as it stands.
    """

    number: int  # of its turn; ids of the reply are named after it
    text: str | None = None
    calls: tuple[ToolUse, ...] = ()
    stop: str = "stop"
    usage: Mapping[str, object] = field(default_factory=dict)
    message: Mapping[str, object] | None = None
    empty: bool = False  # it holds no message at all


STOPS = ("stop", "tool_calls", "length", "content_filter")


@dataclass(frozen=True, slots=True)
class Flavour:
    """One API, as a table of what it does. A body is that of a request to it.

    `faults` says why the real API refuses a body (empty: it does not); `read` takes a body that it
    does not refuse, and the path it came to. `stream` gives one element an event. `key` finds the
    key in headers (lower case) and path; None: there is none.
    """

    name: str
    place: str  # where its requests go, in words
    path: re.Pattern[str]  # the same, below the provider's root, without a query
    faults: Callable[[bytes], tuple[str, ...]]
    read: Callable[[bytes, str], Conversation]
    plain: Callable[[Reply, str], bytes]  # of a reply and the model's name
    stream: Callable[[Reply, str], list[bytes]]
    error: Callable[[int, str], bytes]  # the body of an error reply, from status and message
    key: Callable[[Mapping[str, str], str], str | None]
    key_place: str  # what a client that sent another key is told to send
    after_usage: int  # events of a stream that follow the one which tells the usage
    text: re.Pattern[bytes]  # up to the first character of something that the model says
    finish: re.Pattern[bytes]  # the member (group 1) and its value that say why the model stopped

    def told(self, body: bytes, path: str) -> Conversation | None:
        """What a request holds; None where the real API refuses it."""
        return None if self.faults(body) else self.read(body, path)


@dataclass(frozen=True, slots=True)
class SideMarks:
    """How requests that are no turns of the conversation (titles, summaries) are told from turns:
    the system text or the first user text holds one of `texts`; or no tool is offered, by an agent
    that offers tools in its turns."""

    texts: tuple[str, ...] = ()
    without_tools: bool = False

    def mark(self, conversation: Conversation) -> bool:
        """Is this a side request?"""
        if self.without_tools and not conversation.tools:
            return True
        said = (conversation.system, *conversation.users[:1])
        return any(text in words for text in self.texts for words in said)

    def __bool__(self) -> bool:
        return self.without_tools or bool(self.texts)


NO_MARKS = SideMarks()


# -- bytes --------------------------------------------------------------------------------------


def to_json(value: object) -> str:
    """A JSON value as compact text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encode(value: object) -> bytes:
    """A JSON value as it goes over the wire: compact UTF-8."""
    # A lone surrogate has no UTF-8; written as `\udXXX` it is just the JSON escape of itself.
    return to_json(value).encode("utf-8", "backslashreplace")


def sse_event(data: bytes, name: str = "") -> bytes:
    """One server-sent event, with its name where the API gives it one."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"


def pieces(text: str, count: int) -> list[str]:
    """`text` in at most `count` pieces of about equal length; no empty one."""
    size = -(-len(text) // count) or 1
    return [text[start : start + size] for start in range(0, len(text), size)]


# How a stream splits what is said, so that a cut one ends inside arguments, not only between calls.
TEXT_PIECES, ARGUMENT_PIECES = 2, 3


def arguments_of(call: ToolUse) -> object:
    """Arguments for an API that has them as an object. What is no JSON stays text."""
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments


def is_count(value: object) -> TypeGuard[int]:
    """What a counter can be: a whole number that JSON carries safely."""
    return type(value) is int and 0 <= value < 2**53


def added(*counts: object) -> object:
    """The sum of counters; None where one of them makes no sense."""
    return sum(counts) if all(map(is_count, counts)) else None  # type: ignore[arg-type]


def text_of(content: object, kinds: Sequence[str] = ("text",)) -> str:
    """The text of a content that is a string or a list of parts, of which `kinds` hold text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(str(p.get("text", "")) for p in parts if p.get("type", "text") in kinds)
