"""The adapter over a mocked transport: what goes out, what comes back, what fails and how."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import respx

from agent.configuration import Configuration
from agent.provider import Limits, Provider
from agent.reply import FailedAttempt, MalformedReply
from tests.agent.support import SECRET, call, completion, configuration

BASE = "http://models.example/api/v1"
CONTEXT = [{"role": "user", "content": "hi \u2028 there"}]


@pytest.fixture(name="configured", scope="module")
def _configured() -> Configuration:
    return configuration(base_url=BASE)


@pytest.fixture(name="route")
def _route() -> Iterator[respx.Route]:
    with respx.mock(assert_all_called=False) as router:
        yield router.post(f"{BASE}/chat/completions")


@pytest.fixture(name="complete")
def _complete(configured: Configuration) -> Iterator[Callable[[], Any]]:
    provider = Provider(configured.settings)
    yield lambda: provider.complete(configured, CONTEXT, print)
    provider.close()


def test_a_request_is_system_message_context_and_tools(
    route: respx.Route, complete: Callable[[], Any], configured: Configuration
) -> None:
    route.respond(json=completion("hello"))
    assert complete().message["content"] == "hello"
    request = route.calls.last.request
    body = json.loads(request.content)
    assert body["model"] == "test/model"
    assert body["messages"] == [{"role": "system", "content": configured.system_prompt}, *CONTEXT]
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == ["read", "write", "edit", "bash"]
    assert "stream" not in body
    assert request.headers["authorization"] == f"Bearer {SECRET}"


def test_the_system_prompt_is_the_same_today_and_tomorrow(configured: Configuration) -> None:
    assert configured.snapshot == configuration(base_url=BASE).snapshot
    assert SECRET not in json.dumps(configured.snapshot)


def test_a_stream_is_read_because_of_its_content_type(route: respx.Route) -> None:
    events = [
        {"choices": [{"delta": {"tool_calls": [call("bash", '{"com') | {"index": 0}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '":1}'}}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]
    body = "".join(f": wait\n\ndata: {json.dumps(event)}\n\n" for event in events)
    route.respond(text=body + "data: [DONE]\n\n", headers={"content-type": "text/event-stream"})
    streaming = configuration(base_url=BASE, stream=True)
    provider = Provider(streaming.settings)
    reply = provider.complete(streaming, CONTEXT, print)
    provider.close()
    assert reply.message["tool_calls"] == [call("bash", '{"com":1}')]
    assert json.loads(route.calls.last.request.content)["stream"] is True


@pytest.mark.parametrize("status", [301, 400, 401, 404, 429, 500, 503])
def test_every_other_status_fails_and_nothing_is_tried_again(
    route: respx.Route, complete: Callable[[], Any], status: int
) -> None:
    error = {"error": {"message": f"no: {SECRET}"}}
    route.respond(status, json=error, headers={"location": f"{BASE}/elsewhere"})
    with pytest.raises(FailedAttempt, match=rf"answered {status}: no: \[API key\]") as caught:
        complete()
    assert caught.value.code == f"http_{status}"
    assert route.call_count == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (httpx.ConnectTimeout, "timeout"),
        (httpx.ReadTimeout, "timeout"),
        (httpx.ConnectError, "connection_failed"),
        (httpx.ReadError, "connection_lost"),
        (httpx.RemoteProtocolError, "connection_lost"),
    ],
)
def test_a_broken_exchange_fails(
    route: respx.Route, complete: Callable[[], Any], error: type[Exception], code: str
) -> None:
    route.side_effect = error
    with pytest.raises(FailedAttempt) as caught:
        complete()
    assert caught.value.code == code
    assert BASE in str(caught.value)
    assert SECRET not in str(caught.value)
    assert route.call_count == 1


def test_an_unknown_content_type_is_malformed(
    route: respx.Route, complete: Callable[[], Any]
) -> None:
    route.respond(text="<html>", headers={"content-type": "text/html"})
    with pytest.raises(MalformedReply, match="text/html"):
        complete()


def test_a_malformed_reply_keeps_its_usage(route: respx.Route, complete: Callable[[], Any]) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    route.respond(json=completion("cut", [], "length", usage))
    with pytest.raises(MalformedReply) as caught:
        complete()
    assert caught.value.usage == {"input": 5, "output": 2, "cacheRead": 0, "cacheWrite": 0}


def test_size_and_time_of_a_reply_are_bounded(
    route: respx.Route, configured: Configuration
) -> None:
    route.respond(json=completion("x" * 1000))
    for limits, code in (
        (Limits(reply_bytes=999), "reply_too_large"),
        (Limits(total_s=-1), "timeout"),
    ):
        provider = Provider(configured.settings, limits)
        with pytest.raises(FailedAttempt) as caught:
            provider.complete(configured, CONTEXT, print)
        provider.close()
        assert caught.value.code == code


def test_the_text_of_an_error_is_not_waited_for_without_end(
    route: respx.Route, configured: Configuration
) -> None:
    route.respond(500, json={"error": {"message": "slowly"}})
    provider = Provider(configured.settings, Limits(total_s=-1))
    with pytest.raises(FailedAttempt, match="answered 500: no text") as caught:
        provider.complete(configured, CONTEXT, print)
    provider.close()
    assert caught.value.code == "http_500"


def test_a_server_that_falls_silent_is_a_timeout() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        silent = configuration(base_url=url, timeout_s=0.05)
        provider = Provider(silent.settings)
        with pytest.raises(FailedAttempt) as caught:
            provider.complete(silent, CONTEXT, print)
        provider.close()
    assert caught.value.code == "timeout"
