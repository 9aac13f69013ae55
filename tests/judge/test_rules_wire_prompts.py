"""R1 told by the wire: when a prompt is accepted, and when it is lost or given up."""

from __future__ import annotations

import pytest

from chaos.judge import judge
from tests.judge.test_rules_wire import killed_at_the_request
from tests.judge.wire import GO_ON, WireStory


def lost(story: WireStory) -> bool:
    return any("is lost" in fault.message for fault in judge(story.evidence()))


def test_a_target_that_accepts_by_its_exit_may_give_a_prompt_up() -> None:
    story = killed_at_the_request(goes_on="", acknowledged="exit").launch("resume").end()
    assert judge(story.evidence()) == []


def test_the_words_that_let_it_go_on_are_no_prompt() -> None:
    story = killed_at_the_request().launch("resume").ask().end().launch("resume")
    del story.memory[1:]  # what it was asked to do is left
    assert "R1" not in [fault.id for fault in judge(story.ask().say("done").end().evidence())]


def test_a_prompt_that_only_an_exit_accepts_is_not_lost_before_it() -> None:
    for acknowledged in ("request", "exit"):
        story = killed_at_the_request(acknowledged=acknowledged).launch("resume")
        story.memory = [{"role": "user", "content": GO_ON}]
        assert lost(story.ask().end()) is (acknowledged == "request")


@pytest.mark.parametrize("answered", [True, False])
def test_whose_answer_was_out_is_told_by_its_own_request(answered: bool) -> None:
    """Another one's says nothing."""
    story = WireStory("ship it", side=("a title",), goes_on="").launch("run")
    story.ask(answered=answered).ask(
        answered=not answered, messages=[{"role": "user", "content": "a title"}]
    )
    found = judge(story.die().launch("resume").end().evidence())
    assert any("was given up" in fault.message for fault in found) is not answered


def test_a_prompt_that_is_lost_again_hides_no_other() -> None:
    story = WireStory("ship it", "fly it")
    for _ in story.facts.prompts:
        story.launch("run").ask().die().launch("resume")
        story.memory = [{"role": "user", "content": GO_ON}]
        story.ask().die()
    told = [fault.message for fault in judge(story.evidence()) if "is lost" in fault.message]
    assert [message.partition(" is")[0] for message in told] == [
        "prompt 'ship it'",
        "prompt 'fly it'",
    ]


def test_a_prompt_that_was_never_asked_hides_no_other_that_was_given_up() -> None:
    story = WireStory("ship it", "fly it", goes_on="").launch("run").forget().die()
    story.launch("run").ask(answered=False, status=0).die().launch("resume").end()
    told = [fault.message for fault in judge(story.evidence())]
    assert any(message.startswith("prompt 'fly it' was given up") for message in told)


def test_a_prompt_is_accepted_by_a_launch_that_ended_well_or_by_its_first_request() -> None:
    """So what asks before the prompt is told has lost nothing, and what asks later has."""
    story = WireStory("ship it", goes_on="").launch("run").forget()
    before = [{"role": "user", "content": "what is this place?"}]
    story.ask(messages=before)
    story.memory.append({"role": "user", "content": "ship it"})
    assert not lost(story.ask().end())
    silent = WireStory("ship it").launch("run").end().launch("resume").forget(2)
    silent.memory.append({"role": "user", "content": GO_ON})
    assert lost(silent.ask().end())


def test_a_longer_prompt_may_begin_with_a_shorter_one() -> None:
    story = WireStory("ship", "ship it").launch("run").ask().say("ok").end()
    assert judge(story.launch("run").ask().say("ok").end().idle().evidence()) == []
