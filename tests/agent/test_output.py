"""What people and scripts see while the agent works."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.new_facts import NewFact, assistant_message, step_failed, tool_result, tool_started
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


def test_spaces_and_joiners_of_other_scripts_are_no_control_characters() -> None:
    text = "你好\u3000世界 e\u0301 👩\u200d👩\u200d👧 नम\u200dस्"
    assert printable(text) == text


FAILED = stamped(
    step_failed(operation_id=ID, step_id=ID, attempt_id=ID, error={"code": "c", "message": "m"})
)


def test_a_streamed_reply_is_shown_as_it_comes_and_once() -> None:
    out, err = io.StringIO(), io.StringIO()
    output = Output(out, err, events=False)
    output.text("do")
    assert out.getvalue() == "do"
    output.text("ne\x1b[2J\né")
    output.fact(ANSWER)
    output.fact(INTENT)
    assert out.getvalue() == "done\\x1b[2J\né\n"
    output.fact(ANSWER)  # one that was not streamed
    assert out.getvalue() == "done\\x1b[2J\né\n" * 2


@pytest.mark.parametrize("ends", [lambda o: o.fact(FAILED), lambda o: o.outcome(Outcome("idle"))])
def test_a_reply_that_breaks_off_ends_its_line(ends: Callable[[Output], None]) -> None:
    out, err = io.StringIO(), io.StringIO()
    output = Output(out, err, events=False)
    output.text("half")
    ends(output)
    assert out.getvalue() == "half\n"


def test_people_are_told_that_nothing_of_a_broken_reply_is_kept() -> None:
    err = io.StringIO()
    output = Output(io.StringIO(), err, events=False)
    output.fact(FAILED)
    assert err.getvalue() == ""
    output.text("half")
    output.fact(FAILED)
    assert err.getvalue() == "the reply broke off; nothing of it is kept\n"


def test_scripts_see_no_text_before_it_is_durable() -> None:
    out = io.StringIO()
    output = Output(out, io.StringIO(), events=True)
    output.text("half")
    output.fact(ANSWER)
    (event,) = (json.loads(line) for line in out.getvalue().splitlines())
    assert event["event"] == "assistant"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_replies_are_watched_on_a_terminal_without_events() -> None:
    assert Output(Terminal(), io.StringIO(), events=False).on_terminal
    assert not Output(Terminal(), io.StringIO(), events=True).on_terminal
    assert not Output(io.StringIO(), Terminal(), events=False).on_terminal
