"""What holds in every flavour: the same conversation is read, the same reply is heard, and whatever
goes wrong at the provider goes wrong in the API's own form.

`recorded/` holds requests as client libraries sent them to the mock: a prompt, then the results of
the two calls that it was answered by.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.flavours import FLAVOURS, Conversation, Flavour, Message, ToolUse, flavour_of
from chaos.provider.exchange import Answer, Received, Script, decide
from chaos.provider.faults import Fault
from chaos.provider.script import ToolCall, Turn, When, reply_of

RECORDED = Path(__file__).parent / "recorded"
CALLS = (ToolCall.of("bash", {"command": "echo é"}), ToolCall.of("bash", {"command": "date"}))
TURNS = (Turn("on it: é", CALLS), Turn("done"))
MODEL = {"gemini": "gemini-m"}
flavours = pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
both = pytest.mark.parametrize("how", ["plain", "streamed"])


def recorded(flavour: Flavour, how: str, number: int) -> Received:
    """A request as a client sent it."""
    sent = json.loads((RECORDED / f"{flavour.name}.json").read_text(encoding="utf-8"))[how][number]
    body = json.dumps(sent["body"], ensure_ascii=False).encode()
    return Received("POST", sent["path"], {}, bytearray(body))


def read(flavour: Flavour, request: Received) -> Conversation:
    body = bytes(request.body)
    assert flavour.faults(body) == ()
    return flavour.read(body, request.path)


# -- hearing a reply, as clients do ---------------------------------------------------------------

Heard = tuple[str, list[tuple[str, Any]], str | None]  # text, calls (name, arguments), why it ended


def events(parts: list[bytes]) -> list[Any]:
    lines = b"".join(parts).decode().split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(text) for text in data if text != "[DONE]"]


def hear_chat(parts: list[bytes], *, streamed: bool) -> Heard:
    if not streamed:
        choice = json.loads(parts[0])["choices"][0]
        calls = [call["function"] for call in choice["message"].get("tool_calls", [])]
        named = [(call["name"], json.loads(call["arguments"])) for call in calls]
        return choice["message"]["content"], named, choice["finish_reason"]
    text, found, why = "", {}, None
    for choice in (choice for event in events(parts) for choice in event["choices"]):
        text += choice["delta"].get("content") or ""
        why = choice["finish_reason"] or why
        for call in choice["delta"].get("tool_calls", []):
            name, arguments = found.get(call["index"], (call["function"].get("name"), ""))
            found[call["index"]] = (name, arguments + call["function"]["arguments"])
    return text, [(name, json.loads(arguments)) for name, arguments in found.values()], why


def hear_messages(parts: list[bytes], *, streamed: bool) -> Heard:
    if not streamed:
        message = json.loads(parts[0])
        blocks, why = message["content"], message["stop_reason"]
    else:
        blocks, why = [], None
        for event in events(parts):
            match event["type"]:
                case "content_block_start":
                    blocks.append({**event["content_block"], "json": ""})
                case "content_block_delta":
                    delta = event["delta"]
                    block = blocks[event["index"]]
                    if delta["type"] == "text_delta":
                        block["text"] += delta["text"]
                    else:
                        block["json"] += delta["partial_json"]
                case "content_block_stop":
                    block = blocks[event["index"]]
                    block["input"] = json.loads(block["json"]) if block["json"] else None
                case "message_delta":
                    why = event["delta"]["stop_reason"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return text, [(b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"], why


def hear_responses(parts: list[bytes], *, streamed: bool) -> Heard:
    response = events(parts)[-1]["response"] if streamed else json.loads(parts[0])
    output = response["output"]
    if streamed:  # the events say the same as the response that ends them
        assert [e["sequence_number"] for e in events(parts)] == list(range(len(events(parts))))
        assert [e["item"] for e in events(parts) if e["type"].endswith("item.done")] == output
        pieces = "".join(e["delta"] for e in events(parts) if e["type"].endswith("text.delta"))
        assert pieces == "".join(i["content"][0]["text"] for i in output if i["type"] == "message")
        spelt = [e for e in events(parts) if e["type"].endswith("arguments.delta")]
        whole = [item["arguments"] for item in output if item["type"] == "function_call"]
        assert "".join(e["delta"] for e in spelt) == "".join(whole)
    text = "".join(item["content"][0]["text"] for item in output if item["type"] == "message")
    calls = [item for item in output if item["type"] == "function_call"]
    return text, [(c["name"], json.loads(c["arguments"])) for c in calls], response["status"]


def hear_gemini(parts: list[bytes], *, streamed: bool) -> Heard:
    chunks = events(parts) if streamed else [json.loads(parts[0])]
    candidates = [chunk["candidates"][0] for chunk in chunks]
    said = [part for candidate in candidates for part in candidate["content"]["parts"]]
    calls = [part["functionCall"] for part in said if "functionCall" in part]
    text = "".join(part.get("text", "") for part in said)
    return text, [(c["name"], c["args"]) for c in calls], candidates[-1].get("finishReason")


HEAR: Mapping[str, Callable[..., Heard]] = {
    "chat": hear_chat,
    "messages": hear_messages,
    "responses": hear_responses,
    "gemini": hear_gemini,
}
ENDS = {  # by flavour: after calls, after words, after too many words
    "chat": ("tool_calls", "stop", "length"),
    "messages": ("tool_use", "end_turn", "max_tokens"),
    "responses": ("completed", "completed", "incomplete"),
    "gemini": ("STOP", "STOP", "MAX_TOKENS"),
}


# -- reading --------------------------------------------------------------------------------------


@flavours
@both
def test_what_clients_send_is_one_conversation(flavour: Flavour, how: str) -> None:
    request = recorded(flavour, how, 1)
    assert flavour_of("POST", request.path) is flavour
    # Gemini has no ids: calls are named after their place.
    ids = ("call_1_0", "call_1_1") if flavour.name == "gemini" else ("call_0_0", "call_0_1")
    said = [json.loads(call.arguments) for call in CALLS]
    heard = read(flavour, request)
    assert [json.loads(call.arguments) for call in heard.messages[1].calls] == said
    calls = tuple(map(ToolUse, ids, ("bash", "bash"), [c.arguments for c in CALLS]))
    assert heard == Conversation(
        system="be brief",
        messages=(
            Message("user", "go"),
            Message("assistant", "on it: é", calls),
            Message("tool", "ok", result_of=ids[0]),
            Message("tool", "ok", result_of=ids[1]),
        ),
        tools=("bash",),
        model=MODEL.get(flavour.name, "m"),
        stream=how == "streamed",
    )


# -- answering ------------------------------------------------------------------------------------


def answer(
    flavour: Flavour, how: str, number: int = 0, fault: str = "", key: str | None = None
) -> Answer:
    script = Script(TURNS, api_key=key)
    request = recorded(flavour, how, number)
    return decide(request, flavour, script, Fault.parse(fault) if fault else None)


@flavours
@both
def test_the_turns_of_the_script_are_heard(flavour: Flavour, how: str) -> None:
    hear, ends = HEAR[flavour.name], ENDS[flavour.name]
    named = [("bash", {"command": "echo é"}), ("bash", {"command": "date"})]
    for number, heard in enumerate([("on it: é", named, ends[0]), ("done", [], ends[1])]):
        found = answer(flavour, how, number)
        assert found.status == 200
        assert hear(list(found.parts), streamed=how == "streamed") == heard


@flavours
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    arguments=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers()),
)
def test_a_stream_says_what_the_plain_reply_says(
    flavour: Flavour, text: str, arguments: dict[str, int]
) -> None:
    reply = reply_of(Turn(text, (ToolCall.of("bash", arguments),)), 3)
    hear = HEAR[flavour.name]
    plain = hear([flavour.plain(reply, "m")], streamed=False)
    assert plain == hear(flavour.stream(reply, "m"), streamed=True)
    assert plain[:2] == (text, [("bash", arguments)])


@flavours
@both
def test_a_reply_can_be_cut_by_the_models_limit(flavour: Flavour, how: str) -> None:
    reply = reply_of(Turn("so f", finish_reason="length"), 0)
    streamed = how == "streamed"
    parts = flavour.stream(reply, "m") if streamed else [flavour.plain(reply, "m")]
    assert HEAR[flavour.name](parts, streamed=streamed)[2] == ENDS[flavour.name][2]


SPOKEN = {"arguments", "args", "content", "delta", "input", "partial_json", "text"}


def spoken(value: Any) -> Iterator[str]:
    """The words of a reply and the arguments of its calls, in any API, in order."""
    if isinstance(value, list):
        for each in value:
            yield from spoken(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str) and key in SPOKEN:
                yield each
            else:
                yield from spoken(each)


@flavours
@pytest.mark.parametrize(
    ("turn", "said"),
    [
        pytest.param(Turn(no_choices=True), "", id="nothing"),
        pytest.param(Turn(message={"content": []}), "", id="odd-message"),
        pytest.param(Turn(None, (ToolCall("bash", "{no json"),)), "{no json", id="no-json"),
        pytest.param(Turn("half: \ud83d"), "half: \ud83d", id="half-a-character"),
    ],
)
def test_what_a_model_says_beyond_good_manners_is_written(
    flavour: Flavour, turn: Turn, said: str
) -> None:
    reply = reply_of(turn, 0)
    assert "".join(spoken(json.loads(flavour.plain(reply, "m")))) == said
    streamed = "".join(spoken(events(flavour.stream(reply, "m"))))
    assert said in streamed
    assert streamed.replace(said, "") == ""  # some APIs say at the end what they said in pieces


@flavours
def test_counters_that_make_no_sense_are_written_and_none_where_there_are_none(
    flavour: Flavour,
) -> None:
    for usage, told in (({"prompt_tokens": "many", "completion_tokens": -1}, True), ({}, False)):
        reply = reply_of(Turn("x", usage=usage), 0)
        for text in (flavour.plain(reply, "m"), b"".join(flavour.stream(reply, "m"))):
            assert (b'"many"' in text) is told
            assert (re.search(rb"_tokens|TokenCount", text) is not None) is told


COUNTERS = {  # by flavour: how 17 tokens of prompt, 11 of them cached, and 13 of a reply are told
    "chat": {
        "prompt_tokens": 17,
        "completion_tokens": 13,
        "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 11},
    },
    "messages": {
        "input_tokens": 6,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 11,
        "output_tokens": 13,
    },
    "responses": {
        "input_tokens": 17,
        "input_tokens_details": {"cached_tokens": 11},
        "output_tokens": 13,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 30,
    },
    "gemini": {
        "promptTokenCount": 17,
        "candidatesTokenCount": 13,
        "cachedContentTokenCount": 11,
        "totalTokenCount": 30,
    },
}


@flavours
def test_usage_is_told_in_its_own_words(flavour: Flavour) -> None:
    found = answer(flavour, "plain")
    whole = json.loads(found.parts[0])
    assert whole.get("usage", whole.get("usageMetadata")) == COUNTERS[flavour.name]
    assert found.usage == {"prompt_tokens": 17, "completion_tokens": 13, "cached_tokens": 11}


@pytest.mark.parametrize(
    "flavour", FLAVOURS[:3], ids=lambda flavour: flavour.name
)  # those with ids
def test_the_same_turn_twice_gives_nothing_the_same_id(flavour: Flavour) -> None:
    request = recorded(flavour, "plain", 1)  # it holds what the first turn said: call_0_0, call_0_1
    again = (Turn("on it: é", CALLS, when=When(position=1)),)
    known = set(re.findall(rb'"(?:call|msg)_\d[^"]*"', bytes(request.body)))
    for unique in (True, False):
        found = decide(request, flavour, Script(again, unique_ids=unique))
        ids = set(re.findall(rb'"(?:call|msg)_\d[^"]*"', b"".join(found.parts)))
        assert len(ids) > 1
        assert ids.isdisjoint(known) is unique


# -- refusals and faults --------------------------------------------------------------------------

ERRORS: Mapping[str, Callable[[Any], tuple[Any, str]]] = {  # where the kind and the words are
    "chat": lambda body: (body["error"]["type"], body["error"]["message"]),
    "responses": lambda body: (body["error"]["type"], body["error"]["message"]),
    "messages": lambda body: (body["error"]["type"], body["error"]["message"]),
    "gemini": lambda body: (body["error"]["status"], body["error"]["message"]),
}
KINDS = {  # by flavour: of 401, 404, 429, 500
    **dict.fromkeys(
        ("chat", "responses"),
        ("authentication_error", "not_found_error", "rate_limit_error", "server_error"),
    ),
    "messages": ("authentication_error", "not_found_error", "rate_limit_error", "api_error"),
    "gemini": ("UNAUTHENTICATED", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INTERNAL"),
}


@flavours
def test_errors_have_the_apis_own_form(flavour: Flavour) -> None:
    for status, kind in zip((401, 404, 429, 500), KINDS[flavour.name], strict=True):
        found = answer(flavour, "streamed", fault=f"provider:{status}")
        assert (found.status, found.injected, found.content_type) == (
            status, True, "application/json"
        )  # fmt: skip
        words = f"injected provider:{status}: not your fault"
        assert ERRORS[flavour.name](json.loads(found.parts[0])) == (kind, words)


KEYS = {
    "chat": [{"authorization": "Bearer k"}],
    "responses": [{"authorization": "Bearer k"}],
    "messages": [{"x-api-key": "k"}, {"authorization": "Bearer k"}],
    "gemini": [{"x-goog-api-key": "k"}],
}


@flavours
def test_the_key_is_where_its_clients_put_it(flavour: Flavour) -> None:
    request = recorded(flavour, "plain", 0)
    script = Script(TURNS, api_key="k")
    for headers in KEYS[flavour.name]:
        request.headers = headers
        assert decide(request, flavour, script).status == 200
        request.headers = {name: f"{value}x" for name, value in headers.items()}
        assert decide(request, flavour, script).status == 401
    request.headers = {}
    refused = decide(request, flavour, script)
    assert (refused.status, refused.reason) == (401, "wrong key")
    assert ERRORS[flavour.name](json.loads(refused.parts[0]))[1] == flavour.key_place


def test_a_key_of_gemini_may_stand_in_the_address() -> None:
    gemini = next(flavour for flavour in FLAVOURS if flavour.name == "gemini")
    assert gemini.key({}, "/v1beta/models/m:streamGenerateContent?alt=sse&key=k") == "k"


@flavours
def test_an_illegal_and_an_unscripted_request_are_refused(flavour: Flavour) -> None:
    illegal = Received("POST", recorded(flavour, "plain", 0).path, {}, bytearray(b"{}"))
    assert decide(illegal, flavour, Script(TURNS)).reason.startswith("illegal request: ")
    found = decide(recorded(flavour, "plain", 1), flavour, Script(TURNS[:1]))
    assert (found.status, found.reason) == (400, "unscripted: no turn answers this transcript")
    assert "which ends in: system user assistant tool tool" in ERRORS[flavour.name](
        json.loads(found.parts[0])
    )[1]  # fmt: skip


@flavours
def test_a_cut_stream_has_told_its_usage_or_not(flavour: Flavour) -> None:
    whole = answer(flavour, "streamed")
    telling = len(whole.parts) - flavour.after_usage  # so many events, and it is told
    for count in range(len(whole.parts) + 1):
        cut = answer(flavour, "streamed", fault=f"provider:cut@{count}")
        assert cut.parts == whole.parts[:count]
        assert (cut.usage is not None) == (count >= telling)
    assert any(b"13" in part for part in whole.parts[telling - 1 : telling])  # what the reply took


@flavours
def test_a_malformed_stream_breaks_one_event(flavour: Flavour) -> None:
    whole = answer(flavour, "streamed").parts
    first, broken, last = answer(flavour, "streamed", fault="provider:malformed").parts
    assert (first, last) == (whole[0], whole[-1])
    assert whole[0].startswith(broken.removesuffix(b"\n\n"))
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        events([broken])


@flavours
@both
def test_bad_utf8_is_in_what_the_model_says(flavour: Flavour, how: str) -> None:
    parts = answer(flavour, how, fault="provider:bad-utf8").parts
    assert b"".join(parts).replace(b"\xff", b"") == b"".join(answer(flavour, how).parts)
    with pytest.raises(UnicodeDecodeError):
        b"".join(parts).decode()


@flavours
@both
def test_an_answer_can_be_whole_but_for_why_it_ended(flavour: Flavour, how: str) -> None:
    found = answer(flavour, how, fault="provider:no-finish")
    text, calls, why = HEAR[flavour.name](list(found.parts), streamed=how == "streamed")
    assert (text, len(calls), why) == ("on it: é", 2, None)
    assert found.usage is not None
