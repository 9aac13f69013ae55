"""E6 on stories: what need not be told, what may be told as unknown. See `test_smallest` too."""

from __future__ import annotations

from typing import Any

from tests.judge.build import BASH, READ, Story, broken, ids

FORGETTING = [{"role": "user", "content": "deploy it"}]


def deployed(outcome: str | None = None) -> Story:
    """bash deployed, and its result is durable; a request is still to come."""
    story = Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().exec().effect()
    return story.result(outcome=outcome) if outcome else story.result()


def end(story: Story) -> Any:
    return story.reply("deployed").finish().end().idle().probe().evidence()


def test_a_call_that_is_told_with_its_result() -> None:
    assert broken(end(deployed().attempt().request())) == []


def test_a_call_that_is_told_as_unknown() -> None:
    story = Story("deploy it").launch("run", "log:toolResult[bash]#1/before")
    story.header().prompt().attempt().request().reply(BASH).intent().exec().effect().result()
    story.dead().launch("resume").result(outcome="interrupted").attempt().request()
    assert broken(end(story)) == []


def test_what_did_nothing_may_be_forgotten() -> None:
    story = Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().result().attempt()
    messages = [{"role": "user", "content": "deploy it"}]
    assert "E6" not in ids(end(story.request(messages=messages)))


def test_of_several_calls_at_work_nobody_knows_whose_program_it_is() -> None:
    """An effect is some call's all the same: the last one's, as far as is known."""

    def both() -> Story:
        story = Story("deploy it").launch("run").header().prompt().attempt().request()
        return story.reply(BASH, READ).intent(0).intent(1)

    def forgotten(story: Story) -> bool:
        story.result(0).result(1).attempt().request(messages=FORGETTING)
        return "E6" in ids(end(story))

    assert not forgotten(both().exec())
    assert forgotten(both().effect())


def test_a_request_that_cannot_be_read_hides_no_later_one() -> None:
    story = deployed().attempt().request(body=b"[]").step_failed().finish("failed").end(1)
    assert "E6" not in ids(story.evidence())
    story = deployed().attempt().request(body=b"[]").reply(BASH).intent().result().attempt()
    assert "E6" in ids(story.request(messages=FORGETTING).dead().evidence())


def test_a_summary_that_failed_hides_no_later_request() -> None:
    story = deployed().attempt().request().reply("deployed").finish().compact(1).attempt()
    story.request().step_failed().finish("failed").prompt("again").attempt()
    assert "E6" in ids(story.request(messages=FORGETTING).dead().evidence())


def test_a_call_that_a_later_summary_holds_is_not_forgotten() -> None:
    story = deployed().attempt().request().reply("deployed").finish().compact(1).attempt()
    story.request().summarised().finish().prompt("again").attempt().request()
    assert "E6" not in ids(story.dead().evidence())


def test_a_call_that_a_summary_holds_excuses_no_later_one() -> None:
    story = deployed().attempt().request().reply("deployed").finish().compact(1).attempt()
    story.request().summarised().finish().prompt("again").attempt().request().reply(BASH)
    story.intent().exec().effect().result().attempt()
    assert "E6" in ids(story.request(messages=FORGETTING).dead().evidence())


def test_a_summary_of_before_a_call_excuses_nothing() -> None:
    story = Story("hello", "deploy it").launch("run").header().prompt().attempt().request()
    story.reply("hi").finish().compact(1).attempt().request().summarised().finish()
    story.prompt("deploy it").attempt().request().reply(BASH).intent().exec().effect().result()
    assert "E6" in ids(story.attempt().request(messages=FORGETTING).dead().evidence())
