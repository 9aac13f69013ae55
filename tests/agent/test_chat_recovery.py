"""What a person who comes back is told of what a kill interrupted."""

from __future__ import annotations

from typing import Any

import pytest

from agent import new_facts
from agent.chat_recovery import RecoveryWords, call_words, last_exchange
from agent.new_facts import NewFact
from agent.state import Compaction, Run, ToolIntent
from tests.agent.support import configuration

ID = "018f0000-0000-7000-8000-000000000001"


def intent(tool: str, arguments: dict[str, Any], started: str = "t1", **more: Any) -> ToolIntent:
    return ToolIntent(
        "o", started, "s", "e", 0, "c", tool, arguments, "never", "k", "r", "/w", **more
    )


def words(fact: NewFact, *intents: ToolIntent) -> str:
    """What is said of the first fact after a kill that left these intents."""
    return RecoveryWords(Run("o", "e", tool_calls=list(intents))).of(fact.stamp(1, ID, 5))


def result(kind: str, started: str = "t1") -> NewFact:
    return new_facts.tool_result(
        step_id="s",
        tool_started_id=started,
        tool_call_id="c",
        tool_name="bash",
        result=kind,
        content="text",
    )


INTERRUPTED = new_facts.interrupted_result(
    step_id="s", tool_started_id="t1", tool_call_id="c", tool_name="bash"
)


def attempt(number: int) -> NewFact:
    configured = configuration()
    return new_facts.step_attempt(
        operation_id="o",
        step_id="s",
        attempt_id="a",
        step_kind="assistant",
        attempt=number,
        context_through_entry_id="e",
        configuration_snapshot=configured.snapshot,
        configuration_digest=configured.current.configuration_digest,
    )


def test_an_unknown_effect_is_named_as_the_command_that_it_was() -> None:
    assert words(INTERRUPTED, intent("bash", {"command": "sh deploy.sh"})) == (
        "interrupted: `sh deploy.sh` may have run; it was not run again"
    )


@pytest.mark.parametrize("kind", ["success", "error"])
def test_a_safe_call_was_run_again(kind: str) -> None:
    assert words(result(kind), intent("read", {"path": "a.txt"})) == (
        "replayed: `read a.txt` was interrupted; it changes nothing and was run again"
    )


def test_a_request_is_sent_once_more() -> None:
    assert "sent once more" in words(attempt(2))
    assert words(attempt(1)) == ""


def test_what_is_done_now_needs_no_words() -> None:
    assert words(result("success", "t2"), intent("bash", {"command": "x"})) == ""
    assert words(result("success"), intent("bash", {"command": "x"}, status="completed")) == ""
    assert words(new_facts.user_message("next")) == ""


def test_each_call_is_told_once() -> None:
    told = RecoveryWords(Run("o", "e", tool_calls=[intent("bash", {"command": "x"})]))
    fact = INTERRUPTED.stamp(1, ID, 5)
    assert told.of(fact) != ""
    assert told.of(fact) == ""


def test_what_was_found_is_said_first() -> None:
    assert RecoveryWords(Run("o", "e")).found == (
        "the session has an unfinished operation; going on with it"
    )
    compaction = Compaction("o", "e", "r", "e", 0)
    assert "unfinished compaction" in RecoveryWords(compaction).found


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("bash", {"command": "a\n  b"}, "a b"),
        ("bash", {"command": "x" * 200}, "x" * 119 + "…"),
        ("bash", {"command": 5}, "bash 5"),
        ("write", {"path": "a.txt", "content": "long"}, "write a.txt"),
        ("list", {}, "list"),
    ],
)
def test_a_call_in_words(tool: str, arguments: dict[str, Any], said: str) -> None:
    assert call_words(intent(tool, arguments)) == said


USER = {"role": "user", "content": "go"}
CALLING = {"role": "assistant", "content": "I look.", "tool_calls": []}
SILENT = {"role": "assistant", "content": None, "tool_calls": []}
TOOL = {"role": "tool", "content": "text"}
ANSWER = {"role": "assistant", "content": "done"}


@pytest.mark.parametrize(
    ("transcript", "exchange"),
    [
        ([], ("", "")),
        ([USER], ("go", "")),
        ([USER, ANSWER], ("go", "done")),
        ([USER, CALLING, TOOL, SILENT, TOOL], ("go", "I look.")),
        ([USER, CALLING, TOOL, ANSWER], ("go", "done")),
        ([USER, ANSWER, USER | {"content": "next"}], ("next", "")),
    ],
)
def test_where_the_conversation_was(
    transcript: list[dict[str, Any]], exchange: tuple[str, str]
) -> None:
    assert last_exchange(transcript) == exchange
