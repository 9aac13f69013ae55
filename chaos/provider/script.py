"""The model's script: which turn answers a transcript, and the bytes of that answer.

Pure. `answer` is a function of the transcript alone, never of a call counter, so a second launch
with the same transcript hears the same words. Rendering is deterministic to the byte: no clock, no
random id. Does not check that a request is legal (`chaos.wire` does) and knows no faults.

Which turn answers, in this order:

1. Turns with a `when` are grouped by equal `when`, groups in order of their first turn. The first
   group that applies and has a turn left answers. Its n-th turn answers the n-th time that the
   `when` applies within the current prompt, so for a `when` that names only the prompt the turns
   follow each other.
2. Where no `when` applies, the turns without one answer by position: the number of assistant
   messages since the last user message.
3. Otherwise nothing answers: the request is *unscripted*.

Source: design section 4 and 8.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeGuard

Message = Mapping[str, Any]

# What a usage table of a turn may hold.
USAGE_KEYS = ("prompt_tokens", "completion_tokens", "cached_tokens")

# The first user message of a context that was compacted (session contract, section 4).
SUMMARY_PREFIX = "[Compacted history]\n"

_CREATED = 1_700_000_000  # a constant: the mock has no clock
_ARGUMENT_PIECES = 3  # so that a cut stream ends inside arguments, not only between calls
_CONTENT_PIECES = 2


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model makes. `arguments` is the raw text, which need not be JSON."""

    name: str
    arguments: str
    id: str | None = None  # None: named after its turn and index

    @classmethod
    def of(
        cls, name: str, arguments: Mapping[str, object] | str, call_id: str | None = None
    ) -> ToolCall:
        """A call with its arguments as an object (written as compact JSON) or as raw text."""
        text = arguments if isinstance(arguments, str) else _json(arguments)
        return cls(name=name, arguments=text, id=call_id)


@dataclass(frozen=True, slots=True)
class When:
    """When a turn applies: every condition that is not None must hold.

    `prompt` equals the text of the last user message; `last_result` is found in the tool result
    that ends the transcript; `summary` tells whether the context begins with a compacted history;
    `position` is the number of assistant messages since the last user message.
    """

    prompt: str | None = None
    last_result: str | None = None
    summary: bool | None = None
    position: int | None = None

    def applies(self, messages: Sequence[Message]) -> bool:
        """Does this transcript meet every condition?"""
        return (
            (self.prompt is None or self.prompt == _prompt(messages))
            and (self.last_result is None or self.last_result in _last_result(messages))
            and (self.summary is None or self.summary == _has_summary(messages))
            and (self.position is None or self.position == _position(messages))
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model: its content (so often) and calls, or a message as it stands.

    `finish_reason` None follows from the calls. `usage` None gives this turn primes of its own,
    so that double counting shows; a mapping is reported as it is, an empty one not at all.
    """

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Mapping[str, object] | None = None
    when: When | None = None
    compaction: bool = False  # a summary: it answers a compaction's request, and no other
    repeat: int = 1
    message: Message | None = None
    no_choices: bool = False  # the reply holds no message at all

    @property
    def calls(self) -> bool:
        """Does the model call tools?"""
        return bool(self.message.get("tool_calls") if self.message else self.tool_calls)


def answer(turns: Sequence[Turn], messages: Sequence[Message]) -> tuple[int, Turn] | None:
    """The turn that answers `messages`, with its index in `turns`; None: unscripted."""
    groups: dict[When, list[int]] = {}
    plain: list[int] = []
    for index, turn in enumerate(turns):
        (plain if turn.when is None else groups.setdefault(turn.when, [])).append(index)
    applying = [when for when in groups if when.applies(messages)]
    for when in applying:
        earlier = sum(when.applies(prefix) for prefix in _earlier_requests(messages))
        if earlier < len(groups[when]):
            index = groups[when][earlier]
            return index, turns[index]
    position = _position(messages)
    if applying or position >= len(plain):
        return None
    return plain[position], turns[plain[position]]


def turns_of(turns: Sequence[Turn], *, compaction: bool) -> tuple[Turn, ...]:
    """The turns that answer a compaction, or a prompt. What asks for a summary looks different from
    agent to agent, so the one who starts the compaction has to say that it is one. A summary
    without a `when` answers whatever the request holds."""
    chosen = (turn for turn in turns if turn.compaction is compaction)
    return tuple(replace(turn, when=turn.when or When()) if compaction else turn for turn in chosen)


def reported_usage(turn: Turn, index: int) -> dict[str, int] | None:
    """The counters that the reply of this turn reports, by USAGE_KEYS; None: it reports none, or
    none that make sense."""
    told = {"cached_tokens": 0, **_counters(turn, index)}
    counts = {key: count for key in USAGE_KEYS if _is_count(count := told.get(key))}
    return counts if len(counts) == len(USAGE_KEYS) else None


def render_plain(turn: Turn, index: int, model: str) -> bytes:
    """The body of an unstreamed chat completion."""
    message: dict[str, object] = {"role": "assistant", "content": _content(turn)}
    if turn.tool_calls:
        message["tool_calls"] = [_call(turn, index, n) for n in range(len(turn.tool_calls))]
    said = message if turn.message is None else turn.message
    choice = {"index": 0, "message": said, "finish_reason": _finish_reason(turn)}
    head = _head(index, "chat.completion", model)
    choices = [] if turn.no_choices else [choice]
    return encode({**head, "choices": choices, **_usage(turn, index)})


def render_stream(turn: Turn, index: int, model: str) -> list[bytes]:
    """The server-sent events of a streamed chat completion, one element an event."""
    head = _head(index, "chat.completion.chunk", model)
    choices: list[dict[str, object]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in _deltas(turn, index)
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": _finish_reason(turn)})
    if turn.no_choices:
        choices.clear()
    chunks: list[Mapping[str, object]] = [{**head, "choices": [choice]} for choice in choices]
    if usage := _usage(turn, index):
        chunks.append({**head, "choices": [], **usage})
    return [*map(sse_event, map(encode, chunks)), sse_event(b"[DONE]")]


def encode(value: object) -> bytes:
    """A JSON value as it goes over the wire: compact UTF-8."""
    # A lone surrogate has no UTF-8; written as `\udXXX` it is just the JSON escape of itself.
    return _json(value).encode("utf-8", "backslashreplace")


def sse_event(data: bytes) -> bytes:
    """One server-sent event."""
    return b"data: " + data + b"\n\n"


# -- reading a transcript -----------------------------------------------------------------------


def _position(messages: Sequence[Message]) -> int:
    """The number of assistant messages since the last user message."""
    return sum(m["role"] == "assistant" for m in messages[_last_user(messages) + 1 :])


def _last_user(messages: Sequence[Message]) -> int:
    """Index of the last user message; -1 where there is none."""
    return max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)


def _earlier_requests(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """The transcripts that this prompt's earlier assistant messages answered."""
    for index in range(_last_user(messages) + 1, len(messages)):
        if messages[index]["role"] == "assistant":
            yield messages[:index]


def _prompt(messages: Sequence[Message]) -> str:
    last = _last_user(messages)
    return _text(messages[last]) if last >= 0 else ""


def _last_result(messages: Sequence[Message]) -> str:
    return _text(messages[-1]) if messages and messages[-1]["role"] == "tool" else ""


def _has_summary(messages: Sequence[Message]) -> bool:
    first = next((m for m in messages if m["role"] == "user"), None)
    return first is not None and _text(first).startswith(SUMMARY_PREFIX)


def _text(message: Message) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content or ())


