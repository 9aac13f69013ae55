"""The crash-only loop: one order of things, live and after a crash at any fact.

A test's model is a pure function of the transcript: the nth reply since the prompt is the nth turn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from agent import new_facts
from agent.configuration import Configuration, Settings
from agent.loop import Loop
from agent.outcome import Outcome
from agent.output import event_name
from agent.reducer import reduce_session
from agent.signals import AbortSwitch
from agent.state import Idle
from agent.store import SessionStore
from agent.tools import BUILTIN_TOOLS
from agent.tools.files import temporary_beside
from tests.agent.support import call, completion, settings

ID = "018f0000-0000-7000-8000-000000000001"
BASE = "http://models.example/v1"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7}
Turn = Mapping[str, Any] | httpx.Response | type[Exception]


@dataclass
class World:
    """A workspace with one session, and a model that follows a script."""

    root: Path
    turns: Sequence[Turn] = ()
    requests: list[dict[str, Any]] = field(default_factory=list)
    facts: list[Mapping[str, Any]] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None
    switch: AbortSwitch = field(default_factory=AbortSwitch)

    @property
    def log(self) -> Path:
        return self.root / f"x_{ID}.jsonl"

    def settings(self, **changes: Any) -> Settings:
        return settings(self.root, base_url=BASE, **changes)

    def open(self) -> SessionStore:
        store = SessionStore.open(self.log, create=True, wait_s=0)
        if not store.is_session:
            store.begin(
                new_facts.header(
                    id=ID,
                    created_at=1,
                    cwd=str(self.root),
                    provider="p",
                    model="m",
                    environment_identity=str(self.root),
                )
            )
        return store

    def run(self, prompt: str = "do it") -> Outcome:
        with self.open() as store:
            loop = self.loop(store)
            loop.accept(prompt)
            return loop.drive()

    def resume(self, configuration: Configuration | None = None) -> Outcome:
        with self.open() as store:
            return self.loop(store, configuration).drive()

    def loop(self, store: SessionStore, configuration: Configuration | None = None) -> Loop:
        configuration = configuration or Configuration.of(self.settings())
        return Loop(store, configuration, self.root, self.facts.append, self.switch)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.watch()
        body = json.loads(request.content)
        self.requests.append(body)
        position = 0
        for message in body["messages"]:
            position = 0 if message["role"] == "user" else position
            position += message["role"] == "assistant"
        turn = self.turns[position]
        if isinstance(turn, httpx.Response):
            return turn
        if isinstance(turn, type):
            raise turn("broken")
        return httpx.Response(200, json=turn)

    def names(self) -> list[str]:
        """The facts of the log, one name each."""
        found = []
        for line in self.log.read_bytes().splitlines()[1:]:
            value = json.loads(line)
            found += [event_name(fact) for fact in (value if isinstance(value, list) else [value])]
        return found

    def messages(self) -> list[dict[str, Any]]:
        return reduce_session(self.log.read_bytes()).transcript

    def last(self) -> Mapping[str, Any]:
        """The last record, without its ids."""
        value = json.loads(self.log.read_bytes().splitlines()[-1])
        return {k: v for k, v in value["record"].items() if not k.endswith("Id")}


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> Iterator[World]:
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    (root / ".agent" / "sessions").mkdir(parents=True)
    world = World(root)
    with world.switch, respx.mock(assert_all_called=False) as router:
        router.post(f"{BASE}/chat/completions").mock(side_effect=world.answer)
        yield world


def calls(*made: Mapping[str, Any], finish_reason: str = "tool_calls") -> dict[str, Any]:
    return completion(None, made, finish_reason, USAGE)


DONE = completion("done", usage=USAGE)


def test_a_plain_answer(world: World) -> None:
    world.turns = [DONE]
    assert world.run() == Outcome("completed")
    assert world.names() == [
        "user",
        "runStarted",
        "stepAttempt",
        "assistant",
        "usage",
        "operationFinished",
    ]
    assert [event_name(fact) for fact in world.facts] == world.names()
    assert world.last() == {
        "type": "operationFinished",
        "operationKind": "run",
        "outcome": "completed",
        "completion": "normal",
    }


def test_prompt_and_run_are_one_transaction_and_so_are_reply_and_usage(world: World) -> None:
    world.turns = [DONE]
    world.run()
    lines = [json.loads(line) for line in world.log.read_bytes().splitlines()[1:]]
    sizes = [len(line) if isinstance(line, list) else 1 for line in lines]
    assert sizes == [2, 1, 2, 1]


def test_nothing_reaches_the_provider_before_its_attempt_is_durable(world: World) -> None:
    def watch() -> None:
        state = reduce_session(world.log.read_bytes())
        operation = state.operation
        assert not isinstance(operation, Idle)
        assert operation.step is not None
        assert operation.step.open
        sent.append(state.active_context)

    sent: list[Any] = []
    world.watch = watch
    world.turns = [calls(call("read", {"path": "a"})), DONE]
    (world.root / "a").write_text("text")
    world.run()
    assert len(sent) == 2
    for context, request in zip(sent, world.requests, strict=True):
        assert request["messages"][0]["role"] == "system"
        assert request["messages"][1:] == context[: len(request["messages"]) - 1]


def test_nothing_reaches_the_world_before_its_intent_is_durable(world: World) -> None:
    world.turns = [calls(call("bash", {"command": f"tail -n 1 '{world.log}' > seen"})), DONE]
    world.run()
    seen = json.loads((world.root / "seen").read_bytes())
    assert seen["record"]["type"] == "toolStarted"
    assert seen["record"]["replay"] == "never"


def test_results_come_in_order_and_the_model_is_told_of_each(world: World) -> None:
    world.turns = [
        calls(
            call("write", {"path": "a", "content": "text"}, "c1"),
            call("nope", {}, "c2"),
            call("read", "{not json", "c3"),
            call("read", {"path": 5}, "c4"),
            call("bash", {"command": "cat a; exit 4"}, "c5"),
        ),
        DONE,
    ]
    assert world.run().kind == "completed"
    told = [(m["tool_call_id"], m["content"]) for m in world.messages() if m["role"] == "tool"]
    assert told == [
        ("c1", "Wrote 4 bytes to a."),
        ("c2", "Error: Unknown tool; the tool was not executed."),
        ("c3", "Error: Tool arguments were invalid; the tool was not executed."),
        ("c4", "Error: expected the argument 'path' to be a string"),
        ("c5", "text\n[exit code 4]"),
    ]
    assert world.names().count("toolStarted") == 3  # c1, c4 and c5


FAILURES: dict[str, tuple[Turn, str]] = {
    "server error": (httpx.Response(500, json={"error": {"message": "down"}}), "http_500"),
    "rate limit": (httpx.Response(429, text="slow down"), "http_429"),
    "timeout": (httpx.ReadTimeout, "timeout"),
    "reset": (httpx.ReadError, "connection_lost"),
    "malformed": (httpx.Response(200, json={"choices": []}), "malformed_reply"),
    "equal ids": (calls(call("read", {}), call("read", {})), "malformed_reply"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_attempt_fails_the_operation_and_is_never_tried_again(
    world: World, name: str
) -> None:
    turn, code = FAILURES[name]
    world.turns = [turn]
    outcome = world.run()
    assert outcome.kind == "failed"
    assert outcome.error is not None
    assert outcome.error["code"] == code
    assert code in outcome.message
    assert len(world.requests) == 1
    assert [n for n in world.names() if n != "usage"] == [
        "user",
        "runStarted",
        "stepAttempt",
        "stepFailed",
        "operationFinished",
    ]
    world.turns = [DONE]
    assert world.run("another prompt").kind == "completed"  # the session can be used again


def test_usage_of_a_malformed_reply_goes_with_its_failure(world: World) -> None:
    world.turns = [completion("cut", [], "length", USAGE)]
    world.run()
    assert reduce_session(world.log.read_bytes()).usage["input"] == 11


def test_usage_that_the_log_cannot_add_up_is_left_out(world: World) -> None:
    huge = {"prompt_tokens": 2**53 - 1, "completion_tokens": 1}
    world.turns = [completion("done", usage=huge)]
    assert world.run().kind == "completed"
    assert world.run("again").kind == "completed"
    assert world.names().count("usage") == 1


def test_a_blank_answer_is_a_failure(world: World) -> None:
    world.turns = [completion("  \n")]
    outcome = world.run()
    assert outcome.kind == "failed"
    assert outcome.error is not None
    assert outcome.error["code"] == "empty_response"


def test_calls_cut_by_the_token_limit_are_not_run(world: World) -> None:
    world.turns = [calls(call("bash", '{"command":"touch x'), finish_reason="length")]
    assert world.run().kind == "completed"
    assert world.last()["completion"] == "truncated"
    assert not (world.root / "x").exists()


SCRIPT = [
    calls(
        call("read", {"path": "in"}, "c1"),
        call("bash", {"command": "echo deploy >> ../effects"}, "c2"),
        call("write", {"path": "out", "content": "text"}, "c3"),
        call("nope", {}, "c4"),
    ),
    calls(call("read", {"path": "out"}, "c1")),
    completion("done", usage=USAGE),
]


def test_a_crash_at_any_byte_is_met_by_a_resume(world: World) -> None:
    """Every prefix of a log is a crash image; of torn lines, one inside each line is tried."""
    world.turns = SCRIPT
    (world.root / "in").write_text("input")
    effects = world.root.parent / "effects"
    world.run()
    whole, told = world.log.read_bytes(), world.messages()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 0x0A][1:]
    assert len(ends) == 17
    for end in sorted({*ends, *(end + 20 for end in ends[:-1])}):
        effects.write_text("")
        world.log.write_bytes(whole[:end])
        assert world.resume().kind in ("completed", "idle"), end
        log = world.log.read_bytes()
        prefix = whole[:end].rpartition(b"\n")[0] + b"\n"
        assert log.startswith(prefix)
        assert effects.read_text().count("deploy") <= 1
        messages = world.messages()
        assert [m["role"] for m in messages] == [m["role"] for m in told]
        world.requests.clear()
        assert world.resume().kind == "idle"  # a second resume has nothing to do
        assert world.log.read_bytes() == log
        assert not world.requests


def crash_after(world: World, name: str, ordinal: int = 1) -> None:
    """Cut the log behind the nth fact of that name."""
    kept, seen = b"", 0
    for line in world.log.read_bytes().splitlines(keepends=True):
        kept += line
        value = json.loads(line)
        facts = value if isinstance(value, list) else [value]
        seen += sum(event_name(f) == name for f in facts if f["kind"] != "header")
        if seen == ordinal:
            world.log.write_bytes(kept)
            return
    raise AssertionError(f"no {name}#{ordinal} in the log")


def test_an_interrupted_effect_is_told_and_not_repeated(world: World) -> None:
    world.turns = SCRIPT
    (world.root / "in").write_text("input")
    world.run()
    crash_after(world, "toolStarted", 2)
    world.resume()
    assert (world.root.parent / "effects").read_text() == "deploy\n"
    result = next(m for m in world.messages() if m.get("tool_call_id") == "c2")
    assert result["content"].startswith("Operation interrupted")


def test_an_interrupted_read_is_replayed_under_its_reserved_id(world: World) -> None:
    world.turns = [calls(call("read", {"path": "in"})), DONE]
    (world.root / "in").write_text("input")
    world.run()
    crash_after(world, "toolStarted")
    (world.root / "in").write_text("changed")
    assert world.resume().kind == "completed"
    assert world.messages()[2]["content"] == "changed"
    assert world.names().count("toolStarted") == 1


def test_a_request_that_died_is_asked_once_more_and_no_third_time(world: World) -> None:
    world.turns = [DONE]
    world.run()
    crash_after(world, "stepAttempt")
    once = world.log.read_bytes()
    assert world.resume().kind == "completed"
    assert world.names().count("stepAttempt") == 2
    crash_after(world, "stepAttempt", 2)
    twice = world.log.read_bytes()
    outcome = world.resume()
    assert (outcome.kind, outcome.reason) == ("blocked", "attempts_exhausted")
    assert world.log.read_bytes() == twice
    assert twice.startswith(once)


BLOCKED: dict[str, tuple[dict[str, Any], str, str]] = {
    "model": ({"model": "other"}, "configuration_changed", "set AGENT_MODEL to test/model"),
    "address": (
        {"base_url": "http://elsewhere.example/v1"},
        "configuration_changed",
        f"set AGENT_BASE_URL to {BASE}",
    ),
    "environment": ({"environment_identity": "moved"}, "environment_changed", "is moved"),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_blocked_changes_nothing_and_says_what_to_restore(world: World, name: str) -> None:
    changes, reason, words = BLOCKED[name]
    world.turns = [DONE]
    world.run()
    crash_after(world, "stepAttempt")
    before, asked = world.log.read_bytes() + b'{"torn', len(world.requests)
    world.log.write_bytes(before)
    changed = Configuration.of(settings(**{"workspace": world.root, "base_url": BASE} | changes))
    outcome = world.resume(changed)
    assert (outcome.kind, outcome.reason) == ("blocked", reason)
    assert words in outcome.message
    assert world.log.read_bytes() == before
    assert len(world.requests) == asked
    assert world.resume().kind == "completed"  # restored


def test_a_changed_or_missing_tool_blocks_what_it_would_answer(world: World) -> None:
    world.turns = SCRIPT
    (world.root / "in").write_text("input")
    world.run()
    crash_after(world, "assistant")
    before = world.log.read_bytes()
    fewer = {name: tool for name, tool in BUILTIN_TOOLS.items() if name != "read"}
    outcome = world.resume(Configuration.of(world.settings(model="other"), fewer))
    assert outcome.reason == "configuration_changed"
    assert "the tool read is gone" in outcome.message
    assert "AGENT_MODEL" not in outcome.message  # a settled step is not held up by its model
    assert world.log.read_bytes() == before


def test_a_tool_that_was_not_offered_is_unknown_without_an_intent(world: World) -> None:
    world.turns = [calls(call("bash", {"command": "touch x"})), DONE]
    fewer = {name: tool for name, tool in BUILTIN_TOOLS.items() if name != "bash"}
    with world.open() as store:
        loop = world.loop(store, Configuration.of(world.settings(), fewer))
        loop.accept("go")
        loop.drive()
    crash_after(world, "assistant")
    assert world.resume().kind == "completed"
    assert world.messages()[2]["content"].startswith("Error: Unknown tool")
    assert "toolStarted" not in world.names()
    assert not (world.root / "x").exists()


def test_the_temporary_file_of_a_killed_write_is_swept(world: World) -> None:
    world.turns = [calls(call("write", {"path": "d/out", "content": "text"})), DONE]
    world.run()
    crash_after(world, "toolStarted")
    operation = reduce_session(world.log.read_bytes()).operation
    assert not isinstance(operation, Idle)
    result_id = operation.to_json()["toolCalls"][0]["resultEntryId"]
    left = temporary_beside(world.root / "d" / "out", result_id)
    left.write_text("te")
    assert world.resume().kind == "completed"
    assert [path.name for path in (world.root / "d").iterdir()] == ["out"]


def abort(world: World, phase: str, call_id: str | None = None) -> None:
    """Add a durable abort, as another program would have written it."""
    with world.open() as store:
        operation = store.state.operation
        assert not isinstance(operation, Idle)
        store.append(
            new_facts.abort_requested(
                operation_id=operation.operation_id,
                operation_kind="run",
                phase=phase,
                tool_call_id=call_id,
            )
        )


@pytest.mark.parametrize(
    ("crash", "phase", "added"),
    [
        ("stepAttempt", "model", ["stepFailed", "operationFinished"]),
        ("toolStarted", "tool", ["toolResult"] * 4 + ["operationFinished"]),
        ("runStarted", "model", ["operationFinished"]),
    ],
)
def test_a_durable_abort_is_brought_to_its_end(
    world: World, crash: str, phase: str, added: list[str]
) -> None:
    world.turns = SCRIPT
    world.run()
    crash_after(world, crash)
    before = len(world.names())
    world.requests.clear()
    abort(world, phase, "c1" if phase == "tool" else None)
    outcome = world.resume()
    assert (outcome.kind, int(outcome.exit_code)) == ("aborted", 130)
    assert world.names()[before:] == ["abortRequested", *added]
    assert not world.requests
