"""What counts as a reply, and what the log could not hold."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from agent.reply import (
    FailedAttempt,
    MalformedReply,
    Reply,
    StreamedReply,
    error_text,
    normalised_usage,
    parse_reply,
)
from tests.agent.support import call, completion

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}
COUNTED = {"input": 11, "output": 7, "cacheRead": 3, "cacheWrite": 0}


def parse(body: Any) -> Reply:
    return parse_reply(json.dumps(body).encode())


def test_a_plain_answer() -> None:
    assert parse(completion("hi", usage=USAGE)) == Reply(
        {"role": "assistant", "content": "hi"}, "stop", COUNTED
    )


def test_calls_are_kept_as_the_log_wants_them() -> None:
    sent = call("read", {"path": "a"}) | {"index": 0, "extra": 1}
    reply = parse(completion(None, [sent], "tool_calls"))
    assert reply.stop_reason == "toolUse"
    assert reply.message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("read", {"path": "a"})],
    }


@pytest.mark.parametrize(
    ("finish_reason", "with_calls", "without"),
    [
        ("stop", "toolUse", "stop"),
        ("tool_calls", "toolUse", None),
        ("length", "length", None),
        (None, "toolUse", "stop"),
        ("content_filter", None, None),
    ],
)
def test_stop_reasons(finish_reason: str, with_calls: str | None, without: str | None) -> None:
    for calls, expected in (([call("x", "{}")], with_calls), ([], without)):
        body = completion("text", calls, finish_reason)
        if expected is None:
            with pytest.raises(MalformedReply, match="finish reason"):
                parse(body)
        else:
            assert parse(body).stop_reason == expected


def test_a_missing_content_is_empty_text_where_there_are_no_calls() -> None:
    assert parse(completion(None)).message["content"] == ""


def test_arguments_are_not_judged_here() -> None:
    reply = parse(completion(None, [call("read", '{"path":')], "length"))
    assert reply.message["tool_calls"][0]["function"]["arguments"] == '{"path":'


NAMELESS = {"id": "1", "type": "function", "function": {"name": "", "arguments": "{}"}}
NO_ARGUMENTS = {"id": "1", "type": "function", "function": {"name": "x"}}
MALFORMED = {
    "no choices": ({"choices": []}, "no choices"),
    "choices missing": ({}, "no choices"),
    "no message": ({"choices": [{}]}, "message to be an object"),
    "content in parts": (completion([{"type": "text"}]), "content to be a string"),  # type: ignore[arg-type]
    "equal ids": (completion(None, [call("a", "{}"), call("b", "{}")]), "same id"),
    "empty id": (completion(None, [call("a", "{}", "")]), "empty id or name"),
    "empty name": (completion(None, [NAMELESS]), "empty id or name"),
    "arguments as object": (
        completion(None, [{"id": "1", "function": {"name": "x", "arguments": {}}}]),
        "arguments to be a string",
    ),
    "arguments missing": (completion(None, [NO_ARGUMENTS]), "arguments to be a string"),
    "another kind of call": (completion(None, [{"type": "custom"}]), "type 'function'"),
    "not an object": ([], "reply to be an object"),
    "error in a reply": ({"error": {"message": "overloaded"}}, "overloaded"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_replies(name: str) -> None:
    body, words = MALFORMED[name]
    with pytest.raises(MalformedReply, match=words):
        parse(body)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"choices":[],"choices":[]}', b'{"a":"\\ud800"}', b'{"a":"\xff"}', b'{"a":NaN}'],
)
def test_a_body_is_read_as_strictly_as_the_log(body: bytes) -> None:
    with pytest.raises(MalformedReply, match="not strict JSON"):
        parse_reply(body)


def test_a_malformed_reply_still_tells_what_it_used() -> None:
    with pytest.raises(MalformedReply) as caught:
        parse(completion("cut", [], "length", USAGE))
    assert caught.value.usage == COUNTED
    with pytest.raises(MalformedReply) as caught:
        stream(delta("length"), {"choices": [], "usage": USAGE}, b"[DONE]")
    assert caught.value.usage == COUNTED


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": 2**53, "completion_tokens": 1},
        {
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": "2"},
        },
    ],
)
def test_absurd_usage_counts_as_not_given(usage: Any) -> None:
    assert normalised_usage(usage) is None


def stream(*events: Any) -> Reply:
    streamed = StreamedReply()
    for event in events:
        streamed.feed(event if isinstance(event, bytes) else json.dumps(event).encode())
    return streamed.reply()


def delta(finish_reason: str | None = None, **parts: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": parts, "finish_reason": finish_reason}]}


def part(index: int, arguments: str, id_: str | None = None, name: str | None = None) -> Any:
    return {"index": index, "id": id_, "function": {"name": name, "arguments": arguments}}


def test_a_stream_adds_up() -> None:
    reply = stream(
        delta(role="assistant", content=""),
        delta(content="he"),
        delta(content="llo"),
        delta(tool_calls=[part(1, '{"b', "c2", "two"), part(0, "", "c1", "one")]),
        delta(tool_calls=[part(0, "{}"), part(1, '":1}')]),
        delta("tool_calls"),
        {"choices": [], "usage": USAGE},
        b"[DONE]",
        b"nobody reads this",
    )
    calls = [call("one", "{}", "c1"), call("two", '{"b":1}', "c2")]
    assert reply == Reply(
        {"role": "assistant", "content": "hello", "tool_calls": calls}, "toolUse", COUNTED
    )


CUT_STREAMS = {
    "without end": [delta(content="x"), delta("stop")],
    "without finish reason": [delta(content="x"), b"[DONE]"],
    "inside arguments": [delta(tool_calls=[part(0, '{"a', "c", "n")])],
    "nothing": [],
}


@pytest.mark.parametrize("name", CUT_STREAMS)
def test_a_cut_stream_is_no_reply(name: str) -> None:
    with pytest.raises(FailedAttempt) as caught:
        stream(*CUT_STREAMS[name])
    assert caught.value.code == "incomplete_reply"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (b"{", "strict JSON"),
        (b'{"a":"\xff"}', "strict JSON"),
        (b"[]", "stream event to be an object"),
        (delta(content=5), "delta.content"),
        (delta(tool_calls=[part(-1, "")]), "call index"),
        (delta(tool_calls=[part(0, "{}", "a", "x"), part(0, "{}", "b", "y")]), "0 has two ids"),
        ({"error": {"message": "gone"}}, "gone"),
    ],
)
def test_malformed_events(event: Any, words: str) -> None:
    with pytest.raises(MalformedReply, match=words):
        stream(event)


def test_an_id_may_be_repeated_with_every_part() -> None:
    parts = [part(0, '{"a"', "c", "n"), part(0, ":1}", "c", "n")]
    reply = stream(delta(tool_calls=parts), delta("tool_calls"), b"[DONE]")
    assert reply.message["tool_calls"] == [call("n", '{"a":1}', "c")]


def test_a_reply_of_many_parts_costs_what_its_bytes_cost() -> None:
    event = json.dumps(delta(content="x" * 60, tool_calls=[part(0, "x" * 60)])).encode()
    streamed, started = StreamedReply(), time.process_time()
    for _ in range(40_000):
        streamed.feed(event)
    assert time.process_time() - started < 6  # 5 MB; copying them each time: 100 GB


def test_error_text_is_the_providers_own_on_one_bounded_line() -> None:
    assert error_text(b'{"error":{"message":"slow\\ndown"}}') == "slow down"
    assert error_text(b"<html>\n\xff</html>") == "<html> \ufffd</html>"
    assert len(error_text(b"x" * 10_000)) < 600
