"""Gemini: `POST /v1beta/models/MODEL:generateContent`, and `:streamGenerateContent`.

Pure. Rendering is deterministic to the byte. What the API refuses is in
`chaos.flavours.gemini_faults`. Its calls have no ids: here they are named after their place in the
conversation, `call_0_1` for the second call of the first content, and results are matched by name
and place. A stream is one of server-sent events, as the clients ask for it (`alt=sse`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaos.flavours.form import (
    TEXT_PIECES,
    Conversation,
    Flavour,
    Message,
    Reply,
    ToolUse,
    added,
    arguments_of,
    encode,
    pieces,
    sse_event,
    text_of,
    to_json,
)
from chaos.flavours.gemini_faults import camel, declarations, gemini_faults
from chaos.flavours.openai import bearer
from chaos.strict_json import parse_json

_PATH = re.compile(
    r"/v1(?:alpha|beta)?/models/(?P<model>[^/:]+):(?P<how>generateContent|streamGenerateContent)"
)
_KEY = re.compile(r"[?&]key=([^&]+)")
_ERROR_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
# Why the model stopped, by neutral word. Any other word is sent as it is.
_FINISH_REASON = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}


# -- reading ------------------------------------------------------------------------------------


def _read(body: bytes, path: str) -> Conversation:
    value: Any = parse_json(body)
    request = camel(value)
    asked = _PATH.search(path)
    return Conversation(
        system=text_of(camel(request.get("systemInstruction")).get("parts")),
        messages=tuple(_messages(request["contents"])),
        tools=tuple(function["name"] for _, function in declarations(request)),
        model=asked["model"] if asked else "",
        stream=bool(asked and asked["how"].startswith("stream")),
    )


def _messages(contents: Sequence[Any]) -> Iterator[Message]:
    """Contents of the model that follow each other are one message: they answer one request."""
    calls: list[ToolUse] = []  # of the latest content with calls, those without a response
    spoken: list[Message] = []
    for index, content in enumerate(contents):
        parts = [camel(part) for part in content["parts"]]
        if content.get("role") == "model":
            calls = list(_calls(index, parts))
            spoken.append(Message("assistant", text_of(parts), tuple(calls)))
            continue
        yield from _joined(spoken)
        spoken = []
        responses = [camel(p["functionResponse"]) for p in parts if "functionResponse" in p]
        for response in responses:
            yield Message(
                "tool", _result(response["response"]), result_of=_answers(response, calls)
            )
        if len(responses) < len(parts):
            yield Message("user", text_of(parts))
    yield from _joined(spoken)


def _joined(spoken: Sequence[Message]) -> Iterator[Message]:
    if spoken:
        calls = tuple(call for message in spoken for call in message.calls)
        yield Message("assistant", "".join(message.text for message in spoken), calls)


def _calls(index: int, parts: Sequence[Mapping[str, Any]]) -> Iterator[ToolUse]:
    found = [camel(part["functionCall"]) for part in parts if "functionCall" in part]
    for number, call in enumerate(found):
        name = call.get("id") or f"call_{index}_{number}"
        yield ToolUse(name, call["name"], to_json(call.get("args") or {}))


def _answers(response: Mapping[str, Any], calls: list[ToolUse]) -> str:
    """The id of the call that a response belongs to: the one it names, the first open one of that
    name, or the first open one."""
    by_id = (call for call in calls if call.id == response.get("id"))
    by_name = (call for call in calls if call.name == response["name"])
    call = next(by_id, None) or next(by_name, None) or next(iter(calls), None)
    if call is None:
        return ""
    calls.remove(call)
    return call.id


def _result(response: Mapping[str, Any]) -> str:
    """A response is an object; clients that have a text put it into a member of their choice."""
    values = list(response.values())
    alone = len(values) == 1 and isinstance(values[0], str)
    return str(values[0]) if alone else to_json(response)


# -- writing ------------------------------------------------------------------------------------


def _plain(reply: Reply, model: str) -> bytes:
    parts: list[dict[str, object]] = [{"text": reply.text}] if reply.text else []
    parts += map(_call, reply.calls)
    return encode(_chunk(reply, model, parts, last=True))


def _stream(reply: Reply, model: str) -> list[bytes]:
    """The text in pieces, each call whole, and at last why it stopped."""
    if reply.message is not None or reply.empty:
        return [sse_event(_plain(reply, model))]
    parts: list[dict[str, object]] = [
        {"text": piece} for piece in pieces(reply.text or "", TEXT_PIECES)
    ]
    parts += map(_call, reply.calls)
    chunks = [_chunk(reply, model, [part], last=False) for part in parts]
    chunks.append(_chunk(reply, model, [{"text": ""}], last=True))
    return [sse_event(encode(chunk)) for chunk in chunks]


def _chunk(
    reply: Reply, model: str, parts: Sequence[Mapping[str, object]], *, last: bool
) -> dict[str, object]:
    content = {"parts": parts, "role": "model"} if reply.message is None else reply.message
    candidate: dict[str, object] = {"content": content, "index": 0}
    if last:
        candidate["finishReason"] = _FINISH_REASON.get(reply.stop, reply.stop)
    usage = {"usageMetadata": _usage(reply)} if last and reply.usage else {}
    head = {"modelVersion": model, "responseId": f"response-{reply.number}"}
    return {"candidates": [] if reply.empty else [candidate], **usage, **head}


def _call(call: ToolUse) -> dict[str, object]:
    return {"functionCall": {"name": call.name, "args": arguments_of(call)}}


def _usage(reply: Reply) -> dict[str, object]:
    prompt, completion = reply.usage.get("prompt_tokens"), reply.usage.get("completion_tokens")
    told = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": completion,
        "cachedContentTokenCount": reply.usage.get("cached_tokens"),
        "totalTokenCount": added(prompt, completion),
    }
    return {name: count for name, count in told.items() if count is not None}


def _error(status: int, message: str) -> bytes:
    kind = _ERROR_STATUS.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    return encode({"error": {"code": status, "message": message, "status": kind}})


def _key(headers: Mapping[str, str], path: str) -> str | None:
    given = _KEY.search(path)
    return headers.get("x-goog-api-key") or (given and given[1]) or bearer(headers, path)


GEMINI = Flavour(
    name="gemini",
    place="/v1beta/models/MODEL:generateContent",
    path=_PATH,
    faults=gemini_faults,
    read=_read,
    plain=_plain,
    stream=_stream,
    error=_error,
    key=_key,
    key_place="expected the key given, in x-goog-api-key",
    after_usage=0,
    text=re.compile(rb'("text":"|"args":\{"[^"]*":")'),
    finish=re.compile(rb'("finishReason":)"[^"]*"'),
)
