"""What the rules excuse, and what they do not, where an event befell a launch: an error of the
disk, a signal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.evidence import Injected
from tests.judge.build import AGENT_PID, BASH, WRITE, Story, broken, deploy, ids
from tests.judge.test_rules_rivals import asked, rest

REFERENCE = deploy().idle().probe().evidence()


def failing(story: Story, at: str = "log:toolResult[bash]#1") -> Story:
    log = story.blobs.put(story.log)
    return story.event(Injected, pid=AGENT_PID, do="errno:ENOSPC", call="write", log=log, at=at)


def killed_by_the_disk(code: int, stderr: str, at: str = "log:toolResult[bash]#1") -> Story:
    story = failing(asked().intent().exec().effect(), at).end(code, stderr=stderr)
    story.launch("resume").result(outcome="interrupted").attempt().request().reply("deployed")
    return story.finish().end().idle().probe()


def test_r2_a_write_that_failed_is_a_failure() -> None:
    assert broken(killed_by_the_disk(1, "no space left").evidence(REFERENCE)) == []


def test_r2_a_write_that_failed_is_told() -> None:
    assert broken(killed_by_the_disk(1, "").evidence(REFERENCE)) == [
        "R2: a write failed, and nothing was said: expected a word on stderr, found none at launch "
        "1 (run)"
    ]


def test_r2_a_write_that_failed_is_no_success() -> None:
    (message,) = broken(killed_by_the_disk(0, "no space left").evidence(REFERENCE))
    assert message.startswith("R2: wrong exit code: expected 3, since operation 1 is left open")


def test_r2_an_error_elsewhere_excuses_nothing() -> None:
    story = killed_by_the_disk(1, "no space left", at="file:write[notes.txt]#1")
    assert ids(story.evidence(REFERENCE)) == ["R2"]


@pytest.mark.parametrize(("code", "found"), [(1, []), (0, ["R1"])])
def test_r1_a_prompt_that_could_not_be_written_is_not_accepted(code: int, found: list[str]) -> None:
    story = failing(Story("deploy it").launch("run").header(), "log:runStarted#1")
    story.end(code, stderr="no space left").launch("run").prompt().attempt().request().reply(BASH)
    assert ids(rest(story).evidence(REFERENCE)) == found


@pytest.mark.parametrize(
    ("do", "call", "at", "may"),
    [
        ("errno:EIO", "fsync", "log:fsync#3", False),
        ("errno:EIO", "fdatasync", "log:fdatasync#3", False),
        ("errno:EINTR", "fsync", "log:fsync#3", True),  # it may be made again
        ("errno:EIO", "fsync", "file:fsync[.agent/sessions/]#1", True),
        ("errno:EIO", "write", "log:toolResult[bash]#1", True),
    ],
)
def test_r2_nothing_more_after_a_failed_sync(do: str, call: str, at: str, may: bool) -> None:
    """A later sync proves nothing: what the first one lost is clean to the kernel."""
    story = asked()
    log = story.blobs.put(story.log)
    story.event(Injected, pid=AGENT_PID, do=do, call=call, log=log, at=at)
    told = (
        "R2: a launch went on although its log could not be synced: expected its end, found write "
        "on the log at launch 1 (run), event 8"
    )
    assert broken(rest(story).evidence(REFERENCE)) == ([] if may else [told])


def test_r5_of_several_errors_a_kill_may_keep_some_from_coming() -> None:
    """Each result is that of one of the runs without a kill."""
    with_errors, without = written("error", "error"), written("success", "success")
    references = (with_errors.evidence(), without.evidence())
    assert broken(written("error", "success", injected=True).evidence(*references)) == []
    assert ids(written("error", "success").evidence(*references)) == ["R5"]
    other = written("error", "success", injected=True, answer="undeployed")
    assert ids(other.evidence(*references)) == ["R5"]
    more = written("error", "success", injected=True, more=True)
    assert ids(more.evidence(*references)) == ["R5"]
    longer = written("success", "success", more=True).evidence()
    assert broken(written("error", "success", injected=True).evidence(*references, longer)) == []
    assert broken(more.evidence(*references, longer)) == []


def written(
    *outcomes: str, injected: bool = False, answer: str = "deployed", more: bool = False
) -> Story:
    """Two calls in one turn that end so."""
    story = Story("deploy it").launch("run").header().prompt().attempt().request()
    story.reply(WRITE, WRITE)
    for index, outcome in enumerate(outcomes):
        story.intent(index)
        if injected and outcome == "error":
            failing(story, "file:write[out.txt]#1")
        story.result(index, outcome, text=outcome)
    if more:
        story.attempt().request().reply(WRITE).intent().result(text="success")
    story.attempt().request().reply(answer)
    return story.finish().end().idle().probe()


def befallen(story: Story, event: str) -> Story:
    """The schedule, and not the scenario, let it happen in the first launch."""
    story.launches[0] = replace(story.launches[0], first=(f"event: {event}",))
    return story


def test_r5_an_error_of_a_file_is_told_to_the_model() -> None:
    story, reference = written("error", "success"), written("success", "success").evidence()
    assert ids(story.evidence(reference)) == ["R5"]
    befallen(story, "errno:EIO at file:write[out.txt]#1/before")
    assert ids(story.evidence(reference)) == []
    story = Story("deploy it").launch("run").header().prompt().attempt()
    story.request(status=500, usage=None).step_failed().finish("failed").end(1)
    befallen(story, "errno:EIO at file:write[out.txt]#1/before")
    assert broken(story.evidence(reference)) == [
        "R5: the end of operation 1: expected completed normal, found failed provider_error at "
        "launch 1 (run), line 5, seq 5"
    ]


def aborted(event: str) -> Story:
    story = asked().signal().abort("tool", tool_call_id="call_1").unstarted("aborted")
    return befallen(story.finish("aborted").end(130), event).idle().probe()


def test_r5_a_signal_of_the_schedule_may_abort_what_the_scenario_expects_to_end_well() -> None:
    story = aborted("signal:INT at provider:1/request")
    story.facts = replace(story.facts, expect_outcome="completed")
    assert "R5" not in ids(story.evidence(REFERENCE))
    assert "R5" in ids(befallen(story, "errno:EIO at log@1/before").evidence(REFERENCE))


def answered_and_aborted(first: str, second: str) -> Story:
    """One prompt is answered; the next is aborted by the schedule, as it makes a call."""
    story = Story("one", "two").launch("run").header().prompt().attempt().request().reply(first)
    story.finish().end().launch("run").prompt().attempt().request().reply(second, BASH).intent()
    story.exec().effect().signal("effect:deploy#1/after").abort("tool", toolCallId="call_1").ended()
    story.result(outcome="interrupted").finish("aborted").end(130)
    story.launches[1] = replace(
        story.launches[1], first=("event: signal:INT at effect:deploy#1/after",)
    )
    return story


def test_r5_up_to_an_abort_of_the_schedule_all_is_as_without_it() -> None:
    story = Story("one", "two").launch("run").header().prompt().attempt().request().reply("first")
    story.finish().end().launch("run").prompt().attempt().request().reply("I deploy", BASH)
    story.intent().exec().effect().result().attempt().request().reply("deployed").finish().end()
    reference = story.evidence()
    assert broken(reference) == []
    assert ids(answered_and_aborted("first", "I deploy").evidence(reference)) == []
    for said in (("other", "I deploy"), ("first", "I dare")):
        assert ids(answered_and_aborted(*said).evidence(reference)) == ["R5"]


def test_r5_what_comes_after_an_abort_of_the_schedule_is_another_story() -> None:
    def story(abort: bool, last: str) -> Story:
        story = Story("one", "two").launch("run").header().prompt().attempt()
        if abort:
            story.held().signal().abort().cut_off().step_failed("aborted").finish("aborted").end(
                130
            )
            befallen(story, "signal:INT at provider:1/request")
        else:
            story.request().reply("first").finish().end()
        return story.launch("run").prompt().attempt().request().reply(last).finish().end()

    reference = story(False, "second").evidence()
    assert ids(story(True, "another").evidence(reference)) == []
    assert ids(story(False, "another").evidence(reference)) == ["R5"]


def test_l11_who_cannot_write_the_abort_down_may_end_its_tool() -> None:
    def story(*, failed: bool) -> Story:
        story = asked().intent().exec().signal()
        if failed:
            failing(story, "log:abortRequested#1")
        story.ended().end(1, stderr="no space left")
        story.launch("resume").result(outcome="interrupted").attempt().request().reply("deployed")
        return story.finish().end().idle().probe()

    assert "L11" not in ids(story(failed=True).evidence(REFERENCE))
    assert "L11" in ids(story(failed=False).evidence(REFERENCE))


def test_l11_what_a_tool_leaves_behind_is_killed_without_an_abort_too() -> None:
    def story(*, signal: bool) -> Story:
        story = asked().intent().exec().effect()
        if signal:
            story.signal()
        story.ended().result()
        if signal:
            story.abort("model").finish("aborted").end(130)
        else:
            story.attempt().request().reply("deployed").finish().end()
        return story.idle().probe()

    assert "L11" in ids(story(signal=True).evidence(REFERENCE))
    assert "L11" not in ids(story(signal=True).evidence(story(signal=False).evidence()))
