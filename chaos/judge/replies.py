"""What an answer on the wire says: the bytes that the provider sent, read as a reply.

Pure, and with no code of the provider's, so that a fault in one cannot hide in the other. A reply
is what a session log can hold: status 200, strict JSON, come to its end (a stream with its finish
reason and [DONE]), a finish reason that means something, calls with a name and an id of their own.

Source: session contract, section 3 ("a malformed reply").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chaos.judge.strict_json import decode_json

# finish reason -> stop reason of a reply with calls, and of one without (None: no reply)
_STOPS: Mapping[str | None, tuple[str, str | None]] = {
    "stop": ("toolUse", "stop"),
    "tool_calls": ("toolUse", None),
    "length": ("length", None),
    None: ("toolUse", "stop"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said: its text, its calls as (id, name, arguments), and how it ended."""

    text: str
    calls: tuple[tuple[str, str, str], ...]
    stop: str  # as in the log: stop | toolUse | length


class NoReply(ValueError):  # noqa: N818 - a verdict on an answer, no fault of the reader
    """The answer is no reply; the message says why."""


def read_reply(status: int, answer: bytes) -> Reply:
    """The reply in the body of an answer. Raises NoReply."""
    if status != 200:
        raise NoReply(f"status {status}" if status else "no answer at all")
    try:
        text = answer.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoReply(f"not UTF-8 at byte {error.start}") from None
    parts = _streamed(text) if text.startswith("data:") else _whole(text)
    return parts.reply()


@dataclass(slots=True)
class _Parts:
    """A reply while it is put together."""

    finish: str | None = None
    texts: list[str] = field(default_factory=list)
    calls: dict[int, tuple[list[str], list[str], list[str]]] = field(default_factory=dict)

    def add(self, message: Any, finish: object) -> None:
        """A message, or what an event of a stream adds to one."""
        _require(isinstance(message, dict), "no message")
        content = message.get("content")
        _require(content is None or isinstance(content, str), "content that is no text")
        self.texts.append(content or "")
        _require(finish is None or isinstance(finish, str), "a finish reason that is no text")
        self.finish = str(finish) if finish is not None else self.finish
        for place, call in enumerate(_list(message, "tool_calls")):
            self._call(place, call)

    def _call(self, place: int, call: Any) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise NoReply("a call without a function")
        index = call.get("index", place)
        _require(type(index) is int, "a call without a place")
        known = self.calls.setdefault(index, ([], [], []))
        said = (call.get("id"), function.get("name"), function.get("arguments"))
        for pieces, piece in zip(known, said, strict=True):
            _require(piece is None or isinstance(piece, str), "a call with parts that are no text")
            if piece is not None:
                pieces.append(piece)

    def reply(self) -> Reply:
        calls = tuple(
            (ids[-1] if ids else "", names[-1] if names else "", "".join(arguments))
            for _, (ids, names, arguments) in sorted(self.calls.items())
        )
        _require(self.finish in _STOPS, f"the finish reason {self.finish!r}")
        stop = _STOPS[self.finish][0 if calls else 1]
        if stop is None:
            raise NoReply(f"the finish reason {self.finish!r} without calls")
        _require(all(i and name for i, name, _ in calls), "a call without an id or a name")
        _require(len({i for i, _, _ in calls}) == len(calls), "two calls of the same id")
        return Reply("".join(self.texts), calls, stop)


def _whole(text: str) -> _Parts:
    """One JSON body."""
    choices = _list(_object(text), "choices")
    _require(bool(choices) and isinstance(choices[0], dict), "no choices")
    parts = _Parts()
    parts.add(choices[0].get("message"), choices[0].get("finish_reason"))
    return parts


def _streamed(text: str) -> _Parts:
    """Server-sent events, up to [DONE]."""
    parts = _Parts()
    for data in _events(text):
        if data == "[DONE]":
            _require(parts.finish is not None, "no finish reason")
            return parts
        for choice in _list(_object(data), "choices"):
            _require(isinstance(choice, dict), "a choice that is no object")
            parts.add(choice.get("delta") or {}, choice.get("finish_reason"))
    raise NoReply("no [DONE]")


def _events(text: str) -> Iterator[str]:
    """The data of each event that its blank line ends."""
    for event in text.split("\n\n")[:-1]:
        yield event.removeprefix("data:").strip(" ")


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = decode_json(text)
    except ValueError as error:
        raise NoReply(f"not strict JSON: {error}") from None
    if not isinstance(value, dict):
        raise NoReply("JSON that is no object")
    return value


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    _require(found is None or isinstance(found, list), f"{key} that are no array")
    return found or []


def _require(good: bool, fault: str) -> None:
    if not good:
        raise NoReply(fault)
