"""R4 where something was changed for a launch: the right reason, and nothing in spite of it.

What a blocked launch may do without a change is in `test_rules_recovery`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.judge.build import BASH, READ, Story, broken, ids, live

CHANGED = ("set:AGENT_MODEL=other",)


def asked(reason: str | None) -> Story:
    """It died with a request open, and is resumed with something changed."""
    story = Story("deploy it", expect_blocked=reason).launch("run", "log:stepAttempt#1/after")
    return live(story).launch("resume")


def settled(reason: str | None) -> Story:
    """It died with a call that was not taken up."""
    story = Story("deploy it", expect_blocked=reason).launch(
        "run", "log:toolStarted[bash]#1/before"
    )
    story.header().prompt().attempt().request().reply(BASH).intent().dead()
    return story.launch("resume")


def rules(story: Story, code: int = 0, stderr: str = "", changed: tuple[str, ...] = CHANGED) -> str:
    story.end(code, stderr=stderr, changed=changed)
    return "; ".join(m for m in broken(story.evidence()) if m.startswith("R4"))


def test_the_reason_that_the_change_has() -> None:
    assert rules(asked("configuration_changed"), 3, "configuration_changed") == ""


def test_another_reason() -> None:
    assert rules(asked("configuration_changed"), 3, "environment_changed") == (
        "R4: a blocked launch does not say what to restore: expected configuration_changed on "
        "stderr, found stderr ends 'environment_changed' at launch 2 (resume)"
    )


def test_a_server_for_tools_may_be_asked_what_it_offers() -> None:
    story = Story("deploy it").launch("run", "log:stepAttempt#1/after").exec("desk.py")
    story = live(story).launch("resume").exec("desk.py")
    assert rules(story, 3, "configuration_changed") == ""


def test_any_reason_of_the_contract_where_the_scenario_is_silent() -> None:
    assert rules(asked(None), 3, "environment_changed") == ""
    assert rules(asked(None), 3, "no wish").startswith("R4: a blocked launch does not say")


def test_without_a_change_the_word_of_the_scenario_is_no_cause() -> None:
    found = rules(asked("configuration_changed"), 3, "configuration_changed", changed=())
    assert found.startswith("R4: a launch is blocked without cause")


def refused(**fields: object) -> list[str]:
    """It died before its prompt was accepted; the run that follows is not begun."""
    story = Story("say it", expect_blocked="environment_changed")
    story.launch("run", "log:header#1/after").header().dead().launch("run")
    story.end(3, stderr="environment_changed", **fields)
    story.launch("run").prompt().attempt().request().reply("said").finish().end()
    return broken(story.idle().evidence())


def test_a_run_may_refuse_to_begin_in_another_environment() -> None:
    assert refused(changed=CHANGED) == []


def test_and_in_no_other_case() -> None:
    assert [message[:2] for message in refused()] == ["R2", "R4"]


def test_a_step_that_failed_under_a_change_holds_up_no_later_operation() -> None:
    story = Story("say it", "again", expect_blocked="configuration_changed")
    story.launch("run").header().prompt().attempt().request(status=500).step_failed()
    story.finish("failed").end(1, changed=CHANGED)
    story.launch("run", "log:runStarted#1/after").prompt("again").dead()
    found = rules(story.launch("resume"), 3, "configuration_changed", changed=())
    assert found.startswith("R4: a launch is blocked without cause")


def test_a_probe_may_be_refused_there_too() -> None:
    story = Story("say it", expect_blocked="environment_changed").launch("run").header().prompt()
    story.attempt().request().reply("said").finish().end(changed=CHANGED)
    story.launch("probe").end(3, stderr="environment_changed")
    assert [m for m in broken(story.evidence()) if m[:2] in ("R2", "R4")] == []


def test_a_run_that_finds_no_session_has_nothing_to_refuse_for() -> None:
    story = Story("say it", expect_blocked="environment_changed").launch("run")
    story.end(3, stderr="environment_changed", changed=CHANGED)
    assert ids(story.evidence()) == ["R2", "R4"]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("reason", ["configuration_changed", "environment_changed", None])
def test_an_abort_comes_before_every_check(reason: str | None, number: int) -> None:
    story = asked(reason)
    if number == 2:
        story = story.attempt(2).request().dead().launch("resume")
    story = story.abort().dead().launch("resume")
    for word in (reason or "configuration_changed", "attempts_exhausted"):
        found = rules(copied(story), 3, word)
        assert found.startswith("R4: a launch is blocked without cause")


@pytest.mark.parametrize(
    ("story", "role", "change", "word"),
    [
        # An environment is no file, and nothing else holds up what has not begun.
        (lambda: begun("log:header#1/after"), "run", "write:AGENTS.md=x", "environment_changed"),
        # No request was made under a configuration yet.
        (lambda: begun().prompt(), "resume", "write:AGENTS.md=x", "configuration_changed"),
        (
            lambda: begun().prompt().attempt().request().reply(BASH).intent().effect().result(),
            "resume",
            "write:AGENTS.md=x",
            "configuration_changed",
        ),
    ],
)
def test_each_reason_has_its_own_changes_where_the_scenario_is_silent(
    story: Callable[[], Story], role: str, change: str, word: str
) -> None:
    told = story().end(None, signal=9, killed=True).launch(role)
    assert "R4: a" in rules(told, 3, word, changed=(change,))


def begun(kill: str | None = None) -> Story:
    return Story("deploy it").launch("run", kill).header()


def copied(story: Story) -> Story:
    """The same, for another end."""
    other = copy.copy(story)
    other.launches, other.events = list(story.launches), list(story.events)
    return other


def test_a_second_attempt_under_another_configuration() -> None:
    story = asked("configuration_changed").attempt(2).request().reply("said").finish()
    assert rules(story) == (
        "R4: a launch went on although set:AGENT_MODEL=other: expected blocked: "
        "configuration_changed, found stepAttempt at launch 2 (resume), line 4, seq 4"
    )


def test_a_second_attempt_when_all_is_as_it_was() -> None:
    story = asked("configuration_changed").attempt(2).request().reply("said").finish()
    assert rules(story, changed=()) == ""


def asked_under_a_change() -> Story:
    """It died before its first request, was resumed with something changed, died in that request,
    and is resumed as it was at first."""
    story = Story("deploy it", expect_blocked="configuration_changed")
    story.launch("run", "log:runStarted#1/after").header().prompt().dead()
    story.launch("resume", "log:stepAttempt#1/after").attempt().request()
    return story.dead(changed=CHANGED).launch("resume")


def test_what_was_asked_under_a_change_is_held_up_when_that_is_taken_back() -> None:
    assert rules(asked_under_a_change(), 3, "configuration_changed", changed=()) == ""


def test_and_it_is_not_asked_again() -> None:
    story = asked_under_a_change().attempt(2).request().reply("said").finish()
    assert rules(story, changed=()) == (
        "R4: a launch went on although set:AGENT_MODEL=other is taken back: expected blocked: "
        "configuration_changed, found stepAttempt at launch 3 (resume), line 4, seq 4"
    )


def test_an_idle_resume_may_see_what_holds_it_up() -> None:
    """It asks its server for tools, say, whether they are as they were."""
    said = {"code": 3, "stderr": "configuration_changed"}
    story = asked_under_a_change().exec("desk.py").end(**said)
    assert broken(story.launch("idle").exec("desk.py").end(**said).evidence()) == []


def test_unless_the_change_is_made_again() -> None:
    story = asked_under_a_change().attempt(2).request().reply("said").finish()
    assert rules(story) == ""


def test_a_change_under_which_nothing_was_written_is_no_cause_later() -> None:
    story = asked("configuration_changed").end(3, stderr="configuration_changed", changed=CHANGED)
    found = rules(story.launch("resume"), 3, "configuration_changed", changed=())
    assert found.startswith("R4: a launch is blocked without cause")


def test_nor_is_one_of_an_operation_that_is_over() -> None:
    story = Story("say it", "again", expect_blocked="configuration_changed")
    story.launch("run", "log:header#1/after").header().dead()
    story.launch("run").prompt().attempt().request().reply("said").finish().end(changed=CHANGED)
    story.launch("run", "log:stepAttempt#1/after").prompt("again").attempt().request().dead()
    found = rules(story.launch("resume"), 3, "configuration_changed", changed=())
    assert found.startswith("R4: a launch is blocked without cause")


def test_what_only_the_header_was_written_under_is_no_other_configuration() -> None:
    story = Story("deploy it", expect_blocked="configuration_changed")
    story.launch("run", "log:header#1/after").header().dead(changed=CHANGED)
    story.launch("run", "log:stepAttempt#1/after").prompt().attempt().request().dead()
    found = rules(story.launch("resume"), 3, "configuration_changed", changed=())
    assert found.startswith("R4: a launch is blocked without cause")


def test_nor_what_the_prompt_alone_was_accepted_under() -> None:
    story = Story("deploy it", expect_blocked="configuration_changed")
    story.launch("run", "log:runStarted#1/after").header().prompt().dead(changed=CHANGED)
    story.launch("resume", "log:stepAttempt#1/after").attempt().request().dead()
    found = rules(story.launch("resume"), 3, "configuration_changed", changed=())
    assert found.startswith("R4: a launch is blocked without cause")


def test_nor_what_an_operation_was_done_under_that_is_over() -> None:
    story = Story("say it", "again", expect_blocked="configuration_changed")
    story.launch("run").header().prompt().attempt().request().reply("said").finish()
    story.end(changed=CHANGED).launch("run", "log:runStarted#1/after").prompt("again").dead()
    found = rules(story.launch("resume"), 3, "configuration_changed", changed=())
    assert found.startswith("R4: a launch is blocked without cause")


def test_a_configuration_holds_up_nothing_that_has_not_begun() -> None:
    story = Story("say it", "again", expect_blocked="configuration_changed")
    story.launch("run").header().prompt().attempt().request().reply("said").finish()
    story.end(changed=CHANGED).launch("run").end(3, stderr="configuration_changed")
    assert [message[:2] for message in broken(story.evidence())] == ["R2", "R4"]


@pytest.mark.parametrize("to_do", [False, True])
def test_an_attempt_whose_calls_are_answered_holds_up_nothing(to_do: bool) -> None:
    story = settled("configuration_changed")
    story = story if to_do else story.intent().effect().result().dead().launch("resume")
    found = rules(story, 3, "configuration_changed")
    assert found.startswith("" if to_do else "R4: a launch is blocked without cause")
    assert bool(found) is not to_do


def test_a_failed_step_waits_for_its_configuration() -> None:
    story = asked("configuration_changed").step_failed().dead().launch("resume")
    assert rules(story, 3, "configuration_changed") == ""


@pytest.mark.parametrize(
    ("reason", "first", "then"),
    [
        ("configuration_changed", "clock:-1h", "write:AGENTS.md=Answer in verse."),
        ("environment_changed", "write:AGENTS.md=Answer in verse.", "move:elsewhere"),
        ("environment_changed", "delete:notes.txt", "set:AGENT_ENVIRONMENT_IDENTITY=other"),
    ],
)
def test_what_cannot_give_the_reason_is_no_change(reason: str, first: str, then: str) -> None:
    """The first launch found one thing changed, the second another, the third nothing: that is as
    it was, for what it goes on with."""
    reason = "_".join(reason.split("_"))  # as read from a file: no object of the judge's own
    story = Story("deploy it", expect_blocked=reason).launch("run", "log:stepAttempt#1/after")
    story.header().prompt().attempt().request().dead(changed=(first,)).launch("resume")
    story.end(3, stderr=reason, changed=(then,)).launch("resume")
    assert rules(story.attempt(2).request().reply("said").finish(), changed=()) == ""


def test_and_it_is_no_cause() -> None:
    story = asked("configuration_changed")
    found = rules(story, 3, "configuration_changed", changed=("clock:-1h",))
    assert found.startswith("R4: a launch is blocked without cause")


@pytest.mark.parametrize(("pending", "found"), [(True, ""), (False, "R4: a launch is blocked")])
def test_a_declaration_is_that_of_an_intent(pending: bool, found: str) -> None:
    story = Story("look", expect_blocked="replay_declaration_changed", files={"notes.txt": "x"})
    story.launch("run", "log:toolResult[read]#1/after").header().prompt().attempt().request()
    story = story.reply(READ).intent()
    story = (story if pending else story.result()).dead().launch("resume")
    told = rules(story, 3, "replay_declaration_changed", changed=("write:tools.json=[]",))
    assert (told[:23], bool(told)) == (found, not pending)


def test_the_last_who_wrote_a_line_counts() -> None:
    """A power loss took the attempt; the next launch made it again, with something changed."""

    def begun() -> Story:
        story = Story("deploy it", expect_blocked="configuration_changed")
        return story.launch("run", "log:stepAttempt#1/after").header().prompt()

    lost, story = begun().attempt().log, begun().dead()
    story.launches[0] = replace(story.launches[0], log_after=story.blobs.put(lost))
    story.launch("resume", "log:stepAttempt#1/after").attempt().request().dead(changed=CHANGED)
    story.launch("resume")
    assert rules(story, 3, "configuration_changed", changed=()) == ""


def test_a_session_begun_in_another_environment() -> None:
    story = Story("deploy it", expect_blocked="environment_changed")
    story.launch("run", "log:toolStarted[bash]#1/before").header().prompt().attempt().request()
    story.reply(BASH).intent().dead(changed=CHANGED).launch("resume")
    assert "found toolStarted at launch 2" in rules(story.intent().effect().result(), changed=())


def test_it_is_the_header_that_names_the_environment() -> None:
    """Whoever wrote the lines that follow."""
    story = Story("deploy it", expect_blocked="environment_changed")
    story.launch("run", "log:header#1/after").header().dead(changed=CHANGED)
    story.launch("run", "log:toolStarted[bash]#1/before").prompt().attempt().request()
    story.reply(BASH).intent().dead().launch("resume").intent().effect().result()
    assert "found toolStarted at launch 3" in rules(story, changed=())


def test_a_call_taken_up_in_another_environment() -> None:
    story = settled("environment_changed").intent().effect().result()
    assert "found toolStarted at launch 2" in rules(story)


def test_a_further_step_in_another_environment() -> None:
    story = settled("environment_changed").unstarted("invalidArguments").attempt().request()
    assert "found stepAttempt at launch 2" in rules(story.reply("said").finish())


def test_the_first_step_of_an_operation_may_begin_anywhere() -> None:
    story = Story("say it", expect_blocked="environment_changed")
    story.launch("run", "log:runStarted#1/after").header().prompt().dead().launch("resume")
    assert rules(story.attempt().request().reply("said").finish()) == ""


@pytest.mark.parametrize("reason", ["configuration_changed", None])
def test_a_settled_step_is_not_held_up_by_a_configuration(reason: str | None) -> None:
    story = settled(reason).intent().effect().result().attempt().request().reply("done").finish()
    assert rules(story) == ""


def test_a_call_of_a_tool_that_was_redefined() -> None:
    """Its launch makes an attempt under another definition than the one that the call was for."""
    story = settled("configuration_changed").intent().effect().result().attempt().request()
    story = story.reply("done").finish()
    place = story.log.rindex(b"sha256:", 0, story.log.rindex(b'"name": "bash"'))
    story.log = story.log[:place] + b"sha256:1" + story.log[place + 8 :]
    assert rules(story).startswith(
        "R4: a call of bash was taken up, which is declared otherwise now: expected sha256:0"
    )


def test_a_call_without_a_name_hides_none_that_was_redefined() -> None:
    story = Story("deploy it").launch("run", "log:toolStarted[bash]#1/before").header().prompt()
    story.attempt().request().reply(("", {}), BASH).intent(1).dead().launch("resume")
    story.intent(1).effect().result(1).attempt().request().reply("done").finish()
    place = story.log.rindex(b"sha256:", 0, story.log.rindex(b'"name": "bash"'))
    story.log = story.log[:place] + b"sha256:1" + story.log[place + 8 :]
    assert rules(story, changed=()).startswith("R4: a call of bash was taken up")


def test_what_a_launch_offered_itself_it_may_redefine() -> None:
    """Between its steps: the instructions are read again before each of them."""
    story = Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().effect().result().attempt().request().reply(BASH).intent().effect().result()
    story.attempt().request().reply("done").finish()
    first = story.log.index(b'"stepAttempt"')
    second = story.log.index(b'"stepAttempt"', first + 1)
    place = story.log.rindex(b"sha256:", 0, story.log.index(b'"name": "bash"', second))
    story.log = story.log[:place] + b"sha256:1" + story.log[place + 8 :]
    assert rules(story, changed=()) == ""


def test_the_model_that_is_asked_is_the_attempts() -> None:
    body = (
        b'{"model": "other", "messages": [{"role": "system", "content": "You are careful."},'
        b' {"role": "user", "content": "deploy it"}]}'
    )
    story = asked(None).attempt(2).request(body=body).reply("said").finish().end(changed=CHANGED)
    assert broken(story.evidence()) == [
        "P4: another model is asked: expected test/model, found other at launch 2 (resume), line "
        "4, seq 4, event 6"
    ]


def test_ids_grow_after_a_reserved_one_too() -> None:
    """That of a result is as old as its intent."""
    story = Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().effect().result()
    story._ids = (f"018e0000-0000-7000-8000-{n:012x}" for n in range(99))
    story.attempt().request().reply("said").finish().end()
    assert ids(story.evidence()) == ["L3"]


def test_ids_grow() -> None:
    """L3, whatever the clock says: the ids of the second launch begin again before the first's."""
    story = asked(None)
    story._ids = (f"018e0000-0000-7000-8000-{n:012x}" for n in range(99))
    story.attempt(2).request().reply("said").finish().end()
    assert ids(story.evidence()) == ["L3"]
