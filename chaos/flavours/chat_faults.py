"""What a real provider accepts: the legality of an OpenAI-style chat-completions request.

Pure. The mock provider answers 400 to what is refused here, and the judge names it (rule P3), so a
harness that hides the largest class of agent faults by leniency is not possible. It is as strict
as the strictest provider where an agent has a choice, and silent where it has none: what a model
said (a tool's name, arguments that are no JSON, blank text) must be sent back as it was.

Does not look at unknown members, at the meaning of a schema, or at what the model is asked.

Source: design section 4.
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
_ROLES = ("system", "developer", "user", "assistant", "tool")
# Members that belong to one role alone.
_ROLE_OF_MEMBER = {"tool_calls": "assistant", "tool_call_id": "tool"}


# -- the members of a request -------------------------------------------------------------------

_REQUIRED: Members = {
    "model": ("a non-empty string", is_text),
    "messages": ("a non-empty array", is_array),
}
# A member that is absent or null is left to the provider.
_OPTIONAL: Members = {
    "stream": ("a boolean", is_flag),
    "stream_options": ("an object", is_object),
    "tools": ("a non-empty array", is_array),
    "temperature": ("a number from 0 to 2", is_within(2)),
    "top_p": ("a number from 0 to 1", is_within(1)),
    "max_tokens": ("a positive integer", is_positive),
    "max_completion_tokens": ("a positive integer", is_positive),
}
# A member that means nothing without another one is refused without it.
_NEEDS = {"stream_options": "stream", "tool_choice": "tools", "parallel_tool_calls": "tools"}


def _faults(request: Mapping[str, Any]) -> Iterator[str]:
    yield from member_faults(request, _REQUIRED, _OPTIONAL)
    for name, other in _NEEDS.items():
        if request.get(name) is not None and not request.get(other):
            yield f"{name}: expected only together with {other}, found it without"
    yield from _tool_faults(array(request.get("tools")))
    messages = array(request.get("messages"))
    for index, message in enumerate(messages):
        yield from _message_faults(_place(index, message), message)
    yield from _order_faults(messages)


def _tool_faults(tools: Sequence[Any]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for index, tool in enumerate(tools):
        place = f"tools[{index}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            yield f'{place}: expected {{"type":"function","function":{{…}}}}, found {named(tool)}'
            continue
        name = function.get("name")
        if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            expected = "1 to 64 letters, digits, _ or -"
            yield f"{place}.function.name: expected {expected}, found {named(name)}"
        elif seen.setdefault(name, index) != index:
            yield (
                f"{place}.function.name: expected unique names, found {name!r} again "
                f"(first in tools[{seen[name]}])"
            )
        description, parameters = function.get("description"), function.get("parameters")
        if description is not None and not isinstance(description, str):
            yield f"{place}.function.description: expected a string, found {named(description)}"
        if parameters is not None and not (
            isinstance(parameters, dict) and parameters.get("type") == "object"
        ):
            yield (
                f"{place}.function.parameters: expected a JSON Schema of type object, "
                f"found {named(parameters)}"
            )


# -- one message --------------------------------------------------------------------------------


def _message_faults(place: str, message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        yield f"{place}: expected an object, found {named(message)}"
        return
    role = message.get("role")
    if role not in _ROLES:
        yield f"{place}.role: expected one of {', '.join(_ROLES)}, found {named(role)}"
        return
    yield from _content_faults(f"{place}.content", role, message)
    for member, owner in _ROLE_OF_MEMBER.items():
        if member in message and role != owner:
            yield f"{place}.{member}: expected only in a message of role {owner}"
    if role == "tool" and not is_text(message.get("tool_call_id")):
        found = named(message.get("tool_call_id"))
        yield f"{place}.tool_call_id: expected a non-empty string, found {found}"
    if role == "assistant" and "tool_calls" in message:
        yield from _call_faults(place, message["tool_calls"])


def _content_faults(place: str, role: str, message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, list):
        yield from _part_faults(place, role, content)
    elif content is None:
        if role != "assistant":
            yield f"{place}: expected text, found {named(content)}"
        elif "tool_calls" not in message:
            yield f"{place}: expected text, found null (allowed only beside tool_calls)"
    elif not isinstance(content, str):
        yield f"{place}: expected text, found {named(content)}"
    elif content == "" and role not in ("assistant", "tool"):
        # A model may say nothing and a tool may print nothing; a person who asks must ask.
        yield f"{place}: expected text, found an empty string"


def _part_faults(place: str, role: str, parts: list[Any]) -> Iterator[str]:
    if not parts:
        yield f"{place}: expected text, found an empty array"
    for index, part in enumerate(parts):
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str):
            yield f"{place}[{index}]: expected a content part with a type, found {named(part)}"
        elif kind != "text" and role != "user":
            yield f"{place}[{index}]: expected a part of type text, found {kind!r}"
        elif kind == "text" and not isinstance(part.get("text"), str):
            yield f"{place}[{index}].text: expected a string, found {named(part.get('text'))}"


def _call_faults(place: str, calls: Any) -> Iterator[str]:
    if not is_array(calls):
        yield f"{place}.tool_calls: expected a non-empty array, found {named(calls)}"
        return
    seen: dict[str, int] = {}
    for index, call in enumerate(calls):
        at = f"{place}.tool_calls[{index}]"
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or call.get("type") != "function":
            yield f'{at}: expected {{"id","type":"function","function"}}, found {named(call)}'
            continue
        call_id = call.get("id")
        if not is_text(call_id):
            yield f"{at}.id: expected a non-empty string, found {named(call_id)}"
        elif seen.setdefault(call_id, index) != index:
            first = f"tool_calls[{seen[call_id]}]"
            yield f"{at}.id: expected unique ids in one turn, found {call_id!r} again ({first})"
        if not is_text(function.get("name")):
            found = named(function.get("name"))
            yield f"{at}.function.name: expected a non-empty string, found {found}"
        if not isinstance(function.get("arguments"), str):
            found = named(function.get("arguments"))
            yield f"{at}.function.arguments: expected a string, found {found}"


# -- the order of the messages ------------------------------------------------------------------


def _order_faults(messages: Sequence[Any]) -> Iterator[str]:
    """Calls and results, who speaks first and who speaks last."""
    turn = _Turn(-1, ())
    talked = False
    last = ""
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        last = role if role in _ROLES else ""
        if not last:
            continue  # its own fault is named already; what it should have been is not known
        place = _place(index, message)
        if role in SYSTEM_ROLES:
            if talked:
                yield f"{place}: expected system messages before all others, found one after them"
            continue
        if role == "tool":
            yield from turn.answered_by(place, message.get("tool_call_id"))
        else:
            yield from turn.left_by(f"before {place}")
            if role == "assistant" and not talked:
                yield f"{place}: expected a user message first, found an assistant message"
            turn = _Turn(index, _call_ids(message) if role == "assistant" else ())
        talked = True
    yield from turn.left_by("before the end")
    if messages and not turn.open and last not in ("user", "tool", ""):
        place = _place(len(messages) - 1, messages[-1])
        yield f"{place}: expected the last message to be of role user or tool, found {last}"


class _Turn:
    """The latest user or assistant message, and which of its calls still want their result."""

    def __init__(self, index: int, calls: Sequence[str]) -> None:
        self.index = index
        self.calls = frozenset(calls)
        self.open = dict.fromkeys(calls)

    def answered_by(self, place: str, call_id: object) -> Iterator[str]:
        """A tool result arrives."""
        if not is_text(call_id):
            return  # named already
        if call_id in self.open:
            del self.open[str(call_id)]
        elif call_id in self.calls:
            at = f"messages[{self.index}]"
            yield f"{place}: expected one result a call, found a second one for {call_id!r} of {at}"
        else:
            yield (
                f"{place}: expected a call {call_id!r} in the assistant message directly before "
                f"the results, found a result without its call"
            )

    def left_by(self, when: str) -> Iterator[str]:
        """Somebody speaks, or the transcript ends."""
        if self.open:
            ids = ", ".join(map(repr, self.open))
            at = f"messages[{self.index}] (assistant)"
            yield f"{at}: expected a result for every call {when}, found none for {ids}"


def _call_ids(message: Mapping[str, Any]) -> list[str]:
    calls = array(message.get("tool_calls"))
    ids = (call.get("id") for call in calls if isinstance(call, dict))
    return [call_id for call_id in ids if isinstance(call_id, str) and call_id]


def _place(index: int, message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return f"messages[{index}] ({role})" if role in _ROLES else f"messages[{index}]"


chat_faults = refusing(_faults)
