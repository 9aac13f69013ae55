"""Which requests OpenAI's responses API refuses, and how the refusal reads.

Each row is one request that differs from a legal one in a single thing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chaos.flavours import RESPONSES, Message, ToolUse

Item = dict[str, Any]

USER: Item = {"role": "user", "content": "deploy"}
SAID: Item = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "on it"}],
}


def call(call_id: str = "a", **members: Any) -> Item:
    item = {"type": "function_call", "call_id": call_id, "name": "bash", "arguments": "{}"}
    return {**item, **members}


def output(call_id: str = "a", **members: Any) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": "ok", **members}


def tool(name: str = "bash", **members: Any) -> Item:
    return {"type": "function", "name": name, **members}


def body(*items: Any, **members: Any) -> bytes:
    request = {"model": "m", "input": list(items), **members}
    return json.dumps({k: v for k, v in request.items() if v is not ...}).encode()


@pytest.mark.parametrize(
    "items",
    [
        [USER],
        [{"role": "developer", "content": "be brief"}, USER],
        [USER, {"role": "assistant", "content": "done"}],  # the API goes on from there
        [USER, call("a"), output("a")],
        [USER, call("a"), call("b"), output("b"), output("a")],
        [USER, call("a"), output("a"), call("b"), output("b")],
        [USER, call("a"), USER, output("a")],  # anywhere behind its call
        [USER, {"type": "reasoning", "id": "rs_1", "summary": []}, SAID, USER],
        [USER, call("a", id="fc_1", arguments="{no json"), output("a", output=[])],
    ],
)
def test_accepted(items: list[Item]) -> None:
    assert RESPONSES.faults(body(*items)) == ()


@pytest.mark.parametrize(
    "members",
    [
        {"input": "deploy"},
        {"tools": [tool(), {"type": "web_search"}]},
        {"stream": True, "stream_options": {}, "store": False, "max_output_tokens": 16},
        {"previous_response_id": None, "reasoning": {"effort": "low"}, "include": []},
    ],
)
def test_accepted_members(members: Item) -> None:
    assert RESPONSES.faults(body(USER, **members)) == ()


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"input": ...}, "input: expected text or a non-empty array, found nothing"),
        ({"input": ""}, "input: expected text or a non-empty array, found ''"),
        ({"model": ""}, "model: expected a non-empty string, found ''"),
        ({"max_output_tokens": 15}, "max_output_tokens: expected an integer from 16 on, found 15"),
        ({"stream_options": {}}, "stream_options: expected only together with stream, "
         "found it without"),
        ({"previous_response_id": "resp_1"}, "previous_response_id: expected the whole "
         "conversation in input, found a reference to a store"),
        ({"tools": [tool("a b")]}, "tools[0].name: expected 1 to 64 letters, digits, _ or -, "
         "found 'a b'"),
        ({"tools": [tool(parameters={})]}, "tools[0].parameters: expected a JSON Schema of type "
         "object, found an object with no members"),
        ({"tools": [{}]}, "tools[0]: expected an object with a type, found an object with no "
         "members"),
    ],
)  # fmt: skip
def test_members_that_are_refused(members: Item, fault: str) -> None:
    assert RESPONSES.faults(body(USER, **members)) == (fault,)


@pytest.mark.parametrize(
    ("items", "fault"),
    [
        ([USER, call("a")], "input[1]: expected an output for every call, found none for 'a'"),
        ([USER, call("a"), USER], "input[1]: expected an output for every call, found none for "
         "'a'"),
        ([USER, output("a")], "input[1]: expected a call 'a' before it, found an output without "
         "its call"),
        ([USER, output("a"), call("a")], "input[1]: expected a call 'a' before it, found an output "
         "without its call"),
        ([USER, call("a", id="call_1"), output("a")], "input[1].id: expected an id that begins "
         "with fc, found 'call_1'"),
        ([USER, SAID, SAID, USER], "input[2].id: expected unique ids, found 'msg_1' again (first "
         "in input[1])"),
        ([USER, call("a", arguments={}), output("a")], "input[1].arguments: expected a string, "
         "found an object with no members"),
        ([USER, call("a", name=None), output("a")], "input[1].name: expected a non-empty string, "
         "found null"),
        ([USER, call("a"), output("a", output=None)], "input[2].output: expected text or an array "
         "of parts, found null"),
        ([{"role": "tool", "content": "ok"}], "input[0].role: expected one of user, system, "
         "developer, assistant, found 'tool'"),
        ([{**USER, "content": None}], "input[0].content: expected text or an array of parts, "
         "found null"),
        ([{**USER, "content": [{"type": "text", "text": "x"}]}], "input[0].content[0]: expected "
         "input_text or input_image or input_file or input_audio from a role user, found 'text'"),
        ([{**SAID, "content": [{"type": "input_text", "text": "x"}]}], "input[0].content[0]: "
         "expected output_text or refusal from a role assistant, found 'input_text'"),
        ([{**SAID, "content": [{"type": "output_text"}]}], "input[0].content[0].text: expected a "
         "string, found null"),
        ([USER, {"type": "item_reference", "id": "msg_1"}], "input[1]: expected the item itself, "
         "found a reference to a store"),
        ([USER, {}], "input[1]: expected an item with a type, found an object with no members"),
        ([USER, 5], "input[1]: expected an item with a type, found 5"),
    ],
)  # fmt: skip
def test_items_that_are_refused(items: list[Item], fault: str) -> None:
    assert RESPONSES.faults(body(*items)) == (fault,)


def test_an_id_of_a_call_is_short() -> None:
    long = "x" * 65
    place = "call_id: expected 1 to 64 characters, found " + repr("x" * 40 + "…")
    assert RESPONSES.faults(body(USER, call(long), output(long))) == (
        f"input[1].{place}",
        f"input[2].{place}",
    )


@pytest.mark.parametrize("junk", [b"", b"[]", b'{"input":5}', b'{"input":[{"type":5}]}'])
def test_anything_else_is_refused(junk: bytes) -> None:
    assert RESPONSES.faults(junk)


def test_items_of_the_model_that_follow_each_other_are_one_message() -> None:
    said = body(
        {"role": "developer", "content": "and kind"},
        USER,
        {"type": "reasoning", "id": "rs_1", "summary": []},
        SAID,
        call("a"),
        call("b"),
        output("a", output=[{"type": "input_text", "text": "ok"}]),
        output("b"),
        instructions="be brief",
        tools=[tool(), {"type": "web_search"}],
    )
    heard = RESPONSES.read(said, "")
    assert (heard.system, heard.tools) == ("be brief\nand kind", ("bash", "web_search"))
    assert heard.messages == (
        Message("user", "deploy"),
        Message("assistant", "on it", (ToolUse("a", "bash", "{}"), ToolUse("b", "bash", "{}"))),
        Message("tool", "ok", result_of="a"),
        Message("tool", "ok", result_of="b"),
    )


def test_a_text_alone_is_a_prompt() -> None:
    assert RESPONSES.read(body(input="deploy"), "").messages == (Message("user", "deploy"),)
