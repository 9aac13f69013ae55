"""What a session log says, read leniently: who spoke, what was tried, what is pending.

The rules over evidence ask it what was durable at a moment: the open attempt, the pending intents,
the context the model must see. Promises never to raise, whatever the bytes, and to say nothing
about validity: that is `chaos.judge.strict`. Reads nothing but the log it is given.

Source: session contract, sections 2, 4 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from chaos.judge.log import Fact, LogView, read_log

SUMMARY_PREFIX = "[Compacted history]\n"

Message = Mapping[str, Any]


class CallKey(NamedTuple):
    """Which call it is, whatever the ids: the same in every run that came to the same turn."""

    operation: int  # 1-based
    assistant: int  # 1-based, within the operation
    place: int  # 0-based, within the turn


@dataclass(slots=True)
class Operation:
    """A run or a compaction. `finished` holds every terminal fact, of which there may be one."""

    ordinal: int  # 1-based
    id: str
    kind: str  # run | compaction
    started: Fact
    prompt: str | None
    aborted: Fact | None = None
    step_failed: bool = False
    retained: int = 0  # of a compaction: messages that stay as they are
    summary: str | None = None  # of a compaction, once it is durable
    finished: list[Fact] = field(default_factory=list)

    @property
    def outcome(self) -> str | None:
        """completed | failed | aborted; None while it is open."""
        return _text(self.finished[-1].body, "outcome") if self.finished else None


@dataclass(slots=True)
class Attempt:
    """One announced request. `settled` is the fact that closed it."""

    id: str
    step: str
    operation: Operation | None
    number: int
    kind: str  # assistant | compaction
    system_prompt_digest: str
    model: str  # as the configuration snapshot names it
    tools: Mapping[str, str]  # offered to the model: name -> digest of the definition
    fact: Fact
    settled: Fact | None = None


@dataclass(slots=True)
class Call:
    """A tool call of an assistant message, its intent and its result."""

    key: CallKey
    id: str
    name: str
    arguments: str
    attempt: Attempt | None = None  # whose reply made it
    stop_reason: str = ""  # of that reply
    operation: Operation | None = None
    intent: Fact | None = None
    result: Fact | None = None

    @property
    def pending(self) -> bool:
        """Its intent is durable and its result is not: the tool may be at work."""
        return self.intent is not None and self.result is None

    @property
    def replay(self) -> str:
        """What the intent recorded: safe | never; empty without an intent."""
        return _text(self.intent.body, "replay") if self.intent else ""

    @property
    def outcome(self) -> str:
        """success | error | the reason of a synthetic result; empty while there is none."""
        result = self.result.body.get("result") if self.result else None
        if not isinstance(result, dict):
            return ""
        kind = _text(result, "type")
        return _text(result, "reason") if kind == "synthetic" else kind

    def texts(self) -> frozenset[str]:
        """Every string of its arguments: what the command line of its tool may carry."""
        return frozenset(_strings(_parsed(self.arguments)))


@dataclass(frozen=True, slots=True)
class Turn:
    """A message entry in its place, with what the rules compare of it."""

    fact: Fact
    message: Message
    operation: int  # ordinal of the operation it belongs to; 0: none
    outcome: str = ""  # of a tool result: as `Call.outcome`


@dataclass(slots=True)
class History:
    """A log, interpreted. Read only."""

    view: LogView
    turns: list[Turn] = field(default_factory=list)
    context: list[Message] = field(default_factory=list)  # what the model sees
    operations: list[Operation] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    usage: list[Fact] = field(default_factory=list)

    @property
    def last_operation(self) -> Operation | None:
        return self.operations[-1] if self.operations else None

    @property
    def open_operation(self) -> Operation | None:
        """The last operation, unless it has its terminal fact."""
        last = self.last_operation
        return last if last and not last.finished else None

    @property
    def open_attempt(self) -> Attempt | None:
        """The last attempt, if nothing closed it and its operation is open, as far as is known."""
        last = self.attempts[-1] if self.attempts else None
        if last is None or last.settled is not None:
            return None
        return None if last.operation and last.operation.finished else last

    @property
    def pending(self) -> list[Call]:
        """Calls whose intent is durable and whose result is not."""
        return [call for call in self.calls if call.pending]

    @property
    def prompts(self) -> list[str]:
        """Content of every user entry, in order."""
        return [_text(turn.message, "content") for turn in self.turns if turn.fact.type == "user"]

    @property
    def last_fact(self) -> Fact | None:
        """The last fact that says more than what a reply cost."""
        return next((f for f in reversed(self.view.facts) if f.type != "usage"), None)

    @property
    def cwd(self) -> str:
        """The working directory in the header; empty if there is none."""
        return _text(self.view.header or {}, "cwd")


@lru_cache(maxsize=64)
def history_of(data: bytes) -> History:
    """Interpret a session file. The same bytes give the same object: do not change it."""
    view = read_log(data)
    reader = _Reader(view)
    for fact in view.facts:
        handle = _HANDLERS.get(fact.type)
        if handle is not None:
            handle(reader, fact)
    return reader.history


class _Reader:
    """The one pass over the facts, with its indexes."""

    def __init__(self, view: LogView) -> None:
        self.history = History(view)
        self.operations: dict[str, Operation] = {}
        self.attempts: dict[str, Attempt] = {}
        self.by_place: dict[tuple[str, int], Call] = {}  # (assistant entry id, index)
        self.by_intent: dict[str, Call] = {}
        self.assistants = 0  # of the last operation

    def user(self, fact: Fact) -> None:
        self._say(fact, _message(fact))

    def assistant(self, fact: Fact) -> None:
        self.assistants += 1
        attempt = self.attempts.get(_text(fact.body, "attemptId"))
        if attempt is not None:
            attempt.settled = fact
        message = _message(fact)
        operation = self._ordinal()
        for index, call in enumerate(tool_calls(message)):
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            made = Call(
                CallKey(operation, self.assistants, index),
                _text(call, "id"),
                _text(function, "name"),
                _text(function, "arguments"),
                attempt,
                _text(fact.body, "stopReason"),
                self.history.last_operation,
            )
            self.history.calls.append(made)
            self.by_place[fact.id or "", index] = made
        self._say(fact, message)

    def result(self, fact: Fact) -> None:
        call = self.by_intent.get(_text(fact.body, "toolStartedId")) or self.by_place.get(
            _place(fact.body)
        )
        if call is not None and call.result is None:
            call.result = fact
        outcome = Call(CallKey(0, 0, 0), "", "", "", result=fact).outcome
        self._say(fact, _message(fact), outcome)

    def compaction(self, fact: Fact) -> None:
        for attempt in self.history.attempts[-1:]:
            attempt.settled = attempt.settled or fact
        summary = _text(fact.body, "summary")
        if self.history.last_operation is not None:
            self.history.last_operation.summary = summary
        self.history.context = [{"role": "user", "content": SUMMARY_PREFIX + summary}]
        tail = fact.body.get("retainedTail")
        for kept in tail if isinstance(tail, list) else ():
            message = kept.get("message") if isinstance(kept, dict) else None
            if isinstance(message, dict):
                self.history.context.append(message)

    def started(self, fact: Fact) -> None:
        self.assistants = 0
        wanted = _text(fact.body, "inputEntryId")
        turns = self.history.turns
        said = next((turn for turn in reversed(turns) if turn.fact.id == wanted), None)
        operation = Operation(
            ordinal=len(self.history.operations) + 1,
            id=_text(fact.body, "operationId"),
            kind=_text(fact.body, "operationKind"),
            started=fact,
            prompt=_text(said.message, "content") if said else None,
        )
        retained = fact.body.get("retainedEntryIds")
        operation.retained = len(retained) if isinstance(retained, list) else 0
        if said is not None:  # the prompt belongs to the operation that its transaction starts
            place = turns.index(said)
            turns[place] = Turn(said.fact, said.message, operation.ordinal)
        self.history.operations.append(operation)
        self.operations[operation.id] = operation

    def attempt(self, fact: Fact) -> None:
        step = _text(fact.body, "stepId")
        for earlier in self.history.attempts[-1:]:
            if earlier.settled is None and earlier.step == step:
                earlier.settled = fact  # attempt 2 closes attempt 1
        snapshot = fact.body.get("configurationSnapshot")
        snapshot = snapshot if isinstance(snapshot, dict) else {}
        tools = snapshot.get("tools")
        number = fact.body.get("attempt")
        made = Attempt(
            id=_text(fact.body, "attemptId"),
            step=step,
            operation=self.operations.get(_text(fact.body, "operationId")),
            number=number if isinstance(number, int) else 0,
            kind=_text(fact.body, "stepKind"),
            system_prompt_digest=_text(snapshot, "systemPromptDigest"),
            model=_text(snapshot, "model"),
            tools={
                _text(tool, "name"): _text(tool, "definitionDigest")
                for tool in (tools if isinstance(tools, list) else ())
                if isinstance(tool, dict)
            },
            fact=fact,
        )
        self.history.attempts.append(made)
        self.attempts[made.id] = made

    def step_failed(self, fact: Fact) -> None:
        attempt = self.attempts.get(_text(fact.body, "attemptId"))
        if attempt is not None:
            attempt.settled = fact
            if attempt.operation is not None:
                attempt.operation.step_failed = True

    def tool_started(self, fact: Fact) -> None:
        call = self.by_place.get(_place(fact.body))
        if call is not None and call.intent is None:
            call.intent = fact
            self.by_intent[fact.id or ""] = call

    def abort(self, fact: Fact) -> None:
        operation = self.operations.get(_text(fact.body, "operationId"))
        if operation is not None:
            operation.aborted = operation.aborted or fact

    def finished(self, fact: Fact) -> None:
        operation = self.operations.get(_text(fact.body, "operationId"))
        if operation is not None:
            operation.finished.append(fact)

    def usage(self, fact: Fact) -> None:
        self.history.usage.append(fact)

    def _say(self, fact: Fact, message: Message, outcome: str = "") -> None:
        self.history.turns.append(Turn(fact, message, self._ordinal(), outcome))
        self.history.context.append(message)

    def _ordinal(self) -> int:
        return len(self.history.operations)


_HANDLERS = {
    "user": _Reader.user,
    "assistant": _Reader.assistant,
    "toolResult": _Reader.result,
    "compaction": _Reader.compaction,
    "runStarted": _Reader.started,
    "compactionStarted": _Reader.started,
    "stepAttempt": _Reader.attempt,
    "stepFailed": _Reader.step_failed,
    "toolStarted": _Reader.tool_started,
    "abortRequested": _Reader.abort,
    "operationFinished": _Reader.finished,
    "usage": _Reader.usage,
}


def tool_calls(message: Message) -> list[Mapping[str, Any]]:
    """The readable tool calls of a message."""
    calls = message.get("tool_calls")
    return [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []


def _message(fact: Fact) -> Message:
    message = fact.body.get("message")
    return message if isinstance(message, dict) else {}


def _place(body: Mapping[str, Any]) -> tuple[str, int]:
    index = body.get("toolIndex")
    return _text(body, "assistantEntryId"), index if isinstance(index, int) else -1


def _text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _strings(value: object) -> Iterator[str]:
    """Every string value, at any depth; without recursion, since arguments may nest deeply."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
