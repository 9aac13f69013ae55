"""The script answers as a function of the transcript, and its bytes are always the same."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.provider.script import (
    SUMMARY_PREFIX,
    ToolCall,
    Turn,
    When,
    answer,
    render_plain,
    render_stream,
    reported_usage,
)

Message = dict[str, Any]


def user(text: str = "go") -> Message:
    return {"role": "user", "content": text}


def called() -> Message:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}


def result(text: str = "ok") -> Message:
    return {"role": "tool", "tool_call_id": "a", "content": text}


def said(text: str = "done") -> Message:
    return {"role": "assistant", "content": text}


def chosen(turns: list[Turn], *messages: Message) -> str | None:
    """The content of the turn that answers."""
    found = answer(turns, [{"role": "system", "content": "be brief"}, *messages])
    if found is None:
        return None
    index, turn = found
    assert turns[index] is turn
    return turn.content


# -- which turn answers -------------------------------------------------------------------------


def test_turns_without_when_are_answered_by_position() -> None:
    turns = [Turn("first"), Turn("second")]
    assert chosen(turns, user()) == "first"
    assert chosen(turns, user(), called(), result()) == "second"
    assert chosen(turns, user(), called(), result(), called(), result()) is None


def test_position_counts_from_the_last_user_message() -> None:
    turns = [Turn("first"), Turn("second")]
    assert chosen(turns, user(), called(), result(), said(), user("again")) == "first"


def test_the_same_transcript_gets_the_same_answer_however_often_it_is_asked() -> None:
    turns = [Turn("first"), Turn("second")]
    assert [chosen(turns, user()) for _ in range(3)] == ["first"] * 3


@pytest.mark.parametrize(
    ("when", "messages", "applies"),
    [
        (When(prompt="go"), [user("go")], True),
        (When(prompt="go"), [user("go on")], False),  # equal, not contained
        (When(prompt="go"), [user("go"), said(), user("stop")], False),
        (When(prompt="go"), [user("go"), called(), result()], True),
        (When(prompt="a b"), [{**user(), "content": [{"type": "text", "text": "a b"}]}], True),
        (When(last_result="unknown"), [user(), called(), result("status unknown;")], True),
        (When(last_result="unknown"), [user(), called(), result("fine")], False),
        (When(last_result="unknown"), [user(), called(), result("unknown"), said(), user()], False),
        (When(last_result=""), [user()], True),
        (When(summary=True), [user(SUMMARY_PREFIX + "we did it"), said(), user()], True),
        (When(summary=True), [user()], False),
        (When(summary=False), [user()], True),
        (When(position=0), [user()], True),
        (When(position=1), [user()], False),
        (When(position=1), [user(), called(), result()], True),
        (When(prompt="go", position=1), [user("go"), called(), result()], True),
        (When(prompt="go", position=1), [user("no"), called(), result()], False),
        (When(), [user()], True),
    ],
)  # fmt: skip
def test_when(when: When, messages: list[Message], applies: bool) -> None:
    assert when.applies([{"role": "system", "content": "unknown"}, *messages]) is applies


def test_a_turn_whose_when_applies_wins_over_position() -> None:
    turns = [Turn("first"), Turn("second"), Turn("sorry", when=When(last_result="unknown"))]
    assert chosen(turns, user(), called(), result("ok")) == "second"
    assert chosen(turns, user(), called(), result("unknown")) == "sorry"


def test_turns_of_the_same_prompt_follow_each_other() -> None:
    turns = [
        *[Turn("other")] * 9,
        Turn("probe 1", when=When(prompt="probe")),
        Turn("probe 2", when=When(prompt="probe")),
    ]
    assert chosen(turns, user("probe")) == "probe 1"
    assert chosen(turns, user("probe"), called(), result()) == "probe 2"
    # What the script has not foreseen is not answered from another prompt's lines.
    assert chosen(turns, user("probe"), called(), result(), called(), result()) is None
    assert chosen(turns, user("x")) == "other"


def test_the_nth_turn_answers_the_nth_time_its_when_applies() -> None:
    unknown = When(last_result="unknown")
    turns = [Turn("a"), Turn("b"), Turn("sorry", when=unknown), Turn("again", when=unknown)]
    once = [user(), called(), result("unknown")]
    assert chosen(turns, *once) == "sorry"
    assert chosen(turns, *once, called(), result("unknown")) == "again"
    # An answer by position in between does not count.
    assert chosen(turns, user(), called(), result("fine"), called(), result("unknown")) == "sorry"


def test_the_first_when_with_a_turn_left_answers() -> None:
    turns = [
        Turn("by prompt", when=When(prompt="go")),
        Turn("by result", when=When(prompt="go", last_result="unknown")),
    ]
    assert chosen(turns, user("go")) == "by prompt"
    assert chosen(turns, user("go"), called(), result("unknown")) == "by result"
    assert chosen(turns, user("go"), called(), result("fine")) is None


# -- what it says -------------------------------------------------------------------------------

DEPLOY = Turn(
    "on it",
    (
        ToolCall.of("bash", {"command": "echo é"}),
        ToolCall.of("read", "{not json", call_id="mine"),
    ),
)


def test_a_plain_reply() -> None:
    assert json.loads(render_plain(DEPLOY, 1, "m")) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "on it",
                    "tool_calls": [
                        {
                            "id": "call_1_0",
                            "type": "function",
                            "function": {"name": "bash", "arguments": '{"command":"echo é"}'},
                        },
                        {
                            "id": "mine",
                            "type": "function",
                            "function": {"name": "read", "arguments": "{not json"},
                        },
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 29,
            "completion_tokens": 23,
            "total_tokens": 52,
            "prompt_tokens_details": {"cached_tokens": 19},
        },
    }


@pytest.mark.parametrize(
    ("turn", "finish_reason"),
    [
        (Turn("done"), "stop"),
        (Turn(None, (ToolCall("bash", "{}"),)), "tool_calls"),
        (Turn(None, (ToolCall("bash", "{"),), finish_reason="length"), "length"),
    ],
)
def test_the_finish_reason_follows_from_the_calls(turn: Turn, finish_reason: str) -> None:
    assert json.loads(render_plain(turn, 0, "m"))["choices"][0]["finish_reason"] == finish_reason
    assert assembled(render_stream(turn, 0, "m"))["finish_reason"] == finish_reason


def test_usage_is_of_distinct_primes_so_that_double_counting_shows() -> None:
    counters = [reported_usage(Turn("x"), index) or {} for index in range(20)]
    numbers = list(chain.from_iterable(usage.values() for usage in counters))
    assert len(set(numbers)) == len(numbers) == 60
    assert all(number % divisor for number in numbers for divisor in range(2, number))
    assert all(usage["cached_tokens"] < usage["prompt_tokens"] for usage in counters)


def usage_sent(turn: Turn) -> Any:
    """The usage of its reply, the same whole and streamed."""
    whole = json.loads(render_plain(turn, 0, "m")).get("usage")
    assert assembled(render_stream(turn, 0, "m")).get("usage") == whole
    return whole


def test_usage_can_be_given_or_left_out() -> None:
    told = Turn("x", usage={"prompt_tokens": 5, "completion_tokens": 2})
    counters = {"prompt_tokens": 5, "completion_tokens": 2}
    assert usage_sent(told) == {**counters, "total_tokens": 7}
    assert reported_usage(told, 0) == {**counters, "cached_tokens": 0}
    silent = Turn("x", usage={})
    assert usage_sent(silent) is None
    assert reported_usage(silent, 0) is None


@pytest.mark.parametrize("count", [-1, 2**53, 1.5, "7", True])
def test_usage_that_makes_no_sense_is_sent_as_it_is_and_reports_nothing(count: object) -> None:
    absurd = Turn("x", usage={"prompt_tokens": count, "completion_tokens": 2})
    assert usage_sent(absurd) == {"prompt_tokens": count, "completion_tokens": 2}
    assert reported_usage(absurd, 0) is None
    part = Turn("x", usage={"cached_tokens": 3})
    assert usage_sent(part) == {"prompt_tokens_details": {"cached_tokens": 3}}
    assert reported_usage(part, 0) is None


def test_a_content_can_be_repeated() -> None:
    turn = Turn("ab", repeat=3)
    assert json.loads(render_plain(turn, 0, "m"))["choices"][0]["message"]["content"] == "ababab"
    assert assembled(render_stream(turn, 0, "m"))["content"] == "ababab"


def test_a_message_can_be_given_as_it_stands() -> None:
    call = {"id": "c", "type": "custom", "function": {"name": "bash", "arguments": {"a": 1}}}
    turn = Turn(message={"role": "assistant", "content": 5, "tool_calls": [call]})
    whole = json.loads(render_plain(turn, 0, "m"))["choices"][0]
    assert whole["message"] == turn.message
    assert whole["finish_reason"] == "tool_calls"
    first, last, _ = payloads(render_stream(turn, 0, "m"))
    delta = {"role": "assistant", "content": 5, "tool_calls": [{"index": 0, **call}]}
    assert first["choices"][0]["delta"] == delta
    assert last["choices"][0]["finish_reason"] == "tool_calls"


def test_a_reply_can_be_without_choices() -> None:
    turn = Turn(no_choices=True)
    assert json.loads(render_plain(turn, 0, "m"))["choices"] == []
    assert [event["choices"] for event in payloads(render_stream(turn, 0, "m"))] == [[]]


# -- streams ------------------------------------------------------------------------------------


def payloads(events: list[bytes]) -> list[Any]:
    """The JSON of each event but the last, which must be [DONE]."""
    assert all(event.startswith(b"data: ") and event.endswith(b"\n\n") for event in events)
    assert events[-1] == b"data: [DONE]\n\n"
    return [json.loads(event.removeprefix(b"data: ")) for event in events[:-1]]


def assembled(events: list[bytes]) -> dict[str, Any]:
    """What a client makes of a stream."""
    content = ""
    calls: dict[int, dict[str, str]] = {}
    whole: dict[str, Any] = {}
    for chunk in payloads(events):
        whole |= {"usage": chunk["usage"]} if "usage" in chunk else {}
        for choice in chunk["choices"]:
            content += choice["delta"].get("content", "")
            whole["finish_reason"] = choice["finish_reason"] or whole.get("finish_reason")
            for delta in choice["delta"].get("tool_calls", []):
                call = calls.setdefault(delta["index"], {"arguments": ""})
                call |= {"id": delta["id"]} if "id" in delta else {}
                call["name"] = delta["function"].get("name", call.get("name"))
                call["arguments"] += delta["function"].get("arguments", "")
    return {**whole, "content": content, "calls": list(calls.values())}


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, st.lists(texts, max_size=3))
def test_a_stream_says_what_the_plain_reply_says(content: str, arguments: list[str]) -> None:
    turn = Turn(content, tuple(ToolCall("bash", text) for text in arguments))
    plain = json.loads(render_plain(turn, 2, "m"))
    message = plain["choices"][0]["message"]
    streamed = assembled(render_stream(turn, 2, "m"))
    assert streamed["content"] == message["content"]
    assert streamed["calls"] == [
        {"id": call["id"], **call["function"]} for call in message.get("tool_calls", [])
    ]
    assert streamed["usage"] == plain["usage"]


def test_arguments_are_split_over_several_events_and_usage_comes_last() -> None:
    chunks = payloads(render_stream(DEPLOY, 0, "m"))
    pieces = [
        delta["function"]["arguments"]
        for chunk in chunks
        for choice in chunk["choices"]
        for delta in choice["delta"].get("tool_calls", [])
        if delta["index"] == 0
    ]
    assert pieces == ["", '{"comma', 'nd":"ec', 'ho é"}']
    assert [("usage" in chunk) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


def test_a_lone_surrogate_is_sent_as_its_escape() -> None:
    body = render_plain(Turn("\ud800"), 0, "m")
    assert b'"content":"\\ud800"' in body
