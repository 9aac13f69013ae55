"""The model's script: which turn answers a transcript, and what it says.

Pure. `answer` is a function of the transcript alone, never of a call counter, so a second launch
with the same transcript hears the same words. Does not know how a transcript or a reply is written
(`chaos.flavours` does), does not check that a request is legal, and knows no faults.

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

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Any

from chaos.flavours.form import USAGE_KEYS, Message, Reply, ToolUse, is_count, to_json

# The first user message of a context that was compacted (session contract, section 4).
SUMMARY_PREFIX = "[Compacted history]\n"


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
        text = arguments if isinstance(arguments, str) else to_json(arguments)
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
    message: Mapping[str, Any] | None = None
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
    counts = {key: number for key in USAGE_KEYS if is_count(number := told.get(key))}
    return counts if len(counts) == len(USAGE_KEYS) else None


def reply_of(turn: Turn, index: int, known: Collection[str] = ()) -> Reply:
    """What the turn at `index` says. Calls without an id of their own are named after turn and
    index, and by a further number where such an id is among the `known`."""
    calls = (
        ToolUse(_call_id(call, f"call_{index}_{number}", known), call.name, call.arguments)
        for number, call in enumerate(turn.tool_calls)
    )
    return Reply(
        number=index,
        text=None if turn.content is None else turn.content * turn.repeat,
        calls=tuple(calls),
        stop=turn.finish_reason or ("tool_calls" if turn.calls else "stop"),
        usage=_counters(turn, index),
        message=turn.message,
        empty=turn.no_choices,
    )


# -- reading a transcript -----------------------------------------------------------------------


def _position(messages: Sequence[Message]) -> int:
    """The number of assistant messages since the last user message."""
    return sum(m.role == "assistant" for m in messages[_last_user(messages) + 1 :])


def _last_user(messages: Sequence[Message]) -> int:
    """Index of the last user message; -1 where there is none."""
    return max((i for i, m in enumerate(messages) if m.role == "user"), default=-1)


def _earlier_requests(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """The transcripts that this prompt's earlier assistant messages answered."""
    for index in range(_last_user(messages) + 1, len(messages)):
        if messages[index].role == "assistant":
            yield messages[:index]


def _prompt(messages: Sequence[Message]) -> str:
    last = _last_user(messages)
    return messages[last].text if last >= 0 else ""


def _last_result(messages: Sequence[Message]) -> str:
    return messages[-1].text if messages and messages[-1].role == "tool" else ""


def _has_summary(messages: Sequence[Message]) -> bool:
    first = next((m for m in messages if m.role == "user"), None)
    return first is not None and first.text.startswith(SUMMARY_PREFIX)


# -- what a turn says ---------------------------------------------------------------------------


def _call_id(call: ToolCall, own: str, known: Collection[str]) -> str:
    if call.id is not None:
        return call.id
    again = (f"{own}_{number}" for number in count(2))
    return own if own not in known else next(name for name in again if name not in known)


def _counters(turn: Turn, index: int) -> Mapping[str, object]:
    if turn.usage is not None:
        return turn.usage
    cached, completion, prompt = _primes(3 * index + 3)[-3:]
    return dict(zip(USAGE_KEYS, (prompt, completion, cached), strict=True))


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
