"""Anthropic messages: `POST /v1/messages`.

Pure. Rendering is deterministic to the byte. What the API refuses is in
`chaos.flavours.messages_faults`. A user's message of the API holds results and words; here they are
a tool message for each result, then a user message for the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chaos.flavours.form import (
    ARGUMENT_PIECES,
    TEXT_PIECES,
    Conversation,
    Flavour,
    Message,
    Reply,
    ToolUse,
    arguments_of,
    encode,
    is_count,
    pieces,
    sse_event,
    text_of,
    to_json,
)
from chaos.flavours.messages_faults import messages_faults
from chaos.flavours.openai import bearer
from chaos.strict_json import parse_json

_ERROR_TYPE = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
# Why the model stopped, by neutral word. Any other word is sent as it is.
_STOP_REASON = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


# -- reading ------------------------------------------------------------------------------------


def _read(body: bytes, _: str) -> Conversation:
    request: Any = parse_json(body)
    return Conversation(
        system=text_of(request.get("system")),
        messages=tuple(_messages(request["messages"])),
        tools=tuple(tool["name"] for tool in request.get("tools") or ()),
        model=request["model"],
        stream=bool(request.get("stream")),
    )


def _messages(said: list[Any]) -> Iterator[Message]:
    """Messages of an assistant that follow each other are one, as they are to the API."""
    spoken: list[Any] = []
    for message in said:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            spoken += blocks
            continue
        if spoken:
            yield _assistant(spoken)
            spoken = []
        results = [block for block in blocks if block["type"] == "tool_result"]
        for block in results:
            yield Message("tool", text_of(block.get("content")), result_of=block["tool_use_id"])
        if len(results) < len(blocks):
            yield Message("user", text_of(blocks))
    if spoken:
        yield _assistant(spoken)


def _assistant(blocks: list[Any]) -> Message:
    calls = (
        ToolUse(block["id"], block["name"], to_json(block["input"]))
        for block in blocks
        if block["type"] == "tool_use"
    )
    return Message("assistant", text_of(blocks), tuple(calls))


# -- writing ------------------------------------------------------------------------------------


def _plain(reply: Reply, model: str) -> bytes:
    content: list[dict[str, object]] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [{**_call(call), "input": arguments_of(call)} for call in reply.calls]
    stop = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    usage = {"usage": _usage(reply)} if reply.usage else {}
    said = {**_head(reply, model), "content": [] if reply.empty else content, **stop, **usage}
    return encode({**said, **(reply.message or {})})


def _stream(reply: Reply, model: str) -> list[bytes]:
    return [_event(event) for event in _events(reply, model)]


def _events(reply: Reply, model: str) -> Iterator[dict[str, object]]:
    usage = _usage(reply) if reply.usage else {}
    started = {"usage": {**usage, "output_tokens": 1}} if usage else {}
    message = {**_head(reply, model), "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**message, **started, **(reply.message or {})}}
    yield {"type": "ping"}
    blocks = [] if reply.empty or reply.message is not None else list(_blocks(reply))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    counted = {"usage": {"output_tokens": usage.get("output_tokens")}} if usage else {}
    yield {"type": "message_delta", "delta": stop, **counted}
    yield {"type": "message_stop"}


_Blocks = Iterator[tuple[dict[str, object], list[dict[str, object]]]]


def _blocks(reply: Reply) -> _Blocks:
    """The blocks of a stream: how each begins, and what is added to it."""
    added: list[dict[str, object]]
    if reply.text:
        parts = pieces(reply.text, TEXT_PIECES)
        added = [{"type": "text_delta", "text": part} for part in parts]
        yield {"type": "text", "text": ""}, added
    for call in reply.calls:
        parts = pieces(call.arguments, ARGUMENT_PIECES)
        added = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        yield {**_call(call), "input": {}}, added


def _event(event: Mapping[str, object]) -> bytes:
    return sse_event(encode(event), str(event["type"]))


def _head(reply: Reply, model: str) -> dict[str, object]:
    return {"id": f"msg_{reply.number}", "type": "message", "role": "assistant", "model": model}


def _call(call: ToolUse) -> dict[str, object]:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _stop_reason(reply: Reply) -> str:
    return _STOP_REASON.get(reply.stop, reply.stop)


def _usage(reply: Reply) -> dict[str, object]:
    """What the reply counts. The API counts cached tokens apart from those of the prompt."""
    prompt, cached = reply.usage.get("prompt_tokens"), reply.usage.get("cached_tokens", 0)
    fresh = prompt - cached if is_count(prompt) and is_count(cached) else prompt
    told = {
        "input_tokens": fresh,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": reply.usage.get("completion_tokens"),
    }
    return {name: count for name, count in told.items() if count is not None}


def _error(status: int, message: str) -> bytes:
    kind = _ERROR_TYPE.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return encode({"type": "error", "error": {"type": kind, "message": message}})


def _key(headers: Mapping[str, str], path: str) -> str | None:
    return headers.get("x-api-key") or bearer(headers, path)


MESSAGES = Flavour(
    name="messages",
    place="/v1/messages",
    path=re.compile(r"/v1/messages"),
    faults=messages_faults,
    read=_read,
    plain=_plain,
    stream=_stream,
    error=_error,
    key=_key,
    key_place="expected the key given, in x-api-key",
    after_usage=1,  # message_stop
    text=re.compile(rb'("(?:text|partial_json)":"|"input":\{"[^"]*":")'),
    finish=re.compile(rb'("stop_reason":)"[^"]*"'),
)
