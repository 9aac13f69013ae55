"""Legal transcripts: what a provider accepts."""

from __future__ import annotations

import pytest

from agent.transcript import complaint
from tests.corpus.writer import call

USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "done"}


def asks(*ids: str) -> dict[str, object]:
    return {"role": "assistant", "content": None, "tool_calls": [call(i) for i in ids]}


def result(id_: str) -> dict[str, str]:
    return {"role": "tool", "content": "x", "tool_call_id": id_}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [USER, ANSWER],
        [USER, asks("a", "b"), result("b"), result("a"), ANSWER],
        [USER, asks("a"), result("a"), asks("a"), result("a")],
        [asks("a"), result("a"), ANSWER],
    ],
)
def test_legal(messages: list[dict[str, object]]) -> None:
    assert complaint(messages) == ""


@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        ([USER, result("a")], "'a' answers no open call"),
        ([asks("a"), result("a"), result("a")], "'a' answers no open call"),
        ([asks("a"), result("b")], "'b' answers no open call"),
        ([asks("a"), USER], "a user message while 'a' is unanswered"),
        ([asks("a", "b"), result("a"), ANSWER], "an assistant message while 'b' is unanswered"),
        ([asks("a", "a")], "two calls of one turn have the same id"),
        ([USER, asks("a")], "'a' is never answered"),
    ],
)
def test_illegal(messages: list[dict[str, object]], wrong: str) -> None:
    assert wrong in complaint(messages)
