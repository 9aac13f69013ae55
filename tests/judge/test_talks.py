"""What was said on the wire, and what of it a later request does not say any more."""

from __future__ import annotations

import pytest

from chaos.flavours import Conversation, Message, ToolUse
from chaos.judge.shape_checks import shown
from chaos.judge.talks import answered, first_lost, words


def talk(*said: str) -> Conversation:
    """Messages: `u:words` of the user, `a:words` of the model, `c:id` a call, `r:id` its result,
    `r:id=text` another result of it."""
    return conversation(*(message(each) for each in said))


def conversation(*messages: Message) -> Conversation:
    return Conversation("", messages, (), "model", stream=False)


def message(said: str) -> Message:
    kind, _, text = said.partition(":")
    if kind == "c":
        return Message("assistant", "", calls=(ToolUse(text, f"tool {text}", '{"b":1,"a":2}'),))
    if kind == "r":
        ident, _, result = text.partition("=")
        return Message("tool", result or f"result of {ident}", result_of=ident)
    return Message({"u": "user", "a": "assistant"}[kind], text)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("u:do it", "u:do it", None),
        ("u:do it", "u:do it|a:done", None),
        ("u:do it|a:done", "u:do it", "assistant 'done'"),
        ("u:do it", "a:do it", "user 'do it'"),
        ("u:a|a:b", "a:b|u:a", "assistant 'b'"),  # order counts
        ("a:b|u:a", "u:a|a:b", "user 'a'"),
        ("u:go on|u:go on", "u:go on", "user 'go on'"),
        ("u:go on|u:go on", "u:go on, go on", None),
        ("u:one|u:two", "u:one two", None),
        ("u:one|u:two", "u:one|u:two", None),
        ("a:one|a:two", "a:one two", "assistant 'one'"),  # a model's words are its own
        ("a:one|a:one", "a:one", "assistant 'one'"),
        ("u: do it \n", "u:do it", None),
        ("u: ", "u:do it", None),  # nothing was said
        ("c:1", "c:1", None),
        ("c:1", "c:2", 'call of tool 1 {"a": 2, "b": 1}'),
        ("c:1|r:1", "c:1", """result 'result of 1' of tool 1 {"a": 2, "b": 1}"""),
        ("c:1|r:1", "c:1|r:1=another", """result 'result of 1' of tool 1 {"a": 2, "b": 1}"""),
        ("c:1|c:2|r:1|r:2", "c:1|c:2|r:2|r:1", None),
        ("c:1|r:1|r:1", "c:1|r:1", """result 'result of 1' of tool 1 {"a": 2, "b": 1}"""),
    ],
)
def test_the_first_thing_that_is_not_said_any_more(
    before: str, after: str, lost: str | None
) -> None:
    gone = first_lost(talk(*before.split("|")), talk(*after.split("|")))
    assert (None if gone is None else words(gone)) == lost


def test_calls_that_have_a_result() -> None:
    told = talk("u:do it", "c:1", "c:2", "c:3", "r:1", "a:r:2", "r:3")
    pairs = [(call.id, result.text) for call, result in answered(told)]
    assert pairs == [("1", "result of 1"), ("3", "result of 3")]


def test_arguments_that_are_no_json_are_told_as_they_are() -> None:
    call = Message("assistant", "", calls=(ToolUse("1", "tool", '{"a'),))
    gone = first_lost(conversation(call), talk("u:x"))
    assert gone is not None
    assert words(gone) == 'call of tool {"a'


def test_a_value_in_a_message_is_short_and_no_depth_is_too_much() -> None:
    assert shown("é") == '"\\u00e9"'
    assert shown("x" * 78) == f'"{"x" * 78}"'
    assert shown("x" * 79) == f'"{"x" * 76}…'
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a deeply nested value"
