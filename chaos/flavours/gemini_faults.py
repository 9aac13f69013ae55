"""What Google's Gemini API refuses of a generateContent request.

Pure. Strict where the API is, silent where it is not: a turn of function calls follows a user's
turn or function responses, exactly as many responses follow it, and the last word is not the
model's.

Calls need no ids there. Members may be written in camel or in snake case, as the API reads both.
Does not look at unknown members of a request, nor at thought signatures, which this provider never
sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaos.flavours.refusals import (
    Members,
    array,
    is_array,
    is_object,
    is_text,
    member_faults,
    named,
    refusing,
)

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_ROLES = ("user", "model", "function")  # the last one is how older clients write responses
_CONTENT_KEYS = frozenset({"role", "parts"})
_CAMEL = re.compile(r"_([a-z])")

_REQUIRED: Members = {"contents": ("a non-empty array", is_array)}
_OPTIONAL: Members = {
    "tools": ("an array", lambda value: isinstance(value, list)),
    "generationConfig": ("an object", is_object),
    "toolConfig": ("an object", is_object),
    "systemInstruction": ("an object", is_object),
}


def camel(value: Any) -> dict[str, Any]:
    """The members of an object, by their names in camel case; none of what is no object."""
    members = value.items() if isinstance(value, dict) else ()
    return {_CAMEL.sub(lambda match: match[1].upper(), name): member for name, member in members}


def declarations(request: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The functions that a request (in camel case) offers, with their places."""
    for index, tool in enumerate(array(request.get("tools"))):
        for number, function in enumerate(array(camel(tool).get("functionDeclarations"))):
            yield f"tools[{index}].functionDeclarations[{number}]", function


def _faults(body: Mapping[str, Any]) -> Iterator[str]:
    request = camel(body)
    yield from member_faults(request, _REQUIRED, _OPTIONAL)
    if "systemInstruction" in request and is_object(request["systemInstruction"]):
        yield from _parts_faults("systemInstruction", request["systemInstruction"], said=False)
    yield from _tool_faults(request)
    contents = array(request.get("contents"))
    for index, content in enumerate(contents):
        yield from _content_faults(f"contents[{index}]", content)
    yield from _order_faults(contents)


def _tool_faults(request: Mapping[str, Any]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for place, function in declarations(request):
        declared = camel(function)
        name, schema = declared.get("name"), declared.get("parameters")
        if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            expected = "a letter or _, then letters, digits, _, ., : or -"
            yield f"{place}.name: expected {expected}, found {named(name)}"
        elif seen.setdefault(name, place) != place:
            found = f"{name!r} again (first in {seen[name]})"
            yield f"{place}.name: expected unique names, found {found}"
        if schema is None:
            continue
        kind = schema.get("type") if isinstance(schema, dict) else None
        if not isinstance(kind, str) or kind.upper() != "OBJECT":
            expected = "a schema of type OBJECT"
            yield f"{place}.parameters: expected {expected}, found {named(schema)}"
        elif not schema.get("properties"):
            yield f"{place}.parameters.properties: expected some, found none; leave parameters out"


# -- one content --------------------------------------------------------------------------------


def _content_faults(place: str, content: Any) -> Iterator[str]:
    if not isinstance(content, dict):
        yield f"{place}: expected an object, found {named(content)}"
        return
    role = content.get("role", "user")
    if role not in _ROLES:
        yield f"{place}.role: expected one of user, model, found {named(role)}"
    for member in sorted(content.keys() - _CONTENT_KEYS):
        yield f"{place}.{member}: expected only role and parts, found it"
    yield from _parts_faults(place, content, said=role == "model")


def _parts_faults(place: str, content: Mapping[str, Any], *, said: bool) -> Iterator[str]:
    """`said`: by the model, so that a blank text must be sent back as it was."""
    if not is_array(content.get("parts")):
        found = named(content.get("parts"))
        yield f"{place}.parts: expected a non-empty array, found {found}"
    for index, value in enumerate(array(content.get("parts"))):
        at, part = f"{place}.parts[{index}]", camel(value)
        if not any(member is not None for name, member in part.items() if name != "thought"):
            yield f"{at}: expected a part that holds something, found {named(value)}"
        text = part.get("text")
        if text is not None and (not isinstance(text, str) or not (text or said)):
            yield f"{at}.text: expected text, found {named(text)}"
        for name, holds in (("functionCall", "args"), ("functionResponse", "response")):
            if name in part:
                yield from _function_faults(f"{at}.{name}", camel(part[name]), holds)


def _function_faults(place: str, function: Mapping[str, Any], holds: str) -> Iterator[str]:
    name, value = function.get("name"), function.get(holds)
    if not is_text(name):
        yield f"{place}.name: expected a non-empty string, found {named(name)}"
    if not is_object(value) and not (holds == "args" and value is None):
        yield f"{place}.{holds}: expected an object, found {named(value)}"


# -- the order of the contents ------------------------------------------------------------------


def _count(content: Any, name: str) -> int:
    parts = array(content.get("parts")) if isinstance(content, dict) else ()
    return sum(name in camel(part) for part in parts)


def _is_model(content: Any) -> bool:
    return isinstance(content, dict) and content.get("role") == "model"


def _order_faults(contents: Sequence[Any]) -> Iterator[str]:
    """Calls and responses, and who speaks last."""
    for index, content in enumerate(contents):
        place = f"contents[{index}]"
        before = contents[index - 1] if index else None
        calls, responses = _count(content, "functionCall"), _count(content, "functionResponse")
        if calls and (before is None or _is_model(before)):
            yield f"{place}: expected calls directly after a user's turn or function responses"
        asked = _count(before, "functionCall")
        if responses and not asked:
            yield f"{place}: expected function responses directly after their calls, found none"
        elif asked != responses:
            expected = f"as many responses as contents[{index - 1}] has calls, {asked}"
            yield f"{place}: expected {expected}, found {responses}"
    if contents and _is_model(contents[-1]):
        place = f"contents[{len(contents) - 1}]"
        if asked := _count(contents[-1], "functionCall"):
            yield f"{place}: expected a response for every call, found the end after {asked}"
        else:
            yield f"{place}: expected the last content to be of role user, found model"


gemini_faults = refusing(_faults)
