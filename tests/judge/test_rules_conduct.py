"""Rules L5, L6, L8 beyond what one valid log shows: does its writer keep to the plan?"""

from __future__ import annotations

import pytest

from tests.judge.build import BASH, READ, UNSTARTED, Story, broken, deploy, ids, live

REFERENCE = deploy().idle().probe().evidence()
BAD = ("bash", ["not", "an object"])
UNKNOWN = ("missing", {})


def asked(*calls: tuple[str, object], stop: str | None = None) -> Story:
    """The model made these calls."""
    story = Story("deploy it").launch("run").header().prompt().attempt().request()
    return story.reply(*calls, stop=stop)


def rules(story: Story, rule: str) -> list[str]:
    return [message for message in broken(story.end().evidence()) if message.startswith(rule)]


def test_l5_a_second_attempt_after_a_crash() -> None:
    story = live(Story("deploy it").launch("run", "log:stepAttempt#1/after"))
    live(story.launch("resume"))
    assert broken(story.idle().probe().evidence(REFERENCE)) == []


def test_l5_both_attempts_in_one_launch_that_came_later() -> None:
    story = Story("deploy it").launch("run", "log:toolStarted[bash]#1/before").header().prompt()
    story.attempt().request().reply(BASH).intent().dead().launch("resume").unstarted("unknownTool")
    story.attempt().attempt(2).request().reply("done").finish()
    assert any("both in one launch" in message for message in rules(story, "L5"))


def test_l6_two_calls_at_once() -> None:
    assert len(rules(asked(READ, BASH).intent(0).intent(1).result(0).result(1), "L6")) == 1


def test_l6_a_later_call_that_never_starts_waits_too() -> None:
    story = asked(READ, UNKNOWN).unstarted("unknownTool", 1).intent(0).result(0)
    assert len(rules(story, "L6")) == 1


def test_l6_a_call_that_was_passed_over() -> None:
    story = asked(READ, UNKNOWN, BASH).intent(0).result(0).intent(2).result(2)
    (message,) = rules(story, "L6")
    assert "call 2 of a turn was taken up too early" in message


def test_l6_one_after_the_other() -> None:
    story = asked(READ, UNKNOWN, BASH).intent(0).result(0).unstarted("unknownTool", 1)
    story.intent(2).result(2).attempt().request().reply(BASH).intent(0).result(0)
    assert rules(story, "L6") == []


def test_l8_is_told_of_the_launch_that_answered() -> None:
    story = Story("deploy it").launch("run", "log:toolStarted[bash]#1/before").header().prompt()
    story.attempt().request().reply(BASH).intent().dead().launch("resume").unstarted("truncated")
    (message,) = rules(story, "L8")
    assert "at launch 2 (resume)" in message


@pytest.mark.parametrize(
    ("call", "reason", "held"),
    [
        (BASH, "invalidArguments", "arguments that are no JSON object"),
        (BASH, "truncated", "a reply that was cut"),
        (BASH, "aborted", "an abort"),
    ],
)
def test_l8_a_reason_that_does_not_hold(call: tuple[str, object], reason: str, held: str) -> None:
    assert rules(asked(call).unstarted(reason), "L8") == [
        f"L8: bash call 'call_0' was answered for a wrong reason: expected {held}, for {reason}, "
        "found none at launch 1 (run), line 5, seq 6"
    ]


def test_l8_reasons_that_hold() -> None:
    assert rules(asked(UNKNOWN).unstarted("unknownTool"), "L8") == []
    assert rules(asked(BAD).unstarted("invalidArguments"), "L8") == []
    assert rules(asked(("bash", b'{"command"')).unstarted("invalidArguments"), "L8") == []
    assert rules(asked(("bash", b'{"a":1,"a":2}')).unstarted("invalidArguments"), "L8") == []
    assert rules(asked(BASH, stop="length").unstarted("truncated"), "L8") == []
    assert set(UNSTARTED) == {"unknownTool", "invalidArguments", "truncated", "aborted"}


def test_l8_an_abort_answers_what_never_started() -> None:
    story = asked(BASH).abort(phase="tool", toolCallId="call_0").unstarted("aborted")
    assert rules(story, "L8") == []


def test_l8_a_safe_call_is_repeated_and_not_given_up() -> None:
    assert rules(asked(READ).intent().result(outcome="interrupted"), "L8") == [
        "L8: read call 'call_0' was answered for a wrong reason: expected a call that may not be "
        "repeated, or an abort, for interrupted, found none at launch 1 (run), line 6, seq 7"
    ]
    assert "L8" not in ids(asked(BASH).intent().result(outcome="interrupted").end().evidence())
