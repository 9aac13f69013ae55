"""What a provider's reply means: bytes of a chat completion in, a `Reply` out.

Pure. It accepts a whole JSON body or the events of a stream, and gives the assistant message
exactly as the log will hold it. Whatever the log could not hold is a `MalformedReply`, which the
loop records as `stepFailed` (session contract, section 3): no choices, two equal call ids in one
turn, an empty call id or name, a lone surrogate, `length` or `tool_calls` without calls, an unknown
finish reason, a stream that did not reach its end. It retries nothing and repairs nothing.

Judgement calls:
- `stop` with calls counts as `toolUse`; in a whole body a missing finish reason follows from the
  calls; a stream must bring its finish reason and end with `[DONE]`, so that a cut is never taken
  for an end.
- content that is missing or null stays null beside calls, and is "" without them, because a real
  provider refuses a message that has neither.
- usage that makes no sense (missing, negative, fractional, too large) counts as not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from agent import strict_json

_GREATEST_COUNT = 2**53 - 1
_MESSAGE_LIMIT = 500  # characters of a provider's own error text that are passed on


class FailedAttempt(Exception):  # noqa: N818 - the noun of the log: stepFailed
    """The attempt gave no reply that the log can hold. Becomes `stepFailed` with this code.

    `usage` is what the provider reported all the same, if anything.
    """

    def __init__(self, code: str, message: str, usage: Mapping[str, int] | None = None) -> None:
        super().__init__(one_line(message))
        self.code = code
        self.usage = usage


class MalformedReply(FailedAttempt):
    """A reply arrived, but the log could not hold it."""

    def __init__(
        self, message: str, code: str = "malformed_reply", usage: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(code, message, usage)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that the log can hold. `message` and `stop_reason` are as in the assistant entry."""

    message: dict[str, Any]
    stop_reason: str  # stop | toolUse | length
    usage: Mapping[str, int] | None  # input, output, cacheRead, cacheWrite


@dataclass(slots=True)
class _Call:
    """A tool call while its parts arrive."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class StreamedReply:
    """Collects the events of a stream. Feed every event's data, then ask for `reply()`."""

    done: bool = False
    usage: Mapping[str, int] | None = None  # what was reported so far
    _content: list[str] | None = None
    _calls: dict[int, _Call] = field(default_factory=dict)
    _finish_reason: str | None = None

    def feed(self, data: bytes) -> str:
        """Take one event and give the text that it adds. Raises MalformedReply.

        The text may be shown at once, but it is no reply yet: only `reply()` says that it is one.
        """
        if self.done:
            return ""
        if data == b"[DONE]":
            self.done = True
            return ""
        event = _object(_parse(data), "stream event")
        _refuse_error(event)
        self.usage = normalised_usage(event.get("usage")) or self.usage
        choices = [_object(c, "choice") for c in _list(event.get("choices"), "choices")]
        # One choice was asked for; others are not ours.
        return "".join(self._take(choice) for choice in choices if choice.get("index", 0) == 0)

    def _take(self, choice: dict[str, Any]) -> str:
        delta = _object(choice.get("delta") or {}, "delta")
        text = _optional_text(delta.get("content"), "delta.content")
        if text is not None:
            self._content = self._content or []
            self._content.append(text)
        for part in _list(delta.get("tool_calls"), "delta.tool_calls"):
            self._take_call(_object(part, "tool call"))
        reason = _optional_text(choice.get("finish_reason"), "finish_reason")
        self._finish_reason = reason or self._finish_reason
        return text or ""

    def _take_call(self, part: dict[str, Any]) -> None:
        index = part.get("index", 0)
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise MalformedReply(f"expected a call index of 0 or more, found {index!r}")
        call = self._calls.setdefault(index, _Call())
        function = _object(part.get("function") or {}, "function")
        # Some providers repeat id and name in every part; only the arguments come in pieces.
        call_id = _optional_text(part.get("id"), "call id") or call.id
        if call.id and call.id != call_id:
            raise MalformedReply(f"call {index} has two ids: {call.id!r}, then {call_id!r}")
        call.id = call_id
        call.name = _optional_text(function.get("name"), "call name") or call.name
        call.pieces.append(_optional_text(function.get("arguments"), "arguments") or "")

    def reply(self) -> Reply:
        """The whole reply. Raises MalformedReply where the stream did not reach its end."""
        try:
            self._require_end()
            calls = [self._calls[index] for index in sorted(self._calls)]
            content = None if self._content is None else "".join(self._content)
            return _settle(content, calls, self._finish_reason, self.usage)
        except MalformedReply as malformed:
            malformed.usage = self.usage
            raise

    def _require_end(self) -> None:
        if not self.done or self._finish_reason is None:
            missing = "finish reason" if self._finish_reason is None else "[DONE]"
            raise MalformedReply(f"the stream ended without its {missing}", code="incomplete_reply")


