"""Rule L11 and what an abort means for the others: the smallest story that breaks each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import Ended, Evidence
from tests.judge.build import BASH, COMMAND, TOOL_PID, Story, broken, deploy, ids, live, plain


def asking(**facts: Any) -> Story:
    """A request is held back when SIGINT comes."""
    story = Story("say it", **facts).launch("run").header().prompt().attempt()
    return story.held().signal()


def working(*calls: tuple[str, object], **facts: Any) -> Story:
    """A tool has had its effect and is still at work when SIGTERM comes."""
    story = Story("deploy it", **facts).launch("run").header().prompt().attempt().request()
    story.reply(*(calls or (BASH,))).intent().exec().effect()
    return story.signal("effect:deploy#1/after", "TERM")


def stopped(story: Story) -> Story:
    """The rest of a good abort of a request."""
    return story.step_failed("aborted").finish("aborted").end(130)


# -- good ones -----------------------------------------------------------------------------------


def test_a_request_that_is_aborted_in_the_right_order() -> None:
    assert broken(stopped(asking().abort().cut_off()).idle().probe().evidence()) == []


def test_a_tool_that_is_aborted_in_the_right_order() -> None:
    story = working(BASH, BASH).abort("tool", toolCallId="call_0").ended()
    story.result(outcome="interrupted").unstarted("aborted", 1).finish("aborted").end(130)
    assert broken(story.idle().probe().evidence()) == []


def test_an_end_that_was_durable_first_stands() -> None:
    story = Story("say it").launch("run").header().prompt().attempt().request().reply("said")
    story.signal("log:operationFinished#1/before").finish().end()
    assert broken(story.idle().probe().evidence()) == []


def test_a_second_signal_changes_nothing() -> None:
    story = asking().abort().signal("log:abortRequested#1/after").cut_off()
    assert broken(stopped(story).idle().probe().evidence()) == []


def test_what_the_death_of_the_target_cancels_is_not_its_doing() -> None:
    story = Story("say it").launch("run", "log:abortRequested#1/before").header().prompt()
    story.attempt().held().signal().cut_off().ended().abort().dead()
    assert broken(story.evidence()) == []


def test_it_hides_nothing_that_a_later_launch_cancels() -> None:
    story = Story("say it").launch("run", "log:abortRequested#1/before").header().prompt()
    story.attempt().held().signal().cut_off().abort().dead().launch("resume").attempt(2).held()
    story = stopped(story.signal().cut_off().abort())
    assert "L11" in ids(story.evidence())


def test_an_abort_after_a_crash() -> None:
    story = Story("deploy it", steps=("run", "abort"))
    story.launch("run", "log:toolResult[bash]#1/before").header().prompt().attempt().request()
    story.reply(BASH).intent().exec().effect().result().dead()
    story.launch("abort").abort("tool", toolCallId="call_0").result(outcome="interrupted")
    story.finish("aborted").end(130)
    assert broken(story.idle().probe().evidence(deploy().idle().evidence())) == []


# -- the order -----------------------------------------------------------------------------------


def test_a_request_is_cancelled_before_the_abort_is_durable() -> None:
    story = stopped(asking().cut_off().abort())
    assert broken(story.idle().probe().evidence()) == [
        "L11: something was cancelled before the abort was durable: expected abortRequested first, "
        "found request 1 cut off at launch 1 (run), line 2, seq 2, event 6"
    ]


def test_the_request_that_was_cut_off_is_told() -> None:
    story = Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().exec().effect().result().attempt().held().signal("provider:2/request")
    found = broken(stopped(story.cut_off().abort()).evidence())
    assert any("found request 2 cut off" in message for message in found)


def test_a_tool_is_ended_before_the_abort_is_durable() -> None:
    story = working().ended().abort("tool", toolCallId="call_0").result(outcome="interrupted")
    (message,) = broken(story.finish("aborted").end(130).idle().probe().evidence())
    assert "L11: something was cancelled before the abort was durable" in message
    assert f"found {f'sh -c {COMMAND}'!r} ended by signal 15 at launch 1" in message


@pytest.mark.parametrize(
    ("left", "ends", "excused"),
    [
        (("sleep", "9"), ("sleep", "9"), True),  # the same that the end of the call kills anyway
        (("sleep", "9"), ("sh", "-c", "wait"), True),  # it had come to another program
        (("sleep", "9"), ("sh", "-c", COMMAND), False),  # the tool itself
        (None, ("sleep", "9"), False),
    ],
)
def test_what_a_tool_left_behind_ends_with_its_call(
    left: tuple[str, ...] | None, ends: tuple[str, ...], excused: bool
) -> None:
    known = Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)
    known.intent().exec().effect()
    if left:
        known.event(Ended, pid=TOOL_PID, argv=left, signal=9)
    known.result().attempt().request().reply("deployed").finish().end().idle().probe()
    story = working().event(Ended, pid=TOOL_PID, argv=ends, signal=9)
    story.abort("tool", toolCallId="call_0").result(outcome="interrupted").finish("aborted")
    found = ids(story.end(130).idle().probe().evidence(known.evidence()))
    assert ("L11" in found) is not excused


def test_the_first_thing_that_is_cancelled_too_early_is_told() -> None:
    story = working().ended().ended().abort("tool", toolCallId="call_0")
    story.result(outcome="interrupted").finish("aborted").end(130)
    assert len([m for m in broken(story.evidence()) if m.startswith("L11")]) == 1


def test_an_answer_that_the_schedule_itself_cuts_off_is_not_cancelled() -> None:
    story = Story("say it").launch("run").header().prompt().attempt()
    story.request(status=0, reason="injected provider:reset", injected=True, usage=None)
    story.events.pop()
    story.signal().cut_off().abort()
    assert "L11" not in ids(stopped(story).idle().probe().evidence())


def test_a_signal_that_nobody_heeds() -> None:
    story = Story("deploy it").launch("run").header().prompt().attempt().request()
    story.signal().reply(BASH).intent().exec().effect().result().attempt().request()
    story.reply("deployed").finish().end()
    assert broken(story.idle().probe().evidence()) == [
        "L11: new work began although an abort was asked for: expected abortRequested first, found "
        "log:toolStarted[bash]#1 at launch 1 (run), line 2, seq 2, event 8"
    ]


@pytest.mark.parametrize("at", ["log:runStarted#1/after", "effect:deploy#1/before"])
def test_the_first_write_after_it_is_new_work(at: str) -> None:
    story = Story("say it").launch("run").header().prompt().signal(at).attempt().abort()
    found = broken(stopped(story).evidence())
    assert any("new work began although" in message for message in found)


def test_the_write_at_which_the_signal_comes_is_no_new_work() -> None:
    story = Story("say it").launch("run").header().prompt().signal("log:stepAttempt#1/before")
    assert broken(stopped(story.attempt().abort()).idle().probe().evidence()) == []


def test_an_attempt_that_is_closed_as_aborted_before_the_abort() -> None:
    story = asking().step_failed("aborted").abort().finish("aborted").end(130)
    assert [m.partition(":")[2].partition(" at ")[0] for m in broken(story.evidence())] == [
        " an attempt was closed as aborted before the abort was durable: expected abortRequested "
        "first, found stepFailed"
    ]


# -- the abort wins ------------------------------------------------------------------------------


def answered() -> Story:
    """A run whose answer and whose signal come at once."""
    return Story("say it").launch("run").header().prompt().attempt().request().signal()


LATE: list[tuple[Callable[[], Story], str]] = [
    (lambda: answered().abort().reply("said").finish("aborted"), "assistant"),
    (
        lambda: working().abort("tool", toolCallId="call_0").result().finish("aborted"),
        "toolResult success",
    ),
    (
        lambda: (
            working().abort("tool", toolCallId="call_0").result(outcome="error").finish("aborted")
        ),
        "toolResult error",
    ),
]


@pytest.mark.parametrize(("tell", "found"), LATE)
def test_a_late_success_is_recorded(tell: Callable[[], Story], found: str) -> None:
    (message,) = broken(tell().end(130).idle().probe().evidence())
    assert message.partition(" at ")[0] == (
        "L11: a late success was recorded after the abort: expected only what closes it, "
        f"found {found}"
    )


def test_a_completed_end_after_the_abort() -> None:
    story = Story("say it").launch("run").header().prompt().attempt().request().reply("said")
    story.signal("log:assistant#1/after").abort().finish().end()
    assert "L11" in ids(story.evidence())


def test_a_summary_after_the_abort() -> None:
    story = plain(steps=("run", "compact")).launch("compact").compact(1).attempt()
    story.request([{"role": "user", "content": "say it"}]).signal().abort("compact")
    story.summarised().finish("aborted").end(130)
    (message,) = broken(story.idle().probe().evidence())
    assert "found compaction" in message


def test_of_an_operation_the_first_that_is_late_is_told() -> None:
    story = working().abort("tool", toolCallId="call_0").result().attempt().request()
    story.reply("deployed").finish("aborted").end(130)
    assert len([m for m in broken(story.evidence()) if "late success" in m]) == 1


# -- the abort launch ----------------------------------------------------------------------------


def crashed() -> Story:
    story = Story("say it", steps=("run", "abort")).launch("run", "log:assistant#1/before")
    return story.header().prompt().attempt().request().reply("said").dead().launch("abort")


def test_an_abort_launch_that_reconciles_before_it_says_so() -> None:
    story = crashed().step_failed().abort().finish("aborted").end(130)
    assert broken(story.idle().probe().evidence()) == [
        "L11: an abort began with something else: expected abortRequested first, found stepFailed "
        "at launch 2 (abort), line 4, seq 4"
    ]


def test_an_abort_launch_that_goes_on_instead() -> None:
    story = crashed().abort().end(3, stderr="attempts_exhausted")
    assert "L11: an abort did not end its operation: expected aborted, found open" in [
        m.partition(" at ")[0] for m in broken(story.evidence())
    ]


# -- its phase -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tell", "expected", "found"),
    [
        (lambda: stopped(asking().abort("compact").cut_off()), "model", "compact"),
        (
            lambda: (
                working().abort("model").result(outcome="interrupted").finish("aborted").end(130)
            ),
            "tool call_0",
            "model",
        ),
        (
            lambda: (
                working()
                .abort("tool", toolCallId="call_7")
                .result(outcome="interrupted")
                .finish("aborted")
                .end(130)
            ),
            "tool call_0",
            "tool call_7",
        ),
    ],
)
def test_an_abort_that_names_another_phase(
    tell: Callable[[], Story], expected: str, found: str
) -> None:
    (message,) = broken(tell().idle().probe().evidence())
    assert message.startswith(
        f"L11: an abort names another phase: expected {expected}, found {found} at "
    )


def test_an_operation_without_an_abort_hides_no_later_one() -> None:
    story = Story("one", "two").launch("run").header().prompt().attempt().request().reply("said")
    story.finish().end().launch("run").prompt().attempt().held().signal().abort("compact").cut_off()
    found = broken(stopped(story).evidence())
    assert any(message.startswith("L11: an abort names another phase") for message in found)


# -- what it means for the other rules -----------------------------------------------------------


def test_p5_a_request_after_the_abort_even_when_its_attempt_is_closed() -> None:
    story = asking().abort().cut_off().step_failed("aborted").request().finish("aborted").end(130)
    (_, message) = broken(story.evidence())
    assert message.startswith("P5: an aborted operation asked on: expected no request, found one")


def test_r2_an_aborted_operation_ends_with_the_code_of_aborted() -> None:
    story = asking().abort().cut_off().step_failed("aborted").finish("aborted").end(0)
    assert [m.partition(":")[0] for m in broken(story.evidence())] == ["R2"]


@pytest.mark.parametrize(("code", "rules"), [(130, []), (0, []), (1, ["R2"])])
def test_r2_a_signal_after_the_end_may_be_told_or_not(code: int, rules: list[str]) -> None:
    story = Story("say it").launch("run").header().prompt().attempt().request().reply("said")
    story.finish().signal("log:operationFinished#1/after").end(code)
    assert ids(story.evidence()) == rules


def test_r1_a_signal_before_the_prompt_was_accepted_may_keep_it_out() -> None:
    early = Story("one").launch("run").header().signal("log:header#1/after").end(130)
    assert broken(early.evidence()) == []
    quiet = Story("one").launch("run").header().end(130)
    assert ids(quiet.evidence()) == ["R1", "R2"]


def test_r1_a_prompt_that_a_signal_kept_out_is_not_the_next_one() -> None:
    story = Story("go", "go").launch("run").header().signal("log:header#1/after").end(130)
    story.launch("run").prompt("go").attempt().request().reply("said").finish().end()
    story.launches[1] = replace(story.launches[1], step=1)
    assert broken(story.idle().probe().evidence()) == []


def test_r5_an_abort_that_raced_has_two_legal_ends() -> None:
    with_events = stopped(asking().abort().cut_off()).evidence()
    without = plain().evidence()
    killed = Story("say it", expect_outcome="aborted")
    killed.launch("run", "log:abortRequested#1/before").header().prompt().attempt().held()
    killed.signal().abort().dead().launch("resume").attempt(2).request().reply("said").finish()
    assert broken(killed.end().evidence(with_events, without)) == []


def test_r5_an_abort_that_was_durable_is_the_end_whatever_was_killed() -> None:
    story = Story("say it", expect_outcome="aborted").launch("run", "log:abortRequested#1/after")
    story.header().prompt().attempt().held().signal().abort().dead().launch("resume")
    story.attempt(2).request().reply("said").finish().end()
    assert "R5" in ids(story.evidence(plain().evidence()))


def test_r5_what_follows_an_abort_of_the_scenario_is_compared() -> None:
    def two(answer: str) -> Evidence:
        story = Story("one", "two").launch("run").header().prompt().attempt().held().signal()
        stopped(story.abort().cut_off()).launch("run").prompt().attempt().request()
        return story.reply(answer).finish().end().evidence()

    assert "R5" in ids(replace(two("this"), references=(two("that"),)))


def test_r5_an_aborted_end_is_the_beginning_of_the_reference() -> None:
    reference = deploy().evidence()
    story = Story("deploy it", steps=("run", "abort"))
    story.launch("run", "log:toolStarted[bash]#1/before").header().prompt().attempt().request()
    story.reply(("bash", {"command": "another one"})).intent().dead()
    story.launch("abort").abort("tool", toolCallId="call_0").unstarted("aborted")
    (message,) = broken(story.finish("aborted").end(130).evidence(reference))
    assert message.startswith("R5: message 2 of operation 1")


def test_r5_nobody_asked_for_an_abort() -> None:
    story = Story("say it").launch("run").header().prompt().attempt().held().abort().cut_off()
    (message,) = broken(stopped(story).evidence(plain().evidence()))
    assert message.startswith("R5: the end of operation 1: expected completed normal, found abort")


def test_r5_an_expected_abort_that_nothing_prevented() -> None:
    story = plain(expect_outcome="aborted")
    assert ids(story.evidence()) == ["R5"]


def test_e2_an_effect_due_once_may_be_missing_after_an_abort() -> None:
    story = stopped(asking(expect_effects={"deploy": "once"}).abort().cut_off())
    assert broken(story.idle().probe().evidence()) == []


def test_the_good_agent_is_not_moved_by_all_this() -> None:
    story = Story("deploy it").launch("run")
    assert broken(live(story).idle().probe().evidence()) == []
