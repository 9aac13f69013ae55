"""Replies that were paid for and are not in the log: listed, and no violation."""

from __future__ import annotations

from typing import Any

import pytest

from chaos.judge import unaccounted
from tests.judge.build import BASH, Story, broken, deploy, ids, plain

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


@pytest.mark.parametrize(("first", "second"), [(False, True), (True, False)])
def test_only_a_reply_that_went_out_whole_owes_its_cost(first: bool, second: bool) -> None:
    """Neither an earlier nor a later answer stands for it. The turn whose answer was cut, and was
    stored all the same, has no usage."""
    story = Story("deploy it").launch("run").header().prompt()
    for whole, said in ((first, BASH), (second, "deployed")):
        story.attempt().request()
        if not whole:
            story.events.pop()
            story.cut_off()
        story.reply(said, usage=whole)
        if said == BASH:
            story.intent().exec().effect().result()
    assert ids(story.finish().end().evidence()) == []


REPORTED = {"prompt_tokens": 11000, "completion_tokens": 3000, "cached_tokens": 2000}
COUNTED = {"input": 11000, "output": 3000, "cacheRead": 2000, "cacheWrite": 0}
DETAILS = {"prompt_tokens": 11000, "completion_tokens": 3000}


@pytest.mark.parametrize(
    ("reported", "counted", "good"),
    [
        ({}, {}, True),
        ({}, {"input": 9000}, True),
        ({}, {"input": 9000, "cacheWrite": 1000}, True),
        ({}, {"input": 8000, "cacheWrite": 1000}, True),
        ({}, {"input": 10000, "cacheWrite": 1000}, False),
        ({}, {"input": 10999}, False),
        ({}, {"input": 11001}, False),
        ({}, {"input": 8999}, False),
        ({}, {"output": 2999}, False),
        ({}, {"output": 3001}, False),
        ({}, {"cacheRead": 1999}, False),
        ({}, {"cacheRead": 2001}, False),
        ({"prompt_tokens": -1}, {}, True),  # no sense can be made of it
        ({"completion_tokens": True}, {}, True),
        ({"cached_tokens": "2000"}, {}, True),
        ({"cached_tokens": 0}, {}, False),
        ({"cached_tokens": 0}, {"cacheRead": 0}, True),
        ({"completion_tokens": 0}, {"output": 0}, True),
        ({"prompt_tokens_details": {"cached_tokens": 5}}, {}, True),  # the nearer one counts
    ],
)
def test_counters_are_the_reported_ones_to_the_token(
    reported: dict[str, Any], counted: dict[str, int], good: bool
) -> None:
    assert said(REPORTED | reported, COUNTED | counted) == (["L9"] if not good else [])


@pytest.mark.parametrize(
    ("details", "cached"),
    [({"cached_tokens": 2000}, 2000), ({}, 0), (None, 0), ([2000], 0)],
)
def test_cached_tokens_may_stand_among_the_details(details: object, cached: int) -> None:
    reported = DETAILS | {"prompt_tokens_details": details}
    for found in (0, 2000):
        faults = said(reported, COUNTED | {"cacheRead": found})
        assert faults == ([] if found == cached else ["L9"])


def test_an_answer_that_reports_nothing_is_counted_as_nothing() -> None:
    assert said(None, dict.fromkeys(COUNTED, 0)) == []
    assert said(None, dict.fromkeys(COUNTED, 1)) == ["L9"]


def said(reported: dict[str, Any] | None, counted: dict[str, int]) -> list[str]:
    """One answer, reported and counted like this: the rules that are broken."""
    story = Story("say it").launch("run").header().prompt().attempt().request(usage=reported)
    return ids(story.reply("said", **counted).finish().end().evidence())
