"""Replies that were paid for and are not in the log: listed, and no violation."""

from __future__ import annotations

from chaos.judge import unaccounted
from tests.judge.build import BASH, Story, broken, deploy, plain

LOST = "prompt 11, completion 3, cached 2: request 1, launch 1 (run), event 4"


def test_every_reply_of_a_good_run_is_accounted_for() -> None:
    assert unaccounted(deploy().idle().probe().evidence()) == []


def test_a_reply_that_died_with_a_kill_is_listed() -> None:
    story = Story("say it").launch("run", "log:assistant#1/before").header().prompt().attempt()
    story.request().reply("said").dead().launch("resume").attempt(2).request().reply("said")
    evidence = story.finish().end().evidence(plain().evidence())
    assert broken(evidence) == []
    assert unaccounted(evidence) == [LOST]


def test_a_reply_that_came_after_an_abort_is_listed_unless_it_is_counted() -> None:
    for counted in (True, False):
        story = Story("say it").launch("run").header().prompt().attempt().request().signal()
        story.abort().step_failed("aborted")
        if counted:
            story.write(story.usage())
        evidence = story.finish("aborted").end(130).evidence()
        assert broken(evidence) == []
        assert unaccounted(evidence) == ([] if counted else [LOST])


def test_an_answer_without_usage_costs_nothing() -> None:
    story = Story("deploy it").launch("run", "log:assistant#1/before").header().prompt().attempt()
    assert unaccounted(story.request(usage=None).reply(BASH).dead().evidence()) == []