def parse_reply(body: bytes) -> Reply:
    """The reply in a whole JSON body. Raises MalformedReply."""
    whole = _object(_parse(body), "reply")
    usage = normalised_usage(whole.get("usage"))
    try:
        _refuse_error(whole)
        choice = _first_choice(whole)
        message = _object(choice.get("message"), "message")
        return _settle(
            _optional_text(message.get("content"), "content"),
            [_whole_call(call) for call in _list(message.get("tool_calls"), "tool_calls")],
            _optional_text(choice.get("finish_reason"), "finish_reason"),
            usage,
        )
    except MalformedReply as malformed:
        malformed.usage = usage
        raise


def _first_choice(whole: Mapping[str, Any]) -> dict[str, Any]:
    choices = _list(whole.get("choices"), "choices")
    if not choices:
        raise MalformedReply("the reply has no choices")
    return _object(choices[0], "choice")


def _whole_call(value: object) -> _Call:
    call = _object(value, "tool call")
    if call.get("type", "function") != "function":
        raise MalformedReply(f"expected a call of type 'function', found {call['type']!r}")
    function = _object(call.get("function"), "function")
    return _Call(
        id=_optional_text(call.get("id"), "call id") or "",
        name=_optional_text(function.get("name"), "call name") or "",
        pieces=[_text(function.get("arguments"), "arguments")],
    )


# finish reason of the provider -> stop reason with calls, without calls (None: malformed)
_STOP_REASONS: Mapping[str | None, tuple[str, str | None]] = {
    "stop": ("toolUse", "stop"),
    "tool_calls": ("toolUse", None),
    "length": ("length", None),
    None: ("toolUse", "stop"),
}


def _settle(
    content: str | None,
    calls: list[_Call],
    finish_reason: str | None,
    usage: Mapping[str, int] | None,
) -> Reply:
    if finish_reason not in _STOP_REASONS:
        raise MalformedReply(f"unknown finish reason {finish_reason!r}")
    with_calls, without = _STOP_REASONS[finish_reason]
    stop_reason = with_calls if calls else without
    if stop_reason is None:
        raise MalformedReply(f"finish reason {finish_reason!r} without tool calls")
    if any(not call.id or not call.name for call in calls):
        raise MalformedReply("a tool call has an empty id or name")
    if len({call.id for call in calls}) < len(calls):
        raise MalformedReply("two tool calls of one turn have the same id")
    if not calls:
        message: dict[str, Any] = {"role": "assistant", "content": content or ""}
        return Reply(message, stop_reason, usage)
    listed = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in calls
    ]
    return Reply(
        {"role": "assistant", "content": content, "tool_calls": listed}, stop_reason, usage
    )


def normalised_usage(value: object) -> Mapping[str, int] | None:
    """The contract's four counters from an OpenAI-style usage object; None where it makes no sense.

    `input` is `prompt_tokens` as reported, the cached ones included; `cacheRead` and `cacheWrite`
    say how many of them came from the cache and went into it. OpenAI reports no writes, OpenRouter
    does where its provider charges for them.
    """
    if not isinstance(value, dict):
        return None
    found = value.get("prompt_tokens_details")
    details = found if isinstance(found, dict) else {}
    read, written = details.get("cached_tokens"), details.get("cache_write_tokens")
    counted: dict[str, object] = {
        "input": value.get("prompt_tokens"),
        "output": value.get("completion_tokens"),
        "cacheRead": 0 if read is None else read,
        "cacheWrite": 0 if written is None else written,
    }
    usage = {name: count for name, count in counted.items() if _is_count(count)}
    return usage if len(usage) == len(counted) else None


def error_text(body: bytes) -> str:
    """The provider's own words in an error body, on one line and of bounded length."""
    text = body.decode("utf-8", "replace")
    try:
        error = strict_json.loads(body)
    except strict_json.StrictJSONError:
        return one_line(text)
    return one_line(_error_message(error) or text)


def _refuse_error(reply: Mapping[str, Any]) -> None:
    """Some gateways report an error inside a reply of status 200."""
    if reply.get("error"):
        message = one_line(_error_message(reply) or "no message")
        raise MalformedReply(f"the provider reported an error: {message}", code="provider_error")


def _error_message(body: object) -> str | None:
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else None


def one_line(text: str) -> str:
    """`text` on one line, of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _MESSAGE_LIMIT else line[:_MESSAGE_LIMIT] + "…"


def _parse(data: bytes) -> object:
    try:
        return strict_json.loads(data)
    except strict_json.StrictJSONError as error:
        raise MalformedReply(f"the reply is not strict JSON: {error}") from error


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _GREATEST_COUNT


def _checked(kind: type, noun: str) -> Callable[[object, str], Any]:
    def check(value: object, name: str) -> Any:
        if not isinstance(value, kind):
            raise MalformedReply(f"expected {name} to be {noun}, found {type(value).__name__}")
        return value

    return check


_object: Callable[[object, str], dict[str, Any]] = _checked(dict, "an object")
_text: Callable[[object, str], str] = _checked(str, "a string")
_array: Callable[[object, str], list[Any]] = _checked(list, "an array")


def _list(value: object, name: str) -> list[Any]:
    return [] if value is None else _array(value, name)


def _optional_text(value: object, name: str) -> str | None:
    return None if value is None else _text(value, name)
