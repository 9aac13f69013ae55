"""One exchange, decided: what the mock answers to a complete request, and how the answer ends.

Pure. `decide` is a function of the request, the script and the fault of this request's ordinal.
The order of its questions: an injected fault, the key, the size, the legality of the request
(`chaos.wire`), the script. Does not send anything.

Source: design section 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from chaos.provider.faults import Fault
from chaos.provider.script import (
    Turn,
    answer,
    encode,
    render_plain,
    render_stream,
    reported_usage,
    sse_event,
)
from chaos.strict_json import parse_json
from chaos.wire import request_faults

MAX_BODY_BYTES = 64 * 2**20

_JSON = "application/json"
_STREAM = "text/event-stream"
_ERROR_TYPE = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


class Ending(Enum):
    """What becomes of the connection once the answer's bytes are sent."""

    COMPLETE = "complete"  # the answer is whole; the connection may be used again
    CLOSE = "close"  # FIN, whatever is missing
    RESET = "reset"  # RST
    HOLD = "hold"  # nothing more happens


@dataclass(slots=True)
class Received:
    """A request as far as it was read. Header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytearray = field(default_factory=bytearray)
    too_big: bool = False  # `body` holds only its first MAX_BODY_BYTES

    def take(self, data: bytes) -> None:
        """Keep more of the body, within the limit."""
        self.too_big = self.too_big or len(self.body) + len(data) > MAX_BODY_BYTES
        if not self.too_big:
            self.body += data


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent. `status` 0 sends nothing, not even a head."""

    status: int
    reason: str = ""  # why not an untouched 200
    parts: tuple[bytes, ...] = ()  # of the body; of a stream, one event each
    size: int | None = None  # the content-length promised; None: chunked
    content_type: str = _JSON
    usage: Mapping[str, int] | None = None
    injected: bool = False
    ending: Ending = Ending.COMPLETE


def decide(
    request: Received, turns: Sequence[Turn], fault: Fault | None, api_key: str | None
) -> Answer:
    """The answer to `request`. `api_key` None asks for no key."""
    if fault is not None and fault.after is None and fault.kind in _ENDINGS:
        return Answer(0, f"injected {fault}", injected=True, ending=_ENDINGS[fault.kind])
    if fault is not None and fault.kind == "status":
        reason = f"injected {fault}"
        return replace(error(fault.status, reason, f"{reason}: not your fault"), injected=True)
    if api_key is not None and request.headers.get("authorization") != f"Bearer {api_key}":
        return error(401, "wrong key", "expected the authorization 'Bearer <the key given>'")
    if request.too_big:
        return error(413, "too large", f"expected a body of at most {MAX_BODY_BYTES} bytes")
    body = bytes(request.body)
    faults = request_faults(body)
    if faults:
        return error(400, f"illegal request: {faults[0]}", "; ".join(faults))
    value: Any = parse_json(body)
    found = answer(turns, value["messages"])
    if found is None:
        return error(400, "unscripted: no turn answers this transcript", _unscripted(turns, value))
    whole = _render(*found, value["model"], bool(value.get("stream")))
    return whole if fault is None else _spoil(whole, fault)


# How the connection ends under a fault: before any byte of an answer, or at a place in it.
_ENDINGS = {
    "close": Ending.CLOSE,
    "cut": Ending.CLOSE,
    "reset": Ending.RESET,
    "hold": Ending.HOLD,
    "end": Ending.COMPLETE,
}


def error(status: int, reason: str, message: str) -> Answer:
    """An OpenAI-style error reply."""
    kind = _ERROR_TYPE.get(status, "server_error" if status >= 500 else "api_error")
    body = encode({"error": {"message": message, "type": kind, "param": None, "code": status}})
    return Answer(status, reason, (body,), len(body))


def _unscripted(turns: Sequence[Turn], request: Mapping[str, Any]) -> str:
    roles = " ".join(str(message["role"]) for message in request["messages"][-6:])
    return (
        f"unscripted: none of the scenario's {len(turns)} turns answers this transcript, which "
        f"ends in: {roles}; add a [[provider.turn]], or correct its `when`"
    )


def _render(index: int, turn: Turn, model: str, stream: bool) -> Answer:
    usage = reported_usage(turn, index)
    if stream:
        events = render_stream(turn, index, model)
        return Answer(200, parts=tuple(events), content_type=_STREAM, usage=usage)
    body = render_plain(turn, index, model)
    return Answer(200, parts=(body,), size=len(body), usage=usage)


def _spoil(whole: Answer, fault: Fault) -> Answer:
    """The scripted answer, with what the fault takes from it."""
    spoilt = replace(whole, reason=f"injected {fault}", injected=True)
    if fault.after is not None:
        return _cut(spoilt, fault, fault.after)
    parts, usage = _SPOILT[fault.kind](whole)
    size = None if whole.size is None else sum(map(len, parts))
    return replace(spoilt, parts=parts, size=size, usage=usage)


def _cut(whole: Answer, fault: Fault, after: int) -> Answer:
    """The beginning of an answer. Its usage counts as told where the part that holds it is whole:
    of a stream the last event before [DONE]."""
    in_bytes = fault.in_bytes or whole.size is not None
    parts = _first_bytes(whole.parts, after) if in_bytes else whole.parts[:after]
    sent, needed = sum(map(len, parts)), sum(map(len, whole.parts))
    if whole.size is None:
        needed -= len(whole.parts[-1])
    ending = _ENDINGS[fault.kind]
    size = sent if whole.size is not None and ending is Ending.COMPLETE else whole.size
    usage = whole.usage if sent >= needed else None
    return replace(whole, parts=parts, size=size, usage=usage, ending=ending)


def _first_bytes(parts: Sequence[bytes], count: int) -> tuple[bytes, ...]:
    """The first `count` bytes of parts that follow each other."""
    first = []
    for part in parts:
        if count <= 0:
            break
        first.append(part[:count])
        count -= len(part)
    return tuple(first)


# -- answers that arrive, but are broken: their parts, and the usage that they still tell ---------

_Spoilt = tuple[tuple[bytes, ...], Mapping[str, int] | None]


def _malformed(whole: Answer) -> _Spoilt:
    """Broken JSON where JSON is due, in a reply that is otherwise complete."""
    if whole.size is not None:
        return (whole.parts[0][: whole.size // 2],), None
    first = whole.parts[0].removeprefix(b"data: ").rstrip()
    return (whole.parts[0], sse_event(first[: len(first) // 2]), whole.parts[-1]), None


def _bad_utf8(whole: Answer) -> _Spoilt:
    """What the model says begins with a byte that UTF-8 has not. Who is lenient about it reads a
    reply that looks good."""
    return tuple(_TEXT.sub(b"\\1\xff", part, count=1) for part in whole.parts), whole.usage


def _no_finish(whole: Answer) -> _Spoilt:
    """Nobody says why the model stopped."""
    return tuple(_FINISH.sub(rb"\1null", part) for part in whole.parts), whole.usage


# In JSON text a quote inside a string is escaped, so these are members wherever they are found.
_TEXT = re.compile(rb'("(?:content|arguments)":")')
_FINISH = re.compile(rb'("finish_reason":)"[^"]*"')
_SPOILT: Mapping[str, Callable[[Answer], _Spoilt]] = {
    "malformed": _malformed,
    "bad-utf8": _bad_utf8,
    "no-finish": _no_finish,
}
