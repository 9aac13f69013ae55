"""What OpenAI's responses API refuses.

Pure. Strict where the API is, silent where it is not: every call has an output behind it and every
output a call before it, wherever they stand; ids of items begin as the API's own do and come once;
a part of a content is of a kind that its role may say.

Nothing is stored here, as by an account without data retention: a request that refers to what the
API stored is refused as there, and an agent has to be told `store = false`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaos.flavours.openai import SYSTEM_ROLES
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

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_OF_A_CALL_ID = 64
_ID_BEGINS = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_SAID_BY_USERS = ("input_text", "input_image", "input_file", "input_audio")
_PARTS = {  # by role: the kinds of parts that it may say
    **dict.fromkeys(("user", *SYSTEM_ROLES), _SAID_BY_USERS),
    "assistant": ("output_text", "refusal"),
}
_STORED = ("previous_response_id", "conversation", "prompt")

_REQUIRED: Members = {
    "model": ("a non-empty string", is_text),
    "input": ("text or a non-empty array", lambda value: is_text(value) or is_array(value)),
}
_OPTIONAL: Members = {
    "stream": ("a boolean", is_flag),
    "store": ("a boolean", is_flag),
    "stream_options": ("an object", is_object),
    "instructions": ("a string", lambda value: isinstance(value, str)),
    "tools": ("an array", lambda value: isinstance(value, list)),
    "temperature": ("a number from 0 to 2", is_within(2)),
    "top_p": ("a number from 0 to 1", is_within(1)),
    "max_output_tokens": ("an integer from 16 on", lambda v: is_positive(v) and v >= 16),
    "include": ("an array", lambda value: isinstance(value, list)),
}


def _faults(request: Mapping[str, Any]) -> Iterator[str]:
    yield from member_faults(request, _REQUIRED, _OPTIONAL)
    for name in _STORED:
        if request.get(name) is not None:
            yield f"{name}: expected the whole conversation in input, found a reference to a store"
    if request.get("stream_options") is not None and not request.get("stream"):
        yield "stream_options: expected only together with stream, found it without"
    for index, tool in enumerate(array(request.get("tools"))):
        yield from _tool_faults(f"tools[{index}]", tool)
    items = array(request.get("input"))
    for index, item in enumerate(items):
        yield from _item_faults(f"input[{index}]", item)
    yield from _id_faults(items)
    yield from _order_faults(items)


def _tool_faults(place: str, tool: Any) -> Iterator[str]:
    if not isinstance(tool, dict) or not is_text(tool.get("type")):
        yield f"{place}: expected an object with a type, found {named(tool)}"
    elif tool["type"] == "function":
        name, parameters = tool.get("name"), tool.get("parameters")
        if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            yield f"{place}.name: expected 1 to 64 letters, digits, _ or -, found {named(name)}"
        if parameters is not None and not (
            isinstance(parameters, dict) and parameters.get("type") == "object"
        ):
            expected = "a JSON Schema of type object"
            yield f"{place}.parameters: expected {expected}, found {named(parameters)}"


# -- one item -----------------------------------------------------------------------------------


def kind_of(item: Any) -> str:
    """The type of an item of the input; a message need not say that it is one."""
    if not isinstance(item, dict):
        return ""
    kind = item.get("type", "message" if "role" in item else "")
    return kind if isinstance(kind, str) else ""


def _item_faults(place: str, item: Any) -> Iterator[str]:
    match kind_of(item):
        case "":
            yield f"{place}: expected an item with a type, found {named(item)}"
        case "message":
            yield from _message_faults(place, item)
        case "function_call":
            yield from _call_id_faults(place, item)
            if not is_text(item.get("name")):
                yield f"{place}.name: expected a non-empty string, found {named(item.get('name'))}"
            if not isinstance(item.get("arguments"), str):
                found = named(item.get("arguments"))
                yield f"{place}.arguments: expected a string, found {found}"
        case "function_call_output":
            yield from _call_id_faults(place, item)
            if not isinstance(item.get("output"), str | list):
                found = named(item.get("output"))
                yield f"{place}.output: expected text or an array of parts, found {found}"
        case "item_reference":
            yield f"{place}: expected the item itself, found a reference to a store"


def _call_id_faults(place: str, item: Mapping[str, Any]) -> Iterator[str]:
    call_id = item.get("call_id")
    if not is_text(call_id) or len(str(call_id)) > _MOST_OF_A_CALL_ID:
        yield f"{place}.call_id: expected 1 to 64 characters, found {named(call_id)}"


def _message_faults(place: str, message: Mapping[str, Any]) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in _PARTS:
        yield f"{place}.role: expected one of {', '.join(_PARTS)}, found {named(role)}"
        return
    if not isinstance(content, str | list):
        yield f"{place}.content: expected text or an array of parts, found {named(content)}"
    for index, part in enumerate(array(content)):
        at = f"{place}.content[{index}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _PARTS[role]:
            expected = f"{' or '.join(_PARTS[role])} from a role {role}"
            yield f"{at}: expected {expected}, found {named(kind)}"
        elif kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
            yield f"{at}.text: expected a string, found {named(part.get('text'))}"


# -- all items ----------------------------------------------------------------------------------


def _id_faults(items: Sequence[Any]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        name = item.get("id") if isinstance(item, dict) else None
        if not isinstance(name, str) or kind_of(item) == "item_reference":
            continue
        begins = _ID_BEGINS.get(kind_of(item), "")
        if not name.startswith(begins):
            yield f"input[{index}].id: expected an id that begins with {begins}, found {name!r}"
        if seen.setdefault(name, index) != index:
            first = f"first in input[{seen[name]}]"
            yield f"input[{index}].id: expected unique ids, found {name!r} again ({first})"


def _order_faults(items: Sequence[Any]) -> Iterator[str]:
    """Calls and their outputs."""
    calls: dict[str, int] = {}
    answered: set[str] = set()
    for index, item in enumerate(items):
        call_id = item.get("call_id") if isinstance(item, dict) else None
        if not isinstance(call_id, str):
            continue
        if kind_of(item) == "function_call":
            calls[call_id] = index
        elif kind_of(item) == "function_call_output":
            answered.add(call_id)
            if call_id not in calls:
                expected = f"a call {call_id!r} before it"
                yield f"input[{index}]: expected {expected}, found an output without its call"
    for call_id, index in calls.items():
        if call_id not in answered:
            yield f"input[{index}]: expected an output for every call, found none for {call_id!r}"


responses_faults = refusing(_faults)
