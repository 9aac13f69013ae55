"""Requests beside the conversation: titles and summaries, lists of models, counts of tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chaos.flavours import SideMarks
from chaos.provider.exchange import SIDE_REPLY
from chaos.provider.faults import Fault
from tests.provider.wired import ASK, BODY, Stage, payload, stage_fixture, status

__all__ = ["stage_fixture"]

TITLE = {"role": "system", "content": "You are a title generator."}
TOOLS = [{"type": "function", "function": {"name": "bash"}}]


def asking(*before: dict[str, Any], **members: Any) -> bytes:
    return json.dumps({**ASK, "messages": [*before, *ASK["messages"]], **members}).encode()


def said(reply: bytes) -> str:
    """What the model says in an unstreamed chat completion."""
    message: str = json.loads(payload(reply))["choices"][0]["message"]["content"]
    return message


def ordinals(stage: Stage) -> list[int]:
    return [decision["ordinal"] for decision in stage.journal.decisions.values()]


@pytest.mark.parametrize(
    ("marks", "title", "turn"),
    [
        (SideMarks(("title generator",)), asking(TITLE), asking()),
        (SideMarks(("name it:",)), asking({"role": "user", "content": "name it: go"}), asking()),
        (SideMarks(without_tools=True), asking(), asking(tools=TOOLS)),
    ],
)
def test_a_side_request_is_told_a_constant_and_is_no_turn(
    stage: Stage, marks: SideMarks, title: bytes, turn: bytes
) -> None:
    stage.begin(side=marks)
    assert said(stage.ask(title)) == SIDE_REPLY.text
    assert said(stage.ask(turn)) == "hello"
    assert said(stage.ask(title)) == SIDE_REPLY.text
    assert said(stage.ask(turn)) == "hello"
    assert ordinals(stage) == [0, 1, 0, 2]
    assert [line[:2] for line in stage.journal.lines[:3]] == [
        ("arrived", 1), ("decided", 1), ("answered", 1)
    ]  # fmt: skip


def test_a_mark_in_a_later_message_is_the_conversations(stage: Stage) -> None:
    stage.begin(side=SideMarks(("title",)))
    stage.ask(asking({"role": "user", "content": "go"}, {"role": "assistant", "content": "title"}))
    assert ordinals(stage) == [1]


def test_a_fault_never_hits_a_side_request(stage: Stage) -> None:
    stage.begin({1: Fault("status", status=503)}, side=SideMarks(("title generator",)))
    assert [status(stage.ask(body)) for body in (asking(TITLE), BODY, BODY)] == [200, 503, 200]


def test_a_side_request_must_be_legal_and_have_the_key(stage: Stage) -> None:
    stage.begin(api_key="k", side=SideMarks(("title generator",)))
    assert status(stage.ask(asking(TITLE))) == 401
    illegal = asking(TITLE, {"role": "tool", "content": "?"})
    assert status(stage.ask(illegal, authorization="Bearer k")) == 400


@pytest.mark.parametrize(
    ("method", "path", "holds"),
    [
        ("GET", "/tok/v1/models", {"object": "list"}),
        ("GET", "/tok/v1/models?limit=20", {"has_more": False}),
        ("GET", "/tok/v1/models/gpt-x", {"id": "gpt-x", "object": "model"}),
        ("GET", "/tok/v1beta/models/gemini-x", {"name": "models/gemini-x"}),
        ("POST", "/tok/v1/messages/count_tokens", {"input_tokens": 17}),
        ("POST", "/tok/v1beta/models/gemini-x:countTokens", {"totalTokens": 17}),
    ],
)
def test_what_asks_no_model_is_served_and_is_no_turn(
    stage: Stage, method: str, path: str, holds: dict[str, Any]
) -> None:
    reply = stage.ask(b"", method=method, path=path)
    assert status(reply) == 200
    assert json.loads(payload(reply)).items() >= holds.items()
    stage.ask()
    assert ordinals(stage) == [0, 1]
    assert stage.mock.foreign_count == 0


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_questions_of_the_protocol_are_harmless(stage: Stage, method: str) -> None:
    reply = stage.ask(b"", method=method, path="/tok/v1")
    assert (status(reply), payload(reply)) == (200, b"")
    assert ordinals(stage) == [0]


def test_the_root_is_where_clients_add_the_version_themselves(stage: Stage) -> None:
    assert f"{stage.mock.base_root}/v1" == stage.url == stage.mock.base_url
