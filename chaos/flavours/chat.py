"""OpenAI chat completions: `POST /v1/chat/completions`.

Pure. Rendering is deterministic to the byte: no clock, no random id. What the API refuses is in
`chaos.flavours.chat_faults`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chaos.flavours.chat_faults import chat_faults
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
from chaos.strict_json import parse_json

# -- reading ------------------------------------------------------------------------------------


def _read(body: bytes, _: str) -> Conversation:
    request: Any = parse_json(body)
    said = [m for m in request["messages"] if m["role"] not in SYSTEM_ROLES]
    system = [text_of(m["content"]) for m in request["messages"] if m["role"] in SYSTEM_ROLES]
    return Conversation(
        system="\n".join(system),
        messages=tuple(map(_message, said)),
        tools=tuple(tool["function"]["name"] for tool in request.get("tools") or ()),
        model=request["model"],
        stream=bool(request.get("stream")),
    )


def _message(message: Mapping[str, Any]) -> Message:
    calls = (
        ToolUse(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    )
    text = text_of(message.get("content"))
    return Message(message["role"], text, tuple(calls), message.get("tool_call_id") or "")


# -- writing ------------------------------------------------------------------------------------


def _plain(reply: Reply, model: str) -> bytes:
    message: dict[str, object] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [_call(call) for call in reply.calls]
    said = message if reply.message is None else reply.message
    choice = {"index": 0, "message": said, "finish_reason": reply.stop}
    choices = [] if reply.empty else [choice]
    return encode({**_head(reply, "chat.completion", model), "choices": choices, **_usage(reply)})


def _stream(reply: Reply, model: str) -> list[bytes]:
    head = _head(reply, "chat.completion.chunk", model)
    choices: list[dict[str, object]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in _deltas(reply)
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": reply.stop})
    if reply.empty:
        choices.clear()
    chunks: list[Mapping[str, object]] = [{**head, "choices": [choice]} for choice in choices]
    if usage := _usage(reply):
        chunks.append({**head, "choices": [], **usage})
    return [*map(sse_event, map(encode, chunks)), sse_event(b"[DONE]")]


def _head(reply: Reply, kind: str, model: str) -> dict[str, object]:
    return {"id": f"chatcmpl-{reply.number}", "object": kind, "created": CREATED, "model": model}


def _call(call: ToolUse) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _deltas(reply: Reply) -> Iterator[dict[str, object]]:
    """What the chunks of a stream add, one after the other."""
    if reply.message is not None:
        yield _as_delta(reply.message)
        return
    yield {"role": "assistant", "content": ""}
    for piece in pieces(reply.text or "", TEXT_PIECES):
        yield {"content": piece}
    for number, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{**_call(call), "index": number, "function": function}]}
        for piece in pieces(call.arguments, ARGUMENT_PIECES):
            yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}


def _as_delta(message: Mapping[str, object]) -> dict[str, object]:
    """A whole message as the one thing that a stream adds; there a call says its place."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return dict(message)
    placed = [
        {"index": number, **call} if isinstance(call, dict) else call
        for number, call in enumerate(calls)
    ]
    return {**message, "tool_calls": placed}


def _usage(reply: Reply) -> dict[str, object]:
    """The usage member: what the reply counts, in the shape that it has on the wire."""
    told = dict(reply.usage)
    if not told:
        return {}
    cached = {"cached_tokens": told.pop("cached_tokens")} if "cached_tokens" in told else None
    total = added(told.get("prompt_tokens"), told.get("completion_tokens"))
    if total is not None:
        told["total_tokens"] = total
    return {"usage": {**told, "prompt_tokens_details": cached} if cached else told}


CHAT = Flavour(
    name="chat",
    place="/v1/chat/completions",
    path=re.compile(r"/v1/chat/completions"),
    faults=chat_faults,
    read=_read,
    plain=_plain,
    stream=_stream,
    error=error,
    key=bearer,
    key_place=KEY_PLACE,
    after_usage=1,  # [DONE]
    # In JSON text a quote inside a string is escaped, so these are members wherever they are found.
    text=re.compile(rb'("(?:content|arguments)":")'),
    finish=re.compile(rb'("finish_reason":)"[^"]*"'),
)
