"""Which requests Anthropic's messages API refuses, and how the refusal reads.

Each row is one request that differs from a legal one in a single thing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chaos.flavours import MESSAGES, Message, ToolUse

Block = dict[str, Any]

USER: Block = {"role": "user", "content": "deploy"}
DONE: Block = {"role": "assistant", "content": "done"}


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def call(call_id: str = "a", **members: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": "bash", "input": {}, **members}


def calls(*ids: str) -> Block:
    return {"role": "assistant", "content": [call(i) for i in ids]}


def result(call_id: str = "a", **members: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok", **members}


def user(*blocks: Block) -> Block:
    return {"role": "user", "content": list(blocks)}


def tool(name: str = "bash", **members: Any) -> Block:
    return {"name": name, "input_schema": {"type": "object"}, **members}


def body(*messages: Any, **members: Any) -> bytes:
    request = {"model": "m", "max_tokens": 9, "messages": list(messages), **members}
    return json.dumps({k: v for k, v in request.items() if v is not ...}).encode()


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, USER],  # of one role: one turn
        [USER, DONE, DONE, USER],
        [USER, calls("a"), user(result("a"))],
        [USER, calls("a", "b"), user(result("b"), result("a"))],  # in any order
        [USER, calls("a", "b"), user(result("a")), user(result("b"))],  # over two messages
        [USER, calls("a"), user(result("a"), text("go on"))],  # words after the results
        [USER, calls("a"), user(result("a")), USER],
        [USER, calls("a"), user({"type": "tool_result", "tool_use_id": "a", "is_error": True})],
        [USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": ""}]}, USER],
    ],
)
def test_accepted(messages: list[Block]) -> None:
    assert MESSAGES.faults(body(*messages)) == ()


@pytest.mark.parametrize(
    "members",
    [
        {"system": "be brief"},
        {"system": [{**text("be brief"), "cache_control": {"type": "ephemeral"}}]},
        {"tools": []},
        {"tools": [tool(), {"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [tool()], "tool_choice": {"type": "auto"}},
        {"stream": True, "temperature": 0.5, "metadata": {}, "thinking": {"type": "disabled"}},
    ],
)
def test_accepted_members(members: Block) -> None:
    assert MESSAGES.faults(body(USER, **members)) == ()


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"max_tokens": ...}, "max_tokens: expected a positive integer, found nothing"),
        ({"max_tokens": 0}, "max_tokens: expected a positive integer, found 0"),
        ({"model": ...}, "model: expected a non-empty string, found nothing"),
        ({"temperature": 1.5}, "temperature: expected a number from 0 to 1, found 1.5"),
        ({"stream": "yes"}, "stream: expected a boolean, found 'yes'"),
        ({"system": [text(" ")]}, "system[0].text: expected text that is not blank, found ' '"),
        (
            {"tool_choice": {"type": "auto"}},
            "tool_choice: expected only together with tools, found it without",
        ),
        (
            {"tools": [tool("a b")]},
            "tools[0].name: expected 1 to 128 letters, digits, _ or -, found 'a b'",
        ),
        (
            {"tools": [tool(), tool()]},
            "tools[1].name: expected unique names, found 'bash' again (first in tools[0])",
        ),
        (
            {"tools": [tool(input_schema={"type": "array"})]},
            "tools[0].input_schema: expected a JSON Schema of type object, "
            "found an object with type",
        ),
    ],
)
def test_members_that_are_refused(members: Block, fault: str) -> None:
    assert MESSAGES.faults(body(USER, **members)) == (fault,)


UNANSWERED = (
    "messages[1] (assistant): expected a result for every call directly after them, found none for "
)


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([], "messages: expected a non-empty array, found an array of 0"),
        (
            [{"role": "system", "content": "be brief"}, USER],
            "messages[0].role: expected one of user, assistant, found 'system'",
        ),
        (
            [{**USER, "name": "me"}],
            "messages[0] (user).name: expected only role and content, found it",
        ),
        (
            [user()],
            "messages[0] (user).content: expected text or a non-empty array of blocks, "
            "found an array of 0",
        ),
        (
            [USER, {"role": "assistant", "content": ""}, USER],
            "messages[1] (assistant).content: expected text that is not blank, found ''",
        ),
        (
            [user(text("\n"))],
            "messages[0] (user).content[0].text: expected text that is not blank, found '\\n'",
        ),
        (
            [user({"text": "x"})],
            "messages[0] (user).content[0]: expected a content block with a type, "
            "found an object with text",
        ),
        (
            [user(call())],
            "messages[0] (user).content[0]: expected tool_use only in a message of role assistant",
        ),
        (
            [DONE, USER],
            "messages[0] (assistant): expected a user message first, found an assistant message",
        ),
        (
            [USER, DONE],
            "messages[1] (assistant): expected the last message to be of role user, "
            "found assistant",
        ),
        ([USER, calls("a")], UNANSWERED + "'a'"),
        ([USER, calls("a"), USER], UNANSWERED + "'a'"),
        ([USER, calls("a", "b"), user(result("a"))], UNANSWERED + "'b'"),
        ([USER, calls("a"), user(result("a")), DONE, USER, calls("b")],
         UNANSWERED.replace("[1]", "[5]") + "'b'"),
        (
            [user(result("a"))],
            "messages[0] (user).content[0]: expected a call 'a' in the turn directly before, "
            "found a result without its call",
        ),
        (
            [USER, calls("a"), user(result("a")), DONE, user(result("a"))],
            "messages[4] (user).content[0]: expected a call 'a' in the turn directly before, "
            "found a result without its call",
        ),
        (
            [USER, calls("a"), user(result("a"), result("a"))],
            "messages[2] (user).content[1]: expected one result a call, found a second one for 'a'",
        ),
        (
            [USER, calls("a"), user(text("well"), result("a"))],
            "messages[2] (user).content[1]: expected results before all else after their calls, "
            "found text first",
        ),
        (
            [USER, calls("a"), USER, user(result("a"))],
            "messages[3] (user).content[0]: expected results before all else after their calls, "
            "found text first",
        ),
        (
            [USER, calls("a"), user(result("a")), calls("a"), user(result("a"))],
            "messages[3] (assistant).content[0].id: expected unique ids, found 'a' again "
            "(first in messages[1] (assistant).content[0])",
        ),
        (
            [USER, {"role": "assistant", "content": [call("a", input="{}")]}, user(result("a"))],
            "messages[1] (assistant).content[0].input: expected an object, found '{}'",
        ),
        (
            [USER, {"role": "assistant", "content": [call("a", name="")]}, user(result("a"))],
            "messages[1] (assistant).content[0].name: expected a non-empty string, found ''",
        ),
        (
            [USER, calls("a"), user(result("a", content=[text("")]))],
            "messages[2] (user).content[0].content[0].text: expected text that is not blank, "
            "found ''",
        ),
        (
            [USER, calls("a"), user(result("a", content=5))],
            "messages[2] (user).content[0].content: expected text or blocks, found 5",
        ),
    ],
)  # fmt: skip
def test_messages_that_are_refused(messages: list[Block], fault: str) -> None:
    assert MESSAGES.faults(body(*messages)) == (fault,)


def test_an_id_of_other_letters_is_refused_in_call_and_result() -> None:
    faults = MESSAGES.faults(body(USER, calls("a.b"), user(result("a.b"))))
    assert faults == (
        "messages[1] (assistant).content[0].id: expected letters, digits, _ or -, found 'a.b'",
        "messages[2] (user).content[0].tool_use_id: expected letters, digits, _ or -, found 'a.b'",
    )


@pytest.mark.parametrize("junk", [b"", b"[]", b'{"messages":5}', b'{"messages":[5,{"role":5}]}'])
def test_anything_else_is_refused(junk: bytes) -> None:
    assert MESSAGES.faults(junk)


def test_results_and_words_of_one_message_are_read_apart() -> None:
    said = body(
        USER,
        {"role": "assistant", "content": "let me "},
        {"role": "assistant", "content": [text("see"), call("a", input={"x": 1})]},
        user(result("a", content=[text("o"), text("k")]), text("go on")),
    )
    assert MESSAGES.read(said, "").messages == (
        Message("user", "deploy"),
        Message("assistant", "let me see", (ToolUse("a", "bash", '{"x":1}'),)),
        Message("tool", "ok", result_of="a"),
        Message("user", "go on"),
    )
