"""Planted bugs of the exchange with the model: cut streams, ids, broken text, usage, silence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx

import agent.provider
import agent.reply
import agent.strict_json
import agent.transcript
from agent.loop import Loop
from agent.model_steps import ModelSteps
from agent.plans import CloseAttempt, Finish, StartStep
from agent.provider import Provider
from agent.reply import Reply, StreamedReply
from agent.sse import EventDecoder
from tests.planted.table import bug

# -- class 15: what was cut ------------------------------------------------------------------------


def _take_what_came() -> None:
    """A stream that breaks off or ends early is taken for what was meant."""
    streamed, reply = Provider._streamed, StreamedReply.reply

    def whatever(chunks: Any) -> Any:
        try:
            yield from chunks
        except httpx.HTTPError:
            return

    def whole(self: StreamedReply) -> Reply:
        self._finish_reason = self._finish_reason or ("tool_calls" if self._calls else "stop")
        self.done = True
        return reply(self)

    Provider._streamed = lambda self, chunks, show: streamed(self, whatever(chunks), show)  # type: ignore[method-assign]
    StreamedReply.reply = whole  # type: ignore[method-assign]


@bug("L4", 0, "provider/cut-inside-the-arguments")
def a_cut_stream_is_taken_as_complete() -> None:
    """The connection is lost, and what came so far is the reply."""
    _take_what_came()


@bug("L4", 0, "provider/ends-without-a-finish-marker")
def a_stream_needs_no_finish_marker() -> None:
    """A body that ends is a reply that ends."""
    StreamedReply._require_end = lambda self: None  # type: ignore[method-assign]


@bug("L4", 0, "provider/cut-inside-the-arguments")
def cut_arguments_are_executed() -> None:
    """Arguments that break off are closed, as lenient parsers of JSON do, and run."""
    _take_what_came()
    reply = StreamedReply.reply

    def repaired(self: StreamedReply) -> Reply:
        for call in self._calls.values():
            for closing in ("", '"}', "}", '":""}', "{}"):
                try:
                    json.loads(call.arguments + closing)
                except ValueError:
                    continue
                call.pieces.append(closing)
                break
        return reply(self)

    StreamedReply.reply = repaired  # type: ignore[method-assign]


@bug("L4", 0, "provider/replies-that-say-nothing")
def what_the_filter_stopped_is_a_reply() -> None:
    """An unknown finish reason counts as the end of a reply."""
    known = agent.reply._STOP_REASONS
    agent.reply._STOP_REASONS = {**known, "content_filter": ("toolUse", "stop")}


# -- class 19: ids ---------------------------------------------------------------------------------


class _Alone(str):
    """An id that equals no other, however it is written."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@bug("L4", 0, "provider/equal-ids-in-one-turn")
def equal_ids_in_one_turn_are_accepted() -> None:
    """Nobody looks whether two calls of a turn have the same id, neither reply nor log."""
    settle = agent.reply._settle

    def settle_all(content: Any, calls: Any, *rest: Any) -> Reply:
        for call in calls:
            call.id = _Alone(call.id)
        return settle(content, calls, *rest)

    agent.reply._settle = settle_all
    agent.transcript.call_ids = lambda message: [  # type: ignore[assignment,return-value]
        call["id"] for call in message.get("tool_calls", ())
    ]


@bug("P4", 0, "provider/ids-start-again-each-turn")
def a_result_is_found_by_its_call_id_alone() -> None:
    """Of two calls with one id in different turns, both are told the first one's result."""
    real = agent.provider.request_body

    def body(configuration: Any, context: Sequence[Mapping[str, Any]]) -> bytes:
        first: dict[str, Any] = {}
        told = [
            {**m, "content": first.setdefault(m["tool_call_id"], m["content"])}
            if m["role"] == "tool"
            else m
            for m in context
        ]
        return real(configuration, told)

    agent.provider.request_body = body


# -- class 13: broken text -------------------------------------------------------------------------


@bug("L1", 1, "provider/half-an-emoji")
def a_lone_surrogate_is_stored() -> None:
    """To who resumes, half an emoji is text like any other: taken, written down, sent on."""
    accept, refuse = Loop.accept, agent.strict_json._refuse_surrogates
    accepted: list[str] = []

    def note(self: Loop, prompt: str) -> None:
        accepted.append(prompt)
        accept(self, prompt)

    def dumps(value: Any) -> bytes:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")

    Loop.accept = note  # type: ignore[method-assign]
    agent.strict_json._refuse_surrogates = lambda value: refuse(value) if accepted else None
    agent.strict_json.dumps = dumps


