"""Which requests Google's Gemini API refuses, and how the refusal reads.

Each row is one request that differs from a legal one in a single thing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chaos.flavours import GEMINI, Message, ToolUse, flavour_of

Content = dict[str, Any]
PATH = "/v1beta/models/gemini-x:generateContent"


def user(*parts: Any) -> Content:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Content:
    return {"role": "model", "parts": list(parts)}


def text(words: str = "deploy") -> Content:
    return {"text": words}


def call(name: str = "bash", **members: Any) -> Content:
    return {"functionCall": {"name": name, "args": {}, **members}}


def response(name: str = "bash", **members: Any) -> Content:
    return {"functionResponse": {"name": name, "response": {"output": "ok"}, **members}}


def tools(*functions: Content) -> list[Content]:
    return [{"functionDeclarations": list(functions)}]


def body(*contents: Any, **members: Any) -> bytes:
    return json.dumps({"contents": list(contents), **members}).encode()


@pytest.mark.parametrize(
    "contents",
    [
        [user(text())],
        [{"parts": [text()]}],  # whose it is need not be said
        [user(text()), user(text("now"))],
        [user(text()), model(text("done")), user(text())],
        [user(text()), model(text("")), user(text())],  # as the model said it
        [user(text()), model(call()), user(response())],
        [user(text()), model(text("on it"), call(), call()), user(response(), response())],
        [user(text()), model(call()), user(response()), model(call()), user(response())],
        [user(text()), model(call()), {"role": "function", "parts": [response()]}],
        [
            user(text()),
            model({"function_call": {"name": "bash"}}),
            user({"function_response": {"name": "bash", "response": {}}}),
        ],
        [user(text()), model({"thought": True, "text": ""}, call()), user(response(), text())],
    ],
)
def test_accepted(contents: list[Content]) -> None:
    assert GEMINI.faults(body(*contents)) == ()


@pytest.mark.parametrize(
    "members",
    [
        {"systemInstruction": {"parts": [text()]}},
        {"system_instruction": {"parts": [text()]}},
        {"tools": tools({"name": "bash"}, {"name": "read", "parametersJsonSchema": {}})},
        {"tools": [{"googleSearch": {}}], "generationConfig": {"temperature": 0}},
    ],
)
def test_accepted_members(members: Content) -> None:
    assert GEMINI.faults(body(user(text()), **members)) == ()


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        (
            {"generationConfig": 5},
            "generationConfig: expected an object, found 5",
        ),
        (
            {"system_instruction": {"parts": []}},
            "systemInstruction.parts: expected a non-empty array, found an array of 0",
        ),
        (
            {"tools": tools({"name": "2 b"})},
            "tools[0].functionDeclarations[0].name: expected a letter or _, then letters, digits, "
            "_, ., : or -, found '2 b'",
        ),
        (
            {"tools": tools({"name": "a"}, {"name": "a"})},
            "tools[0].functionDeclarations[1].name: expected unique names, found 'a' again "
            "(first in tools[0].functionDeclarations[0])",
        ),
        (
            {"tools": tools({"name": "a", "parameters": {"type": "string"}})},
            "tools[0].functionDeclarations[0].parameters: expected a schema of type OBJECT, "
            "found an object with type",
        ),
        (
            {"tools": tools({"name": "a", "parameters": {"type": "object"}})},
            "tools[0].functionDeclarations[0].parameters.properties: expected some, found none; "
            "leave parameters out",
        ),
    ],
)
def test_members_that_are_refused(members: Content, fault: str) -> None:
    assert GEMINI.faults(body(user(text()), **members)) == (fault,)


@pytest.mark.parametrize(
    ("contents", "fault"),
    [
        ([], "contents: expected a non-empty array, found an array of 0"),
        (
            [{**user(text()), "role": "assistant"}],
            "contents[0].role: expected one of user, model, found 'assistant'",
        ),
        (
            [{**user(text()), "id": 1}],
            "contents[0].id: expected only role and parts, found it",
        ),
        ([user()], "contents[0].parts: expected a non-empty array, found an array of 0"),
        (
            [user({})],
            "contents[0].parts[0]: expected a part that holds something, "
            "found an object with no members",
        ),
        ([user(text(""))], "contents[0].parts[0].text: expected text, found ''"),
        (
            [user(text()), model(text("done"))],
            "contents[1]: expected the last content to be of role user, found model",
        ),
        (
            [user(text()), model(call(), call())],
            "contents[1]: expected a response for every call, found the end after 2",
        ),
        (
            [user(text()), model(call()), user(text())],
            "contents[2]: expected as many responses as contents[1] has calls, 1, found 0",
        ),
        (
            [user(text()), model(call(), call()), user(response())],
            "contents[2]: expected as many responses as contents[1] has calls, 2, found 1",
        ),
        (
            [user(text()), user(response())],
            "contents[1]: expected function responses directly after their calls, found none",
        ),
        (
            [user(text()), model(text("on it")), model(call()), user(response())],
            "contents[2]: expected calls directly after a user's turn or function responses",
        ),
        (
            [user(text()), model(call(args="{}")), user(response())],
            "contents[1].parts[0].functionCall.args: expected an object, found '{}'",
        ),
        (
            [user(text()), model(call()), user(response(response="ok"))],
            "contents[2].parts[0].functionResponse.response: expected an object, found 'ok'",
        ),
        (
            [user(text()), model(call()), user(response(""))],
            "contents[2].parts[0].functionResponse.name: expected a non-empty string, found ''",
        ),
    ],
)
def test_contents_that_are_refused(contents: list[Content], fault: str) -> None:
    assert GEMINI.faults(body(*contents)) == (fault,)


@pytest.mark.parametrize("junk", [b"", b"[]", b'{"contents":5}', b'{"contents":[5,{"parts":5}]}'])
def test_anything_else_is_refused(junk: bytes) -> None:
    assert GEMINI.faults(junk)


def test_results_find_their_calls_by_id_by_name_and_by_place() -> None:
    said = body(
        user(text()),
        model(call("bash"), call("read"), call("bash"), call("bash", id="mine")),
        user(response("bash", id="mine"), response("read"), response("bash"), response("bash")),
    )
    _, asked, *results = GEMINI.read(said, PATH).messages
    assert [call.id for call in asked.calls] == ["call_1_0", "call_1_1", "call_1_2", "mine"]
    assert [r.result_of for r in results] == ["mine", "call_1_1", "call_1_0", "call_1_2"]


def test_a_result_of_several_members_is_its_json() -> None:
    said = body(
        user(text()),
        model(call(args={"x": 1})),
        user(response(response={"code": 0, "out": "ok"}), text("go on")),
    )
    assert GEMINI.read(said, PATH).messages[1:] == (
        Message("assistant", "", (ToolUse("call_1_0", "bash", '{"x":1}'),)),
        Message("tool", '{"code":0,"out":"ok"}', result_of="call_1_0"),
        Message("user", "go on"),
    )


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha"])
@pytest.mark.parametrize(
    ("how", "stream"), [("generateContent", False), ("streamGenerateContent?alt=sse", True)]
)
def test_model_and_stream_are_told_by_the_path(version: str, how: str, stream: bool) -> None:
    path = f"/{version}/models/gemini-x:{how}"
    assert flavour_of("POST", path) is GEMINI
    heard = GEMINI.read(body(user(text())), path)
    assert (heard.model, heard.stream) == ("gemini-x", stream)
