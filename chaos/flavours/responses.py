"""OpenAI responses: `POST /v1/responses`.

Pure. Rendering is deterministic to the byte. What the API refuses is in
`chaos.flavours.responses_faults`. What a model says is several items of the API (words, calls);
items that follow each other are one assistant message here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from chaos.flavours.form import (
    ARGUMENT_PIECES,
    TEXT_PIECES,
    Conversation,
    Flavour,
    Message,
    Reply,
    ToolUse,
    added,
    encode,
    pieces,
    sse_event,
    text_of,
)
from chaos.flavours.openai import CREATED, KEY_PLACE, SYSTEM_ROLES, bearer, error
from chaos.flavours.responses_faults import kind_of, responses_faults
from chaos.strict_json import parse_json

_Item = Mapping[str, object]
_Event = dict[str, object]

_TEXT = ("text", "input_text", "output_text")
# How a response ends, by neutral word: its status, and why it is incomplete.
_STATUS = {
    "stop": ("completed", None),
    "tool_calls": ("completed", None),
    "length": ("incomplete", {"reason": "max_output_tokens"}),
    "content_filter": ("incomplete", {"reason": "content_filter"}),
}


# -- reading ------------------------------------------------------------------------------------


def _read(body: bytes, _: str) -> Conversation:
    request: Any = parse_json(body)
    given = request["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    ordered = [item for item in items if item.get("role") in SYSTEM_ROLES]
    system = [request.get("instructions") or "", *(text_of(i["content"], _TEXT) for i in ordered)]
    return Conversation(
        system="\n".join(filter(None, system)),
        messages=tuple(_messages([i for i in items if i.get("role") not in SYSTEM_ROLES])),
        tools=tuple(_tools(request.get("tools") or ())),
        model=request["model"],
        stream=bool(request.get("stream")),
    )


def _tools(tools: Iterable[Any]) -> Iterator[str]:
    return (tool.get("name", tool["type"]) for tool in tools)


def _messages(items: list[Any]) -> Iterator[Message]:
    spoken: list[Any] = []  # items of the model that follow each other
    for item in items:
        answers = kind_of(item) == "function_call_output"
        if not answers and item.get("role") != "user":
            spoken.append(item)
            continue
        if spoken:
            yield _assistant(spoken)
            spoken = []
        if answers:
            yield Message("tool", text_of(item["output"], _TEXT), result_of=item["call_id"])
        else:
            yield Message("user", text_of(item["content"], _TEXT))
    if spoken:
        yield _assistant(spoken)


def _assistant(items: list[Any]) -> Message:
    calls = (
        ToolUse(item["call_id"], item["name"], item["arguments"])
        for item in items
        if kind_of(item) == "function_call"
    )
    words = (text_of(item["content"], _TEXT) for item in items if kind_of(item) == "message")
    return Message("assistant", "".join(words), tuple(calls))


# -- writing ------------------------------------------------------------------------------------


def _plain(reply: Reply, model: str) -> bytes:
    return encode(_whole(reply, model))


def _whole(reply: Reply, model: str) -> dict[str, object]:
    """A response that has ended."""
    status, why = _STATUS.get(reply.stop, (reply.stop, None))
    end = {"status": status, "incomplete_details": why, "output": _output(reply)}
    return {**_head(reply, model), **end, "usage": _usage(reply)}


def _head(reply: Reply, model: str) -> dict[str, object]:
    """A response that has just begun."""
    return {
        "id": f"resp_{reply.number}",
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": False,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None,
    }


def _output(reply: Reply) -> list[_Item]:
    return [item for item, _, _ in _items(reply)]


def _items(reply: Reply) -> Iterator[tuple[_Item, _Item, Iterable[_Event]]]:
    """What the model says, item by item: how it is in the end, how it begins in a stream, and the
    events between the two, without their place."""
    if reply.empty:
        return
    if reply.message is not None:
        yield reply.message, reply.message, ()
        return
    if (text := reply.text) is not None:
        whole = _message(reply, "completed", [_part(text)])
        yield whole, _message(reply, "in_progress", []), _text_events(text)
    for call in reply.calls:
        whole = _call(call, "completed", call.arguments)
        yield whole, _call(call, "in_progress", ""), _argument_events(call)


def _message(reply: Reply, status: str, content: list[object]) -> dict[str, object]:
    item = {"id": f"msg_{reply.number}", "type": "message", "status": status}
    return {**item, "role": "assistant", "content": content}


def _part(text: str) -> dict[str, object]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(call: ToolUse, status: str, arguments: str) -> dict[str, object]:
    item = {"id": f"fc_{call.id}", "type": "function_call", "status": status}
    return {**item, "call_id": call.id, "name": call.name, "arguments": arguments}


def _usage(reply: Reply) -> dict[str, object] | None:
    """What the reply counts; None: nothing."""
    if not reply.usage:
        return None
    prompt, completion = reply.usage.get("prompt_tokens"), reply.usage.get("completion_tokens")
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": reply.usage.get("cached_tokens", 0)},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": added(prompt, completion),
    }


# -- streams ------------------------------------------------------------------------------------


def _stream(reply: Reply, model: str) -> list[bytes]:
    numbered = ({**event, "sequence_number": n} for n, event in enumerate(_events(reply, model)))
    return [sse_event(encode(event), str(event["type"])) for event in numbered]


def _events(reply: Reply, model: str) -> Iterator[_Event]:
    head, whole = _head(reply, model), _whole(reply, model)
    yield {"type": "response.created", "response": head}
    yield {"type": "response.in_progress", "response": head}
    for index, (item, begun, inside) in enumerate(_items(reply)):
        where: _Event = {"item_id": item.get("id"), "output_index": index}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        yield from ({**event, **where} for event in inside)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    end = "incomplete" if whole["status"] == "incomplete" else "completed"
    yield {"type": f"response.{end}", "response": whole}


def _text_events(text: str) -> Iterator[_Event]:
    at = {"content_index": 0}
    yield {"type": "response.content_part.added", **at, "part": _part("")}
    for piece in pieces(text, TEXT_PIECES):
        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": _part(text)}


def _argument_events(call: ToolUse) -> Iterator[_Event]:
    kind = "response.function_call_arguments"
    for piece in pieces(call.arguments, ARGUMENT_PIECES):
        yield {"type": f"{kind}.delta", "delta": piece}
    yield {"type": f"{kind}.done", "name": call.name, "arguments": call.arguments}


RESPONSES = Flavour(
    name="responses",
    place="/v1/responses",
    path=re.compile(r"/v1/responses"),
    faults=responses_faults,
    read=_read,
    plain=_plain,
    stream=_stream,
    error=error,
    key=bearer,
    key_place=KEY_PLACE,
    after_usage=0,
    text=re.compile(rb'("(?:delta|text|arguments)":")'),
    finish=re.compile(rb'("status":)"(?:completed|incomplete)"'),
)
