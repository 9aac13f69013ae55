"""What people and scripts see while the agent works."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from agent.new_facts import NewFact, assistant_message, tool_result, tool_started
from agent.outcome import Outcome
from agent.output import Output, event_name, printable, shortened

ID = "018f0000-0000-7000-8000-000000000001"


def stamped(fact: NewFact) -> dict[str, Any]:
    return fact.stamp(1, ID, 5)


ANSWER = stamped(
    assistant_message(
        step_id=ID,
        attempt_id=ID,
        stop_reason="stop",
        message={"role": "assistant", "content": "done\x1b[2J\né"},
    )
)
INTENT = stamped(
    tool_started(
        operation_id=ID,
        step_id=ID,
        assistant_entry_id=ID,
        tool_index=0,
        tool_call_id="c",
        tool_name="bash",
        arguments={"command": "x" * 999},
        replay="never",
        replay_key="k",
        result_entry_id=ID,
        environment_identity="e",
    )
)
RESULT = stamped(
    tool_result(
        step_id=ID,
        tool_started_id=ID,
        tool_call_id="c",
        tool_name="bash",
        result="error",
        content="no\n[exit code 1]",
    )
)


def printed(*, events: bool) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    output = Output(out, err, events=events)
    output.session(ID, Path("/w/log"))
    for fact in (ANSWER, INTENT, RESULT):
        output.fact(fact)
    output.outcome(Outcome("failed", "failed: c: m", error={"code": "c", "message": "m"}))
    return out.getvalue(), err.getvalue()


def test_people_get_the_answer_on_stdout_and_the_rest_on_stderr() -> None:
    out, err = printed(events=False)
    assert out == "done\\x1b[2J\né\n"
    lines = err.splitlines()
    assert lines[0] == f"session {ID}"
    assert lines[1].startswith('> bash {"command": "xxx')
    assert len(lines[1]) == 200
    assert lines[2:] == ["< bash error: no [exit code 1]", "failed: c: m"]


def test_scripts_get_an_event_a_line() -> None:
    out, err = printed(events=True)
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["event"] for event in events] == [
        "session",
        "assistant",
        "toolStarted",
        "toolResult",
        "outcome",
    ]
    assert events[1]["fact"] == ANSWER
    assert events[-1]["error"] == {"code": "c", "message": "m"}
    assert err == "failed: c: m\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 😀\n\t", "plain é 😀\n\t"),
        ("\x1b[31m\x07\r\x00", "\\x1b[31m\\x07\\r\\x00"),
        ("a\u202eb\u0085c", "a\\u202eb\\x85c"),
    ],
)
def test_control_characters_are_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_shortened_is_one_line() -> None:
    assert shortened("a\n b\tc", 5) == "a b c"
    assert shortened("a\n b\tcd", 5) == "a b …"


def test_every_fact_has_an_event_name() -> None:
    assert event_name({"kind": "usage"}) == "usage"
    assert event_name({"kind": "entry", "entry": {"type": "compaction"}}) == "compaction"
