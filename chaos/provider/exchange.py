"""One exchange, decided: what the mock answers to a complete request, and how the answer ends.

Pure. `decide` is a function of the request, the script and the fault of this request's ordinal.
The order of its questions: an injected fault, the key, the size, the legality of the request
(`chaos.wire`), the script. Does not send anything.

Source: design section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    if fault is not None and fault.kind in _SILENT:
        return Answer(0, f"injected {fault}", injected=True, ending=_SILENT[fault.kind])
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
    return _spoil(_render(*found, value["model"], bool(value.get("stream"))), fault)


# Faults that send no byte, and how they end.
_SILENT = {"reset": Ending.RESET, "close": Ending.CLOSE, "hold": Ending.HOLD}


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


def _spoil(whole: Answer, fault: Fault | None) -> Answer:
    """The scripted answer, with what the faults `malformed` and `cut` take from it."""
    if fault is None:
        return whole
    spoilt = replace(whole, reason=f"injected {fault}", injected=True)
    if fault.kind == "malformed":
        parts = _malformed(whole)
        size = None if whole.size is None else sum(map(len, parts))
        return replace(spoilt, parts=parts, size=size, usage=None)
    if whole.size is None:  # a stream; its last event, [DONE], tells nothing
        parts = whole.parts[: fault.cut]
        told = len(parts) >= len(whole.parts) - 1
    else:
        parts = (whole.parts[0][: fault.cut],)
        told = len(parts[0]) == whole.size
    usage = whole.usage if told else None
    return replace(spoilt, parts=parts, usage=usage, ending=Ending.CLOSE)


def _malformed(whole: Answer) -> tuple[bytes, ...]:
    """Broken JSON where JSON is due, in a reply that is otherwise complete."""
    if whole.size is not None:
        return (whole.parts[0][: whole.size // 2],)
    first = whole.parts[0].removeprefix(b"data: ").rstrip()
    return (whole.parts[0], sse_event(first[: len(first) // 2]), whole.parts[-1])
