"""Rule L4 over evidence: a stored reply is the whole of what the provider said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chaos.judge.replies import NoReply, Reply, read_reply
from tests.judge.build import BASH, Story, broken, plain

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
WHOLE = Reply("hi", (("c1", "bash", "{}"),), "toolUse")


def body(message: Any = None, finish: str | None = "tool_calls", **more: Any) -> bytes:
    said = {"content": "hi", "tool_calls": [CALL]} if message is None else message
    return json.dumps({"choices": [{"message": said, "finish_reason": finish}], **more}).encode()


def stream(*deltas: Any, finish: str | None = "tool_calls", done: bool = True) -> bytes:
    choices: list[Any] = [{"delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"delta": {}, "finish_reason": finish})
    events = [json.dumps({"choices": [choice]}) for choice in choices]
    events += ["[DONE]"] * done
    return "".join(f"data: {event}\n\n" for event in events).encode()


def part(**parts: Any) -> Any:
    call = {key: value for key, value in parts.items() if key in ("id", "index")}
    function = {key: value for key, value in parts.items() if key not in call}
    return {"tool_calls": [{**call, "function": function}]}


DELTAS = (
    {"role": "assistant", "content": ""},
    {"content": "hi"},
    part(index=0, id="c1", name="bash", arguments=""),
    part(index=0, arguments="{"),
    part(index=0, arguments="}"),
)


def test_a_reply_is_read_whole_and_streamed() -> None:
    assert read_reply(200, body()) == WHOLE
    assert read_reply(200, stream(*DELTAS)) == WHOLE


@pytest.mark.parametrize(
    ("message", "finish", "stop"),
    [
        ({"content": "hi"}, "stop", "stop"),
        ({"content": None}, None, "stop"),
        ({"tool_calls": [CALL]}, "stop", "toolUse"),
        ({"tool_calls": [CALL]}, None, "toolUse"),
        ({"tool_calls": [CALL]}, "length", "length"),
    ],
)
def test_how_a_reply_ended(message: Any, finish: str | None, stop: str) -> None:
    assert read_reply(200, body(message, finish)).stop == stop


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "not strict JSON"),
        (b"[]", "no object"),
        (body()[:-9], "not strict JSON"),
        (body({"content": "\ud83d"}, "stop"), "lone surrogate"),
        (body().replace(b"hi", b"\xff"), "not UTF-8"),
        (b'{"choices":[]}', "no choices"),
        (body({"content": 7}, "stop"), "content that is no text"),
        (body({"tool_calls": [CALL, CALL]}), "two calls of the same id"),
        (body({"tool_calls": [{**CALL, "id": ""}]}), "without an id"),
        (body({"tool_calls": [{"id": "c1"}]}), "without a function"),
        (body(finish="content_filter"), "finish reason 'content_filter'"),
        (body({"content": "hi"}, "length"), "finish reason 'length' without calls"),
        (stream(*DELTAS, finish=None), "no finish reason"),
        (stream(*DELTAS, done=False), r"no \[DONE\]"),
        (stream(*DELTAS)[:-1], r"no \[DONE\]"),
        (stream({"content": 7}), "content that is no text"),
        (stream(*DELTAS).replace(b"data: [DONE]", b"data: 7\n\ndata: [DONE]"), "no object"),
    ],
)
def test_what_is_no_reply(answer: bytes, why: str) -> None:
    with pytest.raises(NoReply, match=why):
        read_reply(200, answer)


def test_the_first_choice_is_the_reply() -> None:
    choices = json.loads(body({"content": "hi"}, "stop"))["choices"]
    other = {"message": {"content": "ho"}, "finish_reason": "length"}
    told = json.dumps({"choices": [*choices, other]}).encode()
    assert read_reply(200, told) == Reply("hi", (), "stop")


@pytest.mark.parametrize("whole", [body(), stream(*DELTAS)])
def test_no_beginning_of_a_reply_is_one(whole: bytes) -> None:
    for end in range(len(whole)):
        with pytest.raises(NoReply):
            read_reply(200, whole[:end])


def test_an_error_is_no_reply() -> None:
    for status, why in ((500, "status 500"), (0, "no answer at all")):
        with pytest.raises(NoReply, match=why):
            read_reply(status, body())


# -- the rule ------------------------------------------------------------------------------------


def stored(answer: bytes, *said: Any, stop: str | None = None) -> list[str]:
    """What is broken where this answer became a reply of these words."""
    story = Story("say it").launch("run").header().prompt().attempt()
    story.request(answer=story.blobs.put(answer)).reply(*said, stop=stop).finish().end()
    return broken(story.evidence())


def test_a_reply_as_it_was_said() -> None:
    assert stored(body({"content": "said"}, "stop"), "said") == []
    assert stored(stream({"content": "sa"}, {"content": "id"}, finish="stop"), "said") == []


def test_a_reply_in_other_words() -> None:
    (message,) = stored(body({"content": "said\u2028"}, "stop"), "said")
    assert message.startswith(
        "L4: a stored reply is not what the provider said: expected 'said\\u2028' (stop), found "
        "'said' (stop) at launch 1 (run), line 4, seq 4"
    )


def test_a_reply_that_never_came_whole() -> None:
    cut = stream({"content": "said"}, finish=None, done=False)
    (message,) = stored(cut, "said")
    assert message.startswith(
        "L4: a reply is stored, but the answer was none: no [DONE]: expected a failed step, found "
        "'said' (stop) at launch 1"
    )


def test_a_reply_is_read_after_an_attempt_that_has_none() -> None:
    story = Story("say it").launch("run", "log:assistant#1/before").header().prompt().attempt()
    story.request().reply("said").dead().launch("resume").attempt(2)
    answer = story.blobs.put(body({"content": "another"}, "stop"))
    story.request(answer=answer).reply("said").finish().end()
    assert [message[:2] for message in broken(story.evidence())] == ["L4"]


def test_and_after_one_whose_step_failed() -> None:
    story = Story("say it", "again").launch("run").header().prompt().attempt()
    story.request(status=500, usage=None).step_failed().finish("failed").end(1).launch("run")
    answer = story.blobs.put(body({"content": "another"}, "stop"))
    story.prompt().attempt().request(answer=answer).reply("said").finish().end()
    assert "L4" in [message[:2] for message in broken(story.evidence())]


def test_each_reply_that_is_none_is_told() -> None:
    story = Story("say it", "again")
    for _ in range(2):
        answer = story.blobs.put(stream({"content": "said"}, finish=None, done=False))
        story.launch("run")
        story = story.header() if not story.launches else story
        story.prompt().attempt().request(answer=answer).reply("said").finish().end()
    assert [message[:2] for message in broken(story.evidence())] == ["L4", "L4"]


def test_a_call_with_other_arguments() -> None:
    story = Story("deploy it").launch("run").header().prompt().attempt()
    said = {"tool_calls": [{"id": "call_0", "function": {"name": "bash", "arguments": "{}"}}]}
    story.request(answer=story.blobs.put(body(said))).reply(BASH)
    story.intent().exec().effect().result().attempt().request().reply("deployed").finish().end()
    (message,) = broken(story.evidence())
    assert message.startswith("L4: a stored reply is not what the provider said: expected '', bash")


def test_a_summary_is_a_reply_too() -> None:
    story = plain(steps=("run", "compact")).launch("compact").compact(1).attempt()
    answer = story.blobs.put(body({"content": "another"}, "stop"))
    story.request([{"role": "user", "content": "say it"}], answer=answer).summarised()
    (message,) = broken(story.finish().end().evidence())
    assert message.startswith("L4: a stored reply is not what the provider said: expected 'anoth")