@bug("L4", 0, "provider/malformed-replies")
def text_that_is_not_utf8_is_patched_up() -> None:
    """What cannot be decoded becomes a question mark in a box."""
    parse = agent.reply._parse
    agent.reply._parse = lambda data: parse(data.decode("utf-8", "replace").encode())


@bug("R5", 0, "provider/line-separators-in-a-reply")
def a_line_separator_ends_a_line() -> None:
    """The stream is split where Unicode says that lines end."""
    feed = EventDecoder.feed

    def split(self: EventDecoder, chunk: bytes) -> Any:
        return feed(self, "\n".join(f"{chunk.decode()}|".splitlines())[:-1].encode())

    EventDecoder.feed = split  # type: ignore[method-assign]


# -- class 14: usage -------------------------------------------------------------------------------


@bug("L9", 0, "plain-answer")
def usage_is_doubled() -> None:
    """Every token is counted twice."""
    real = Provider.complete

    def complete(self: Provider, *asked: Any) -> Any:
        reply = real(self, *asked)
        usage = {name: 2 * count for name, count in (reply.usage or {}).items()}
        return replace(reply, usage=usage)

    Provider.complete = complete  # type: ignore[method-assign]


@bug("L9", 1, "plain-answer")
def usage_is_counted_twice_on_a_retry() -> None:
    """The attempt that was lost is paid for again with the one that was not."""
    settle = ModelSteps._settle

    def settle_twice(self: ModelSteps, step: Any, reply: Reply) -> None:
        if step.attempt == 2 and reply.usage is not None:
            both = {name: 2 * count for name, count in reply.usage.items()}
            reply = replace(reply, usage=both)
        settle(self, step, reply)

    ModelSteps._settle = settle_twice  # type: ignore[method-assign]


@bug("L9", 0, "provider/usage-missing-or-absurd")
def absurd_usage_is_counted() -> None:
    """Whatever digits can be made of what was reported are counted."""
    real = agent.reply.normalised_usage

    def digits(value: object) -> Mapping[str, int] | None:
        if not isinstance(value, dict):
            return real(value)
        return real({key: abs(n) if isinstance(n, int) else n for key, n in value.items()})

    agent.reply.normalised_usage = digits


# -- class 10: nobody answers ----------------------------------------------------------------------


@bug("P2", 0, "provider/never-answered")
def a_request_that_timed_out_is_sent_again() -> None:
    """As clients do that retry by themselves: nothing in the log says so."""
    exchange = Provider._exchange

    def twice(self: Provider, *given: Any) -> Reply:
        try:
            return exchange(self, *given)
        except httpx.TimeoutException:
            return exchange(self, *given)

    Provider._exchange = twice  # type: ignore[method-assign]


@bug("L5", 0, "provider/status-429")
def an_error_is_a_reason_for_a_second_attempt() -> None:
    """A request that was refused is made again, with an attempt of its own."""
    fail = ModelSteps._fail

    def ask_again(self: ModelSteps, step: Any, *given: Any) -> None:
        if step.attempt == 2:
            fail(self, step, *given)
        else:
            through = step.context_through_entry_id
            self.start(StartStep(step.step_kind, 2, through, step.step_id))

    ModelSteps._fail = ask_again  # type: ignore[method-assign]


@bug("R1", 1, "provider/never-answered")
def a_prompt_that_nobody_answered_is_given_again() -> None:
    """What resumes it lets the old run fail and accepts its prompt once more."""
    accept, drive = Loop.accept, Loop.drive
    accepted: list[str] = []

    def note(self: Loop, prompt: str) -> None:
        accepted.append(prompt)
        accept(self, prompt)

    def begin_anew(self: Loop) -> Any:
        state = self._work.state
        step = getattr(state.operation, "step", None)
        if not accepted and step is not None and step.open:
            prompt = next(m["content"] for m in state.active_context[::-1] if m["role"] == "user")
            lost = {"code": "lost", "message": "nobody answered"}
            self._model_steps.close_attempt(CloseAttempt(lost))
            self._finish(Finish("failed", error=lost))
            accept(self, prompt)
        return drive(self)

    Loop.accept = note  # type: ignore[method-assign]
    Loop.drive = begin_anew  # type: ignore[method-assign]
