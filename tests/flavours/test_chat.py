"""Chat completions: what is read, and that what is written is always the same, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.flavours import CHAT, Conversation, Message, ToolUse, flavour_of
from chaos.provider.script import ToolCall, Turn, reply_of, reported_usage


def render_plain(turn: Turn, index: int, model: str) -> bytes:
    return CHAT.plain(reply_of(turn, index), model)


def render_stream(turn: Turn, index: int, model: str) -> list[bytes]:
    return CHAT.stream(reply_of(turn, index), model)


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/chat/completions?beta=true"])
def test_its_requests_are_told_by_their_path(path: str) -> None:
    assert flavour_of("POST", path) is CHAT
    assert flavour_of("GET", path) is None
    assert flavour_of("POST", f"/old{path}") is None


def test_a_request_is_a_conversation() -> None:
    function = {"name": "bash", "arguments": "{no json"}
    request = {
        "model": "m",
        "stream": True,
        "tools": [{"type": "function", "function": {"name": "bash"}}],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "developer", "content": [{"type": "text", "text": "and kind"}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
        ],
    }
    body = json.dumps(request).encode()
    assert CHAT.faults(body) == ()
    assert CHAT.read(body, "/v1/chat/completions") == Conversation(
        system="be brief\nand kind",
        messages=(
            Message("user", "a b"),
            Message("assistant", "", (ToolUse("c", "bash", "{no json"),)),
            Message("tool", "ok", result_of="c"),
        ),
        tools=("bash",),
        model="m",
        stream=True,
    )


@pytest.mark.parametrize(
    ("headers", "key"),
    [({"authorization": "Bearer k"}, "k"), ({"authorization": "Basic k"}, None), ({}, None)],
)
def test_its_key_is_a_bearer_token(headers: dict[str, str], key: str | None) -> None:
    assert CHAT.key(headers, "") == key


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
