"""Rules R1 to R4: recoveries that break each, the nearest that do not. See `test_smallest` too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import Evidence
from tests.judge.build import PROBE, TOOL_PID, Story, broken, deploy, ids, live, plain

REFERENCE = deploy().idle().probe().evidence()
TRACEBACK = "Traceback (most recent call last):\n  File …\nKeyError: 'a'\n"


def crashed() -> Story:
    """The prompt was accepted, then the agent died."""
    return live(Story("deploy it").launch("run", "log:runStarted#1/after"))


def changed(story: Story, **fields: Any) -> Evidence:
    """The story, but for what is known of its last launch."""
    story.launches[-1] = replace(story.launches[-1], **fields)
    return story.evidence()


def rules(story: Story) -> list[str]:
    """The R rules that a story breaks."""
    return [m for m in broken(story.evidence()) if m.startswith("R")]


def test_r1_a_session_that_does_not_open() -> None:
    story = crashed().launch("resume").end(4, stderr="corrupt: MALFORMED_JSON at line 2\n")
    assert broken(story.evidence(REFERENCE)) == [
        "R1: the session does not open: expected a session that opens, found exit code 4: stderr "
        "ends 'corrupt: MALFORMED_JSON at line 2' at launch 2 (resume)"
    ]


def test_r1_a_prompt_that_was_never_accepted() -> None:
    story = Story("say it").launch("run").header().end()
    assert broken(story.evidence()) == [
        "R1: a prompt is lost or doubled: expected ['say it'], found [] at launch 1 (run)"
    ]


def test_r1_a_prompt_that_was_accepted_again() -> None:
    story = plain().launch("resume").prompt("say it").attempt().request().reply("said").finish()
    assert broken(story.end().evidence()) == [
        "R1: a prompt is lost or doubled: expected ['say it'], found ['say it', 'say it'] at "
        "launch 2 (resume)"
    ]


def test_r1_a_prompt_that_was_durable_and_is_gone() -> None:
    story = crashed().launch("resume")
    story.overwrite(story.log.splitlines(keepends=True)[0]).end()
    assert (
        "R1: a prompt is lost or doubled: expected ['deploy it'], found [] at launch 2 (resume)"
    ) in broken(story.evidence())


def test_r1_prompts_in_the_wrong_order() -> None:
    story = Story("one", "two").launch("run").header().prompt("two").attempt().request().reply()
    assert "R1" in ids(story.finish().end().evidence())


def test_r1_a_prompt_that_died_before_it_was_durable_may_come_again() -> None:
    story = live(Story("deploy it").launch("run", "log:runStarted#1/torn@30"))
    live(story.launch("run"))
    assert broken(story.idle().probe().evidence(REFERENCE)) == []


def test_r1_a_probe_that_fails() -> None:
    story = plain().idle().launch("probe").prompt(PROBE).attempt().request(status=400)
    assert broken(story.step_failed().finish("failed").end(1).evidence()) == [
        "R1: the probe turn failed: expected completed, with a tool result of success, found "
        "failed, with tool results [] at launch 3 (probe), line 6, seq 8"
    ]


def test_r1_a_probe_that_uses_no_tool() -> None:
    story = plain().idle().launch("probe").prompt(PROBE).attempt().request().reply()
    assert ids(story.finish().end().evidence()) == ["R1"]


def test_r1_a_probe_that_finds_the_session_busy_is_x1s() -> None:
    assert ids(plain().idle().launch("probe").end(5).evidence()) == ["X1"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"exit_code": 1}, "wrong exit code: expected 0, since operation 1 completed, found 1"),
        (
            {"exit_code": None, "signal": 11},
            "an end by a signal of its own: expected an exit code, found signal 11",
        ),
    ],
)
def test_r2_ends(fields: dict[str, Any], message: str) -> None:
    assert broken(changed(plain(), **fields)) == [
        f"R2: {message}: stderr is empty at launch 1 (run)"
    ]


def test_r2_no_end() -> None:
    story = Story("say it").launch("run").header().prompt().attempt()
    story.end(None, signal=9, timed_out=True, seconds=10.04, stacks="MainThread: poll")
    assert broken(story.evidence()) == [
        "R2: no end: expected an end within the limit, found still running after 10.0 s; "
        "MainThread: poll at launch 1 (run)"
    ]


@pytest.mark.parametrize("stderr", [TRACEBACK, "panic: runtime error\n", "node:internal/x:1\n"])
def test_r2_a_target_that_falls_over(stderr: str) -> None:
    story = plain()
    message = broken(changed(story, stderr=story.blobs.put(stderr.encode())))[0]
    assert message.startswith("R2: the target fell over: expected an orderly end, found")


def test_r2_a_tool_may_speak_of_tracebacks() -> None:
    story = plain()
    stderr = story.blobs.put(b"bash said: Traceback (most recent call last):")
    assert broken(changed(story, stderr=stderr)) == []


def failed(**fields: Any) -> Story:
    """A live provider error: the operation failed, and the launch says so."""
    story = Story("say it", **fields).launch("run").header().prompt().attempt()
    return story.request(status=500, usage=None).step_failed().finish("failed")


def test_r2_the_outcome_decides_the_code_of_the_launch_that_wrote_it() -> None:
    assert broken(failed().end(1).idle().probe().evidence()) == []
    assert ids(failed().end(0).idle().probe().evidence()) == ["R2"]


def test_r2_a_resume_that_finds_nothing_to_do_is_0_whatever_came_before() -> None:
    story = Story("say it").launch("run", "log:operationFinished#1/after").header().prompt()
    story.attempt().request(status=500, usage=None).step_failed().finish("failed").dead()
    assert broken(story.launch("resume").end(0).idle().probe().evidence()) == []


def test_r2_a_code_that_the_target_does_not_have_is_not_demanded() -> None:
    codes = {"completed": 0, "failed": -1}
    assert broken(failed(exit_codes=codes).end(7).evidence()) == []


def test_r2_an_end_by_a_signal_is_none_of_the_outcomes_that_the_target_does_not_have() -> None:
    story = plain(exit_codes={"completed": 0}).launch("resume").end(None, signal=11)
    assert ids(story.evidence()) == ["R2"]


@pytest.mark.parametrize(
    ("act", "found"),
    [
        (lambda s: s.append(b"{").cut(), "write on the log"),
        (lambda s: s.effect("x"), "effect 'x'"),
        (lambda s: s.change("x", "y", pid=TOOL_PID), "rename of x"),
        (lambda s: s.request(), "a request to the provider"),
    ],
)
def test_r3_an_idle_resume_that_acts(act: Callable[[Story], Story], found: str) -> None:
    story = act(plain().launch("idle")).end()
    assert rules(story) == [
        "R3: an idle resume was not idle: expected nothing to happen, found "
        f"{found} at launch 2 (idle), event 8"
    ]


def test_r3_a_change_that_no_call_was_seen_to_do() -> None:
    story = plain().launch("idle")
    story.log += b"{"
    assert rules(story.end()) == [
        f"R3: an idle resume changed the log: expected the {len(story.log) - 1} bytes as they "
        f"were, found {len(story.log)} bytes, changed at launch 2 (idle)"
    ]


def test_r3_a_call_that_changes_nothing_of_the_log_is_no_act() -> None:
    assert broken(plain().launch("idle").cut().end().evidence()) == []


def test_r3_a_wrapper_that_starts_the_target_is_no_act() -> None:
    story = plain().launch("idle").exec("/usr/bin/python", "-m", "agent", "idle").end()
    assert broken(story.evidence()) == []


def test_r3_holds_for_a_blocked_session_too() -> None:
    story = exhausted().end(3, stderr="attempts_exhausted").launch("idle").exec("make")
    (message,) = [m for m in rules(story.end(3, stderr="attempts_exhausted")) if "R3" in m]
    assert message.startswith("R3: an idle resume was not idle: expected nothing to happen, found")


@pytest.mark.parametrize(("changed", "silent"), [(("set:AGENT_MODEL=x",), True), ((), False)])
def test_r3_does_not_hold_where_what_held_it_up_was_taken_back(
    changed: tuple[str, ...], silent: bool
) -> None:
    story = Story("deploy it").launch("run", "log:stepAttempt#1/after").header().prompt()
    story.attempt().dead().launch("resume")
    story.end(3, stderr="configuration_changed", changed=changed)
    story.launch("idle").attempt(2).request().reply("said").finish().end()
    assert ([m for m in broken(story.evidence()) if m.startswith("R3")] == []) is silent


def test_r3_is_not_judged_where_the_first_resume_left_work() -> None:
    story = crashed().launch("resume").end(1, stderr=TRACEBACK)
    story.launch("idle").attempt().request().reply("said").finish().end()
    assert [m[:2] for m in broken(story.evidence())] == ["L7", "R2"]


def exhausted() -> Story:
    """Two attempts died in the request: a resume is blocked."""
    story = live(Story("deploy it").launch("run", "log:stepAttempt#1/after"))
    return live(story.launch("resume", "log:stepAttempt#1/after")).launch("resume")


def blocked(story: Story, stderr: str = "blocked: attempts_exhausted") -> list[str]:
    return rules(story.end(3, stderr=stderr))


def test_r4_a_blocked_resume_that_keeps_still() -> None:
    assert blocked(exhausted()) == []


def test_r4_says_what_to_restore() -> None:
    assert blocked(exhausted(), "blocked\n") == [
        "R4: a blocked launch does not say what to restore: expected attempts_exhausted on stderr, "
        "found stderr ends 'blocked' at launch 3 (resume)"
    ]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda s: s.step_failed(),
            "a blocked launch went on: expected no line more, found 1 more at launch 3 (resume)",
        ),
        (
            lambda s: s.exec("make"),
            "a blocked launch acted: expected nothing to happen, found start of 'make' at launch 3 "
            "(resume)",
        ),
    ],
)
def test_r4_does_nothing(act: Callable[[Story], Story], message: str) -> None:
    assert blocked(act(exhausted())) == [f"R4: {message}"]


def test_r4_is_no_end() -> None:
    assert blocked(exhausted().step_failed().finish("failed")) == [
        "R2: wrong exit code: expected 1, since operation 1 failed, found 3: stderr ends 'blocked: "
        "attempts_exhausted' at launch 3 (resume)",
        "R4: a blocked launch changed the session: expected every line kept and the operation "
        "open, found operationFinished as the last fact at launch 3 (resume)",
    ]


def test_r4_needs_a_cause_though_lines_before_the_block_are_allowed() -> None:
    story = live(Story("deploy it").launch("run", "log:toolStarted#1/after"))
    story.launch("resume").result(outcome="interrupted")
    assert blocked(story, "blocked: environment_changed") == [
        "R4: a launch is blocked without cause: expected two attempts used up, since nothing else "
        "was changed, found toolResult as the last fact at launch 2 (resume)"
    ]


def test_r2_after_an_idle_launch_that_finds_an_open_operation_the_next_is_asked_again() -> None:
    story = plain().launch("resume").prompt("say it").attempt().end(0)
    story.launch("idle").end(3).launch("probe").end(1)
    assert [m for m in broken(story.evidence()) if m.startswith("R2")] == [
        "R2: wrong exit code: expected 3, since operation 2 is left open, found 0: stderr is empty "
        "at launch 2 (resume)",
        "R2: wrong exit code: expected 3, since operation 2 is left open, found 1: stderr is empty "
        "at launch 4 (probe)",
    ]