# -- writing an answer --------------------------------------------------------------------------


def _head(index: int, kind: str, model: str) -> dict[str, object]:
    return {"id": f"chatcmpl-{index}", "object": kind, "created": _CREATED, "model": model}


def _call(turn: Turn, index: int, number: int) -> dict[str, object]:
    call = turn.tool_calls[number]
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": _call_id(turn, index, number), "type": "function", "function": function}


def _call_id(turn: Turn, index: int, number: int) -> str:
    given = turn.tool_calls[number].id
    return f"call_{index}_{number}" if given is None else given


def _deltas(turn: Turn, index: int) -> Iterator[dict[str, object]]:
    """What the chunks of a stream add, one after the other."""
    if turn.message is not None:
        yield _as_delta(turn.message)
        return
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(_content(turn) or "", _CONTENT_PIECES):
        yield {"content": piece}
    for number, call in enumerate(turn.tool_calls):
        start = _call(turn, index, number)
        yield {
            "tool_calls": [
                {**start, "index": number, "function": {"name": call.name, "arguments": ""}}
            ]
        }
        for piece in _pieces(call.arguments, _ARGUMENT_PIECES):
            yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}


def _as_delta(message: Message) -> dict[str, object]:
    """A whole message as the one thing that a stream adds; there a call says its place."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return dict(message)
    placed = [
        {"index": number, **call} if isinstance(call, dict) else call
        for number, call in enumerate(calls)
    ]
    return {**message, "tool_calls": placed}


def _content(turn: Turn) -> str | None:
    return None if turn.content is None else turn.content * turn.repeat


def _pieces(text: str, count: int) -> list[str]:
    """`text` in at most `count` pieces of about equal length; no empty one."""
    size = -(-len(text) // count) or 1
    return [text[start : start + size] for start in range(0, len(text), size)]


def _finish_reason(turn: Turn) -> str:
    return turn.finish_reason or ("tool_calls" if turn.calls else "stop")


def _usage(turn: Turn, index: int) -> dict[str, object]:
    """The usage member of a reply: what the turn counts, in the shape that it has on the wire."""
    told = dict(_counters(turn, index))
    if not told:
        return {}
    cached = {"cached_tokens": told.pop("cached_tokens")} if "cached_tokens" in told else None
    prompt, completion = told.get("prompt_tokens"), told.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        told["total_tokens"] = prompt + completion
    return {"usage": {**told, "prompt_tokens_details": cached} if cached else told}


def _counters(turn: Turn, index: int) -> Mapping[str, object]:
    if turn.usage is not None:
        return turn.usage
    cached, completion, prompt = _primes(3 * index + 3)[-3:]
    return dict(zip(USAGE_KEYS, (prompt, completion, cached), strict=True))


def _is_count(value: object) -> TypeGuard[int]:
    """What a counter can be: a whole number that JSON carries safely."""
    return type(value) is int and 0 <= value < 2**53


@lru_cache
def _primes(count: int) -> tuple[int, ...]:
    """The first `count` primes from 11 on."""
    found: list[int] = []
    candidate = 11
    while len(found) < count:
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            found.append(candidate)
        candidate += 2
    return tuple(found)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
