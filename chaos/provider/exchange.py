"""One exchange, decided: what the mock answers to a complete request, and how the answer ends.

Pure. `decide` is a function of the request, the script and the fault of this request's ordinal.
The order of its questions: an injected fault, the key, the size, the legality of the request
(`chaos.flavours`), the script. Does not send anything.

Source: design section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from chaos.flavours.chat import CHAT
from chaos.flavours.form import NO_MARKS, Conversation, Flavour, Reply, SideMarks
from chaos.provider.faults import Fault
from chaos.provider.script import Turn, reply_of, reported_usage
from chaos.provider.script import answer as answer_of

MAX_BODY_BYTES = 64 * 2**20

_JSON = "application/json"
_STREAM = "text/event-stream"

# What every side request is told. Its counters are primes below those of any turn.
_SIDE_USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "cached_tokens": 3}
SIDE_REPLY = Reply(number=999, text="killpoint side answer", usage=_SIDE_USAGE)


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
class Script:
    """What a launch is told, and how."""

    turns: Sequence[Turn]
    api_key: str | None = None  # None: no key is asked for
    unique_ids: bool = False  # nothing gets an id that the conversation holds already
    side: SideMarks = NO_MARKS  # of requests that are no turns


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent. `status` 0 sends nothing, not even a head."""

    status: int
    reason: str = ""  # why not an untouched 200
    parts: tuple[bytes, ...] = ()  # of the body; of a stream, one event each
    size: int | None = None  # the content-length promised; None: chunked
    content_type: str = _JSON
    usage: Mapping[str, int] | None = None  # what it reports, by script.USAGE_KEYS
    injected: bool = False
    ending: Ending = Ending.COMPLETE

    @property
    def body(self) -> bytes:
        """All of it that is sent."""
        return b"".join(self.parts)


def is_side(request: Received, flavour: Flavour, script: Script) -> bool:
    """Is this legal request no turn of the conversation?"""
    told = flavour.told(bytes(request.body), request.path) if script.side else None
    return told is not None and script.side.mark(told)


def decide(
    request: Received,
    flavour: Flavour,
    script: Script,
    fault: Fault | None = None,
    *,
    side: bool = False,
) -> Answer:
    """The answer to `request`, which asks the model by `flavour`; `side`: it is no turn."""
    if fault is not None and fault.after is None and fault.kind in _ENDINGS:
        return Answer(0, f"injected {fault}", injected=True, ending=_ENDINGS[fault.kind])
    if fault is not None and fault.kind == "status":
        reason = f"injected {fault}"
        answer = error(fault.status, reason, f"{reason}: not your fault", flavour)
        return replace(answer, injected=True)
    key = flavour.key(request.headers, request.path)
    if script.api_key is not None and key != script.api_key:
        return error(401, "wrong key", flavour.key_place, flavour)
    if request.too_big:
        message = f"expected a body of at most {MAX_BODY_BYTES} bytes"
        return error(413, "too large", message, flavour)
    body = bytes(request.body)
    faults = flavour.faults(body)
    if faults:
        return error(400, f"illegal request: {faults[0]}", "; ".join(faults), flavour)
    conversation = flavour.read(body, request.path)
    if side:
        return _render(SIDE_REPLY, _SIDE_USAGE, conversation, flavour)
    found = answer_of(script.turns, conversation.messages)
    if found is None:
        reason = "unscripted: no turn answers this transcript"
        return error(400, reason, _unscripted(script.turns, conversation), flavour)
    index, turn = found
    reply = reply_of(turn, index)
    if script.unique_ids:
        calls = (call.id for message in conversation.messages for call in message.calls)
        earlier = sum(message.role == "assistant" for message in conversation.messages)
        reply = replace(reply_of(turn, index, frozenset(calls)), number=earlier)
    whole = _render(reply, reported_usage(turn, index), conversation, flavour)
    return whole if fault is None else _spoil(whole, fault, flavour)


# How the connection ends under a fault: before any byte of an answer, or at a place in it.
_ENDINGS = {
    "close": Ending.CLOSE,
    "cut": Ending.CLOSE,
    "reset": Ending.RESET,
    "hold": Ending.HOLD,
    "end": Ending.COMPLETE,
}


def error(status: int, reason: str, message: str, flavour: Flavour = CHAT) -> Answer:
    """An error reply, in the form of the API that was asked."""
    body = flavour.error(status, message)
    return Answer(status, reason, (body,), len(body))


def _unscripted(turns: Sequence[Turn], conversation: Conversation) -> str:
    said = [message.role for message in conversation.messages]
    roles = " ".join([*["system"] * bool(conversation.system), *said][-6:])
    return (
        f"unscripted: none of the scenario's {len(turns)} turns answers this transcript, which "
        f"ends in: {roles}; add a [[provider.turn]], or correct its `when`"
    )


def _render(
    reply: Reply, usage: Mapping[str, int] | None, conversation: Conversation, flavour: Flavour
) -> Answer:
    if conversation.stream:
        events = flavour.stream(reply, conversation.model)
        return Answer(200, parts=tuple(events), content_type=_STREAM, usage=usage)
    body = flavour.plain(reply, conversation.model)
    return Answer(200, parts=(body,), size=len(body), usage=usage)


def _spoil(whole: Answer, fault: Fault, flavour: Flavour) -> Answer:
    """The scripted answer, with what the fault takes from it."""
    spoilt = replace(whole, reason=f"injected {fault}", injected=True)
    if fault.after is not None:
        return _cut(spoilt, fault, fault.after, flavour)
    parts, usage = _SPOILT[fault.kind](whole, flavour)
    size = None if whole.size is None else sum(map(len, parts))
    return replace(spoilt, parts=parts, size=size, usage=usage)


def _cut(whole: Answer, fault: Fault, after: int, flavour: Flavour) -> Answer:
    """The beginning of an answer. Its usage counts as told where the part that holds it is whole:
    of a stream the event that tells it."""
    in_bytes = fault.in_bytes or whole.size is not None
    parts = _first_bytes(whole.parts, after) if in_bytes else whole.parts[:after]
    untold = flavour.after_usage if whole.size is None else 0
    telling = whole.parts[: len(whole.parts) - untold]
    sent, needed = sum(map(len, parts)), sum(map(len, telling))
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


def _malformed(whole: Answer, _: Flavour) -> _Spoilt:
    """Broken JSON where JSON is due, in a reply that is otherwise complete."""
    if whole.size is not None:
        return (whole.parts[0][: whole.size // 2],), None
    head, data, payload = whole.parts[0].rstrip().partition(b"data: ")
    broken = head + data + payload[: len(payload) // 2] + b"\n\n"
    return (whole.parts[0], broken, whole.parts[-1]), None


def _bad_utf8(whole: Answer, flavour: Flavour) -> _Spoilt:
    """What the model says begins with a byte that UTF-8 has not. Who is lenient about it reads a
    reply that looks good."""
    return tuple(flavour.text.sub(b"\\1\xff", part, count=1) for part in whole.parts), whole.usage


def _no_finish(whole: Answer, flavour: Flavour) -> _Spoilt:
    """Nobody says why the model stopped."""
    return tuple(flavour.finish.sub(rb"\1null", part) for part in whole.parts), whole.usage


_SPOILT: Mapping[str, Callable[[Answer, Flavour], _Spoilt]] = {
    "malformed": _malformed,
    "bad-utf8": _bad_utf8,
    "no-finish": _no_finish,
}
