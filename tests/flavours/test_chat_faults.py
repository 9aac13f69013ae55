"""Which requests a real provider refuses, and how the refusal reads.

Each table row is one request that differs from a legal one in a single thing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.flavours.chat_faults import chat_faults
from chaos.flavours.refusals import MAX_FAULTS

Message = dict[str, Any]

SYSTEM: Message = {"role": "system", "content": "be brief"}
USER: Message = {"role": "user", "content": "deploy"}
DONE: Message = {"role": "assistant", "content": "done"}


def call(call_id: str = "a", name: str = "bash", arguments: str = "{}") -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*ids: str) -> Message:
    return {"role": "assistant", "content": None, "tool_calls": [call(i) for i in ids]}


def result(call_id: str = "a", content: str = "ok") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def tool(name: str = "bash", **members: Any) -> Message:
    return {"type": "function", "function": {"name": name, **members}}


def faults(*messages: Any, **members: Any) -> list[str]:
    body = {"model": "m", "messages": list(messages), **members}
    return list(chat_faults(json.dumps(body).encode()))


# -- legal --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [SYSTEM, USER],
        [SYSTEM, {"role": "developer", "content": "and kind"}, USER],
        [SYSTEM, USER, DONE, USER],
        [USER, USER],  # an operation that failed left no reply
        [USER, {"role": "assistant", "content": ""}, USER],  # a blank reply, then a new prompt
        [USER, calls("a"), result("a")],
        [USER, calls("a", "b", "c"), result("c"), result("a"), result("b")],  # in any order
        [USER, calls("a"), result("a"), DONE, USER],
        [USER, calls("a"), result("a"), calls("a"), result("a")],  # ids start again each turn
        [USER, {**calls("a"), "content": "let me look"}, result("a", "")],
        [USER, {"role": "assistant", "tool_calls": [call()]}, result()],
        [USER, {"role": "assistant", "tool_calls": [call(arguments="{not json")]}, result()],
        [USER, {"role": "assistant", "tool_calls": [call(name="no such tool")]}, result()],
        [{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url"}]}],
    ],
)
def test_legal_transcripts_are_accepted(messages: list[Message]) -> None:
    assert faults(*messages) == []


def test_legal_options_are_accepted() -> None:
    schema = {"type": "object", "properties": {}}
    options = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [tool("bash", description="run", parameters=schema), tool("read")],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "temperature": 0,
        "top_p": 0.5,
        "max_tokens": 100,
        "max_completion_tokens": None,
        "something_new": {"left": "to the provider"},
    }
    assert faults(USER, **options) == []


# -- calls and results --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [USER, calls("a")],
            ["messages[1] (assistant): expected a result for every call before the end, "
             "found none for 'a'"],
        ),
        (
            [USER, calls("a", "b", "c"), result("b"), USER],
            ["messages[1] (assistant): expected a result for every call before "
             "messages[3] (user), found none for 'a', 'c'"],
        ),
        (
            [USER, calls("a"), calls("b"), result("b")],
            ["messages[1] (assistant): expected a result for every call before "
             "messages[2] (assistant), found none for 'a'"],
        ),
        (  # text before the results: they no longer answer their call
            [USER, calls("a"), USER, result("a")],
            ["messages[1] (assistant): expected a result for every call before "
             "messages[2] (user), found none for 'a'",
             "messages[3] (tool): expected a call 'a' in the assistant message directly before "
             "the results, found a result without its call"],
        ),
        (
            [USER, result("a")],
            ["messages[1] (tool): expected a call 'a' in the assistant message directly before "
             "the results, found a result without its call"],
        ),
        (  # the id is known from an earlier turn; that does not help
            [USER, calls("a"), result("a"), calls("b"), result("b"), result("a")],
            ["messages[5] (tool): expected a call 'a' in the assistant message directly before "
             "the results, found a result without its call"],
        ),
        (
            [USER, calls("a"), result("a"), result("a")],
            ["messages[3] (tool): expected one result a call, found a second one for 'a' of "
             "messages[1]"],
        ),
        (
            [USER, calls("a", "b", "a"), result("a"), result("b")],
            ["messages[1] (assistant).tool_calls[2].id: expected unique ids in one turn, "
             "found 'a' again (tool_calls[0])"],
        ),
    ],
)  # fmt: skip
def test_a_call_has_exactly_one_result_directly_after_it(
    messages: list[Message], expected: list[str]
) -> None:
    assert faults(*messages) == expected


# -- who speaks when ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [USER, SYSTEM, USER],
            "messages[1] (system): expected system messages before all others, "
            "found one after them",
        ),
        (
            [USER, DONE],
            "messages[1] (assistant): expected the last message to be of role user or tool, "
            "found assistant",
        ),
        (
            [SYSTEM],
            "messages[0] (system): expected the last message to be of role user or tool, "
            "found system",
        ),
        (
            [SYSTEM, DONE, USER],
            "messages[1] (assistant): expected a user message first, found an assistant message",
        ),
    ],
)
def test_the_order_of_speakers(messages: list[Message], expected: str) -> None:
    assert faults(*messages) == [expected]


# -- one message --------------------------------------------------------------------------------


def assistant(**members: Any) -> list[Message]:
    return [USER, {"role": "assistant", **members}, result()]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (["hi", USER], "messages[0]: expected an object, found 'hi'"),
        (
            [{"role": "function", "content": "x"}, USER],
            "messages[0].role: expected one of system, developer, user, assistant, tool, "
            "found 'function'",
        ),
        (
            [{"role": ["user"], "content": "x"}, USER],
            "messages[0].role: expected one of system, developer, user, assistant, tool, "
            "found an array of 1",
        ),
        (
            [{"role": "user", "content": ""}],
            "messages[0] (user).content: expected text, found an empty string",
        ),
        ([{"role": "user"}], "messages[0] (user).content: expected text, found null"),
        (
            [{"role": "user", "content": 7}],
            "messages[0] (user).content: expected text, found 7",
        ),
        (
            [{"role": "user", "content": []}],
            "messages[0] (user).content: expected text, found an empty array",
        ),
        (
            [{"role": "user", "content": ["hi"]}],
            "messages[0] (user).content[0]: expected a content part with a type, found 'hi'",
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": None}]}],
            "messages[0] (user).content[0].text: expected a string, found null",
        ),
        (
            [{"role": "system", "content": [{"type": "image_url"}]}, USER],
            "messages[0] (system).content[0]: expected a part of type text, found 'image_url'",
        ),
        (
            [USER, {"role": "assistant", "content": None}, USER],
            "messages[1] (assistant).content: expected text, found null "
            "(allowed only beside tool_calls)",
        ),
        (
            [USER, calls("a"), {"role": "tool", "tool_call_id": "a", "content": None}],
            "messages[2] (tool).content: expected text, found null",
        ),
        (
            [USER, calls("a"), result("a"), {**result("a"), "tool_call_id": ""}],
            "messages[3] (tool).tool_call_id: expected a non-empty string, found ''",
        ),
        (
            [{**USER, "tool_calls": [call()]}],
            "messages[0] (user).tool_calls: expected only in a message of role assistant",
        ),
        (
            [{**USER, "tool_call_id": "a"}],
            "messages[0] (user).tool_call_id: expected only in a message of role tool",
        ),
        (
            [USER, {**DONE, "tool_calls": []}, USER],
            "messages[1] (assistant).tool_calls: expected a non-empty array, found an array of 0",
        ),
        (
            [USER, {**DONE, "tool_calls": None}, USER],
            "messages[1] (assistant).tool_calls: expected a non-empty array, found null",
        ),
        (
            assistant(tool_calls=[{"id": "a", "type": "function"}]),
            'messages[1] (assistant).tool_calls[0]: expected {"id","type":"function","function"}, '
            "found an object with id, type",
        ),
        (
            assistant(tool_calls=[call(), {**call(), "id": ""}]),
            "messages[1] (assistant).tool_calls[1].id: expected a non-empty string, found ''",
        ),
        (
            assistant(tool_calls=[call(name="")]),
            "messages[1] (assistant).tool_calls[0].function.name: "
            "expected a non-empty string, found ''",
        ),
        (
            assistant(tool_calls=[{**call(), "function": {"name": "x", "arguments": {}}}]),
            "messages[1] (assistant).tool_calls[0].function.arguments: "
            "expected a string, found an object with no members",
        ),
    ],
)
def test_the_shape_of_a_message(messages: list[Any], expected: str) -> None:
    assert faults(*messages) == [expected]


# -- the request itself -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"model": ""}, "model: expected a non-empty string, found ''"),
        ({"messages": []}, "messages: expected a non-empty array, found an array of 0"),
        ({"messages": {}}, "messages: expected a non-empty array, found an object with no members"),
        ({"stream": "yes"}, "stream: expected a boolean, found 'yes'"),
        ({"stream_options": {}}, "stream_options: expected only together with stream, "
                                 "found it without"),
        ({"tool_choice": "auto"}, "tool_choice: expected only together with tools, "
                                  "found it without"),
        ({"temperature": True}, "temperature: expected a number from 0 to 2, found true"),
        ({"max_tokens": 0}, "max_tokens: expected a positive integer, found 0"),
        ({"tools": []}, "tools: expected a non-empty array, found an array of 0"),
        ({"tools": [tool("a b")]},
         "tools[0].function.name: expected 1 to 64 letters, digits, _ or -, found 'a b'"),
        ({"tools": [tool("a\n")]},
         "tools[0].function.name: expected 1 to 64 letters, digits, _ or -, found 'a\\n'"),
        ({"tools": [tool("a"), tool("b"), tool("a")]},
         "tools[2].function.name: expected unique names, found 'a' again (first in tools[0])"),
        ({"tools": [{"type": "function"}]},
         'tools[0]: expected {"type":"function","function":{…}}, found an object with type'),
        ({"tools": [tool(description=1)]},
         "tools[0].function.description: expected a string, found 1"),
        ({"tools": [tool(parameters=[])]},
         "tools[0].function.parameters: expected a JSON Schema of type object, "
         "found an array of 0"),
        ({"tools": [tool(parameters={})]},
         "tools[0].function.parameters: expected a JSON Schema of type object, "
         "found an object with no members"),
    ],
)  # fmt: skip
def test_the_members_of_a_request(members: Message, expected: str) -> None:
    body = {"model": "m", "messages": [USER], **members}
    assert chat_faults(json.dumps(body).encode()) == (expected,)


def test_what_is_missing_is_named() -> None:
    assert chat_faults(b"{}") == (
        "model: expected a non-empty string, found nothing",
        "messages: expected a non-empty array, found nothing",
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "body: expected JSON, found Expecting value: line 1 column 1 (char 0)"),
        (b"[1]", "body: expected a JSON object, found an array of 1"),
        (b'{"a":"\xff"}', "body: expected UTF-8, found 0xff at byte 6"),
        (b'{"a":1,"a":2}', "body: expected unique keys, found 'a' twice in one object"),
        (b'{"a":NaN}', "body: expected JSON, found NaN"),
        (b'{"a":"x\\ud800"}',
         "body: expected Unicode text, found the lone surrogate \\ud800 after '{\"a\": \"x'"),
        (b"[" * 100_000, "body: expected JSON, found it nested too deeply to read"),
    ],
)  # fmt: skip
def test_a_body_that_is_not_strict_json(body: bytes, expected: str) -> None:
    assert chat_faults(body) == (expected,)


def test_a_hopeless_request_gets_a_bounded_answer() -> None:
    assert len(faults(*["x"] * 1000)) == MAX_FAULTS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "user", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "tool_call_id", "id", "type", "function", "name"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, min_size=1, max_size=4), JSON)
def test_any_json_is_judged_without_an_exception(messages: list[Any], tools: Any) -> None:
    assert all(isinstance(fault, str) for fault in faults(*messages, tools=tools))


@given(st.binary(max_size=40))
def test_any_bytes_are_judged_without_an_exception(body: bytes) -> None:
    assert chat_faults(body)
