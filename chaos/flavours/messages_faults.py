"""What Anthropic's messages API refuses.

Pure. Strict where the API is, silent where it is not. Messages of one role that follow each other
are one turn, as they are to the API. An id of a call is unique in the whole conversation, a turn
with calls is followed by their results and by nothing before them, no text is blank, and the last
word is the user's (newer models refuse to go on with words put into their mouth).

Does not look at unknown members of a request, at headers, or at blocks that are neither text, calls
nor results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos.flavours.refusals import (
    Members,
    array,
    is_array,
    is_flag,
    is_object,
    is_positive,
    is_text,
    is_within,
    member_faults,
    named,
    refusing,
)

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[A-Za-z0-9_-]+")
_ROLES = ("user", "assistant")
_MESSAGE_KEYS = frozenset({"role", "content"})
# Blocks that belong to one role alone.
_ROLE_OF_BLOCK = {"tool_use": "assistant", "tool_result": "user"}

_REQUIRED: Members = {
    "model": ("a non-empty string", is_text),
    "max_tokens": ("a positive integer", is_positive),
    "messages": ("a non-empty array", is_array),
}
_OPTIONAL: Members = {
    "stream": ("a boolean", is_flag),
    "tools": ("an array", lambda value: isinstance(value, list)),
    "system": ("text or an array of text blocks", lambda value: isinstance(value, str | list)),
    "temperature": ("a number from 0 to 1", is_within(1)),
    "top_p": ("a number from 0 to 1", is_within(1)),
    "metadata": ("an object", is_object),
}


def _faults(request: Mapping[str, Any]) -> Iterator[str]:
    yield from member_faults(request, _REQUIRED, _OPTIONAL)
    if request.get("tool_choice") is not None and not request.get("tools"):
        yield "tool_choice: expected only together with tools, found it without"
    for index, block in enumerate(array(request.get("system"))):
        yield from _text_faults(f"system[{index}]", block)
    yield from _tool_faults(array(request.get("tools")))
    messages = array(request.get("messages"))
    for index, message in enumerate(messages):
        yield from _message_faults(_place(index, message), message)
    yield from _order_faults(_turns(messages))


def _tool_faults(tools: Sequence[Any]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for index, tool in enumerate(tools):
        place = f"tools[{index}]"
        if not isinstance(tool, dict):
            yield f"{place}: expected an object, found {named(tool)}"
            continue
        name, schema = tool.get("name"), tool.get("input_schema")
        if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            yield f"{place}.name: expected 1 to 128 letters, digits, _ or -, found {named(name)}"
        elif seen.setdefault(name, index) != index:
            first = f"first in tools[{seen[name]}]"
            yield f"{place}.name: expected unique names, found {name!r} again ({first})"
        own = tool.get("type") in (None, "custom")  # the others are tools of the provider
        if own and not (isinstance(schema, dict) and schema.get("type") == "object"):
            expected = "a JSON Schema of type object"
            yield f"{place}.input_schema: expected {expected}, found {named(schema)}"


# -- one message --------------------------------------------------------------------------------


def _message_faults(place: str, message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        yield f"{place}: expected an object, found {named(message)}"
        return
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        yield f"{place}.role: expected one of {', '.join(_ROLES)}, found {named(role)}"
        return
    for member in sorted(message.keys() - _MESSAGE_KEYS):
        yield f"{place}.{member}: expected only role and content, found it"
    if isinstance(content, str):
        if not content.strip():
            yield f"{place}.content: expected text that is not blank, found {named(content)}"
    elif not is_array(content):
        expected = "text or a non-empty array of blocks"
        yield f"{place}.content: expected {expected}, found {named(content)}"
    for index, block in enumerate(array(content)):
        yield from _block_faults(f"{place}.content[{index}]", role, block)


def _block_faults(place: str, role: str, block: Any) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        yield f"{place}: expected a content block with a type, found {named(block)}"
    elif _ROLE_OF_BLOCK.get(kind, role) != role:
        yield f"{place}: expected {kind} only in a message of role {_ROLE_OF_BLOCK[kind]}"
    elif kind == "text":
        yield from _text_faults(place, block)
    elif kind == "tool_use":
        yield from _id_faults(f"{place}.id", block.get("id"))
        if not is_text(block.get("name")):
            yield f"{place}.name: expected a non-empty string, found {named(block.get('name'))}"
        if not is_object(block.get("input")):
            yield f"{place}.input: expected an object, found {named(block.get('input'))}"
    elif kind == "tool_result":
        yield from _id_faults(f"{place}.tool_use_id", block.get("tool_use_id"))
        content = block.get("content")
        if content is not None and not isinstance(content, str | list):
            yield f"{place}.content: expected text or blocks, found {named(content)}"
        for index, part in enumerate(array(content)):
            if isinstance(part, dict) and part.get("type") == "text":
                yield from _text_faults(f"{place}.content[{index}]", part)


def _text_faults(place: str, block: Any) -> Iterator[str]:
    text = block.get("text") if isinstance(block, dict) else block
    if not isinstance(text, str) or not text.strip():
        yield f"{place}.text: expected text that is not blank, found {named(text)}"


def _id_faults(place: str, call_id: Any) -> Iterator[str]:
    if not isinstance(call_id, str) or not _CALL_ID.fullmatch(call_id):
        yield f"{place}: expected letters, digits, _ or -, found {named(call_id)}"


# -- the order of the turns ---------------------------------------------------------------------


@dataclass(slots=True)
class _Turn:
    """Messages of one role that follow each other."""

    role: str
    place: str  # of the first of them
    blocks: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)  # with their places

    def calls(self) -> Iterator[tuple[str, str]]:
        """The calls that it makes: place and id."""
        for at, block in self.blocks if self.role == "assistant" else ():
            if block["type"] == "tool_use" and isinstance(block.get("id"), str):
                yield at, block["id"]


def _turns(messages: Sequence[Any]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _ROLES:
            continue  # its own fault is named already
        place = _place(index, message)
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role, place))
        content = message.get("content")
        blocks = [{"type": "text"}] if isinstance(content, str) else array(content)
        turns[-1].blocks += [
            (f"{place}.content[{number}]", block)
            for number, block in enumerate(blocks)
            if isinstance(block, dict) and "type" in block
        ]
    return turns


def _order_faults(turns: Sequence[_Turn]) -> Iterator[str]:
    """Calls and results, who speaks first and who speaks last."""
    if turns and turns[0].role != "user":
        yield f"{turns[0].place}: expected a user message first, found an assistant message"
    seen: dict[str, str] = {}
    for at, call_id in (call for turn in turns for call in turn.calls()):
        if seen.setdefault(call_id, at) != at:
            first = f"first in {seen[call_id]}"
            yield f"{at}.id: expected unique ids, found {call_id!r} again ({first})"
    for before, turn in zip((None, *turns), (*turns, None), strict=True):
        yield from _answer_faults(before, turn)
    if turns and turns[-1].role == "assistant" and not any(turns[-1].calls()):
        yield f"{turns[-1].place}: expected the last message to be of role user, found assistant"


def _answer_faults(before: _Turn | None, turn: _Turn | None) -> Iterator[str]:
    """The results in a turn, set against the calls of the one before it."""
    open_calls = dict.fromkeys(call_id for _, call_id in before.calls()) if before else {}
    calls = frozenset(open_calls)
    words = False
    for at, block in turn.blocks if turn else ():
        call_id = block.get("tool_use_id")
        if block["type"] != "tool_result" or not isinstance(call_id, str):
            words = words or block["type"] != "tool_result"
        elif call_id in open_calls:
            del open_calls[call_id]
            if words:
                yield f"{at}: expected results before all else after their calls, found text first"
        elif call_id in calls:
            yield f"{at}: expected one result a call, found a second one for {call_id!r}"
        else:
            expected = f"a call {call_id!r} in the turn directly before"
            yield f"{at}: expected {expected}, found a result without its call"
    if before and open_calls:
        ids = ", ".join(map(repr, open_calls))
        expected = "a result for every call directly after them"
        yield f"{before.place}: expected {expected}, found none for {ids}"


def _place(index: int, message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return f"messages[{index}] ({role})" if role in _ROLES else f"messages[{index}]"


messages_faults = refusing(_faults)
