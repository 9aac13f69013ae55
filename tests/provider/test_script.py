"""The script answers as a function of the transcript, and says the same every time."""

from __future__ import annotations

from itertools import chain

import pytest

from chaos.flavours.form import Message
from chaos.provider.script import (
    SUMMARY_PREFIX,
    ToolCall,
    Turn,
    When,
    answer,
    reply_of,
    reported_usage,
)


def user(text: str = "go") -> Message:
    return Message("user", text)


def called() -> Message:
    return Message("assistant")


def result(text: str = "ok") -> Message:
    return Message("tool", text, result_of="a")


def said(text: str = "done") -> Message:
    return Message("assistant", text)


def chosen(turns: list[Turn], *messages: Message) -> str | None:
    """The content of the turn that answers."""
    found = answer(turns, messages)
    if found is None:
        return None
    index, turn = found
    assert turns[index] is turn
    return turn.content


# -- which turn answers -------------------------------------------------------------------------


def test_turns_without_when_are_answered_by_position() -> None:
    turns = [Turn("first"), Turn("second")]
    assert chosen(turns, user()) == "first"
    assert chosen(turns, user(), called(), result()) == "second"
    assert chosen(turns, user(), called(), result(), called(), result()) is None


def test_position_counts_from_the_last_user_message() -> None:
    turns = [Turn("first"), Turn("second")]
    assert chosen(turns, user(), called(), result(), said(), user("again")) == "first"


def test_the_same_transcript_gets_the_same_answer_however_often_it_is_asked() -> None:
    turns = [Turn("first"), Turn("second")]
    assert [chosen(turns, user()) for _ in range(3)] == ["first"] * 3


@pytest.mark.parametrize(
    ("when", "messages", "applies"),
    [
        (When(prompt="go"), [user("go")], True),
        (When(prompt="go"), [user("go on")], False),  # equal, not contained
        (When(prompt="go"), [user("go"), said(), user("stop")], False),
        (When(prompt="go"), [user("go"), called(), result()], True),
        (When(last_result="unknown"), [user(), called(), result("status unknown;")], True),
        (When(last_result="unknown"), [user(), called(), result("fine")], False),
        (When(last_result="unknown"), [user(), called(), result("unknown"), said(), user()], False),
        (When(last_result=""), [user()], True),
        (When(summary=True), [user(SUMMARY_PREFIX + "we did it"), said(), user()], True),
        (When(summary=True), [user()], False),
        (When(summary=False), [user()], True),
        (When(position=0), [user()], True),
        (When(position=1), [user()], False),
        (When(position=1), [user(), called(), result()], True),
        (When(prompt="go", position=1), [user("go"), called(), result()], True),
        (When(prompt="go", position=1), [user("no"), called(), result()], False),
        (When(), [user()], True),
    ],
)  # fmt: skip
def test_when(when: When, messages: list[Message], applies: bool) -> None:
    assert when.applies(messages) is applies


def test_a_turn_whose_when_applies_wins_over_position() -> None:
    turns = [Turn("first"), Turn("second"), Turn("sorry", when=When(last_result="unknown"))]
    assert chosen(turns, user(), called(), result("ok")) == "second"
    assert chosen(turns, user(), called(), result("unknown")) == "sorry"


def test_turns_of_the_same_prompt_follow_each_other() -> None:
    turns = [
        *[Turn("other")] * 9,
        Turn("probe 1", when=When(prompt="probe")),
        Turn("probe 2", when=When(prompt="probe")),
    ]
    assert chosen(turns, user("probe")) == "probe 1"
    assert chosen(turns, user("probe"), called(), result()) == "probe 2"
    # What the script has not foreseen is not answered from another prompt's lines.
    assert chosen(turns, user("probe"), called(), result(), called(), result()) is None
    assert chosen(turns, user("x")) == "other"


def test_the_nth_turn_answers_the_nth_time_its_when_applies() -> None:
    unknown = When(last_result="unknown")
    turns = [Turn("a"), Turn("b"), Turn("sorry", when=unknown), Turn("again", when=unknown)]
    once = [user(), called(), result("unknown")]
    assert chosen(turns, *once) == "sorry"
    assert chosen(turns, *once, called(), result("unknown")) == "again"
    # An answer by position in between does not count.
    assert chosen(turns, user(), called(), result("fine"), called(), result("unknown")) == "sorry"


def test_the_first_when_with_a_turn_left_answers() -> None:
    turns = [
        Turn("by prompt", when=When(prompt="go")),
        Turn("by result", when=When(prompt="go", last_result="unknown")),
    ]
    assert chosen(turns, user("go")) == "by prompt"
    assert chosen(turns, user("go"), called(), result("unknown")) == "by result"
    assert chosen(turns, user("go"), called(), result("fine")) is None


# -- what it says -------------------------------------------------------------------------------


def test_usage_is_of_distinct_primes_so_that_double_counting_shows() -> None:
    counters = [reported_usage(Turn("x"), index) or {} for index in range(20)]
    numbers = list(chain.from_iterable(usage.values() for usage in counters))
    assert len(set(numbers)) == len(numbers) == 60
    assert all(number % divisor for number in numbers for divisor in range(2, number))
    assert all(usage["cached_tokens"] < usage["prompt_tokens"] for usage in counters)


@pytest.mark.parametrize(
    ("turn", "stop"),
    [
        (Turn("done"), "stop"),
        (Turn(None, (ToolCall("bash", "{}"),)), "tool_calls"),
        (Turn(None, (ToolCall("bash", "{"),), finish_reason="length"), "length"),
        (Turn(message={"tool_calls": [{}]}), "tool_calls"),
    ],
)
def test_why_it_stopped_follows_from_the_calls(turn: Turn, stop: str) -> None:
    assert reply_of(turn, 0).stop == stop


def test_a_content_can_be_repeated() -> None:
    assert reply_of(Turn("ab", repeat=3), 0).text == "ababab"


def test_calls_are_named_after_their_turn_unless_they_have_a_name() -> None:
    turn = Turn(tool_calls=(ToolCall("bash", "{}"), ToolCall("bash", "{}", id="mine")))
    assert [call.id for call in reply_of(turn, 4).calls] == ["call_4_0", "mine"]


def test_a_call_gets_no_id_that_is_known() -> None:
    turn = Turn(tool_calls=(ToolCall("bash", "{}"), ToolCall("bash", "{}", id="mine")))
    known = {"call_4_0", "call_4_0_2", "mine"}
    assert [call.id for call in reply_of(turn, 4, known).calls] == ["call_4_0_3", "mine"]
