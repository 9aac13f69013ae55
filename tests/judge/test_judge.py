"""The judge as a whole: a correct agent is never accused, wherever and however often it dies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.evidence import Evidence, LogWrite, Request
from chaos.judge import MOST, RULES, STATEMENTS, inexact, judge
from chaos.judge.case import offers
from tests.judge.build import Story, broken, deploy, live, plain

DESIGN = (
    "L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 L11 P1 P2 P3 P4 P5 E1 E4 E2 E3 E5 E6 R1 R2 R3 R4 R5 X1 X2 X3 X4"
)


def test_a_rule_that_is_broken_at_every_turn_is_told_a_few_times() -> None:
    story = Story("say it").launch("run").header().prompt()
    for _ in range(MOST + 5):
        story.attempt().request(body=b"{").request(body=b"{").reply("said")
    told = [m for m in broken(story.end().evidence()) if m.startswith("P3")]
    assert len(told) == MOST


def test_the_table_has_every_rule_once_in_order() -> None:
    """E4 comes before E2: a call that is run again is why its effect happens twice."""
    facts = deploy().evidence().facts
    of_facts = (rule for rule in RULES if all(offers(facts, need) for need in rule.needs))
    assert " ".join(rule.id for rule in of_facts) == DESIGN
    assert set(STATEMENTS) == {*DESIGN.split(), "P6"}


def course(*kills: str) -> Evidence:
    """A correct agent on a deploy: killed at these points, one launch after the other."""
    story = Story("deploy it", expect_effects={"deploy": "at-most-once"})
    role = "run"
    for kill in (*kills, None):
        live(story.launch(role, kill))
        role = "resume" if b"runStarted" in story.log else "run"
    if story.launches[-1].exit_code == 3:
        return story.launch("idle").end(3, stderr="attempts_exhausted").evidence(REFERENCE)
    return story.idle().probe().evidence(REFERENCE)


REFERENCE = deploy().idle().probe().evidence()


def points(evidence: Evidence, launch: int) -> list[str]:
    """Each instant of each durable write of a launch."""
    writes = [e for e in evidence.of_launch(launch) if isinstance(e, LogWrite) and e.length]
    return [f"{w.point}/{phase}" for w in writes for phase in ("before", "torn@9", "after")]


FIRST = points(REFERENCE, 0)


def test_a_run_without_a_kill_is_quiet() -> None:
    for evidence in (REFERENCE, plain().idle().probe().evidence()):
        assert broken(evidence) == []
        assert inexact(evidence) == []


@pytest.mark.parametrize("kill", FIRST)
def test_a_correct_agent_killed_once_is_quiet(kill: str) -> None:
    evidence = course(kill)
    assert broken(evidence) == []
    assert inexact(evidence) == []


# A torn line leaves all that its neighbours leave, and a tail to repair besides.
@pytest.mark.parametrize("kill", [point for point in FIRST if "torn" in point])
def test_a_correct_agent_killed_in_its_recovery_too_is_quiet(kill: str) -> None:
    for second in points(course(kill), 1):
        evidence = course(kill, second)
        assert broken(evidence) == [], second
        assert inexact(evidence) == [], second


def test_two_kills_in_the_request_block_the_session_and_that_is_right() -> None:
    evidence = course("log:stepAttempt#1/after", "log:stepAttempt#1/after")
    assert evidence.launches[-1].exit_code == 3
    assert broken(evidence) == []


def test_a_course_merged_into_another_is_judged_as_far_as_it_went() -> None:
    story = live(Story("deploy it").launch("run", "log:toolStarted#1/after"))
    assert broken(story.evidence(REFERENCE, merged_into="another")) == []


def test_rules_over_facts_need_a_dialect_they_know() -> None:
    evidence = deploy().idle().evidence()
    foreign = replace(evidence, facts=replace(evidence.facts, dialect="unknown"))
    launches = tuple(replace(launch, exit_code=1) for launch in evidence.launches)
    assert {v.id for v in judge(replace(evidence, launches=launches))} == {"R2"}
    assert judge(replace(foreign, launches=launches)) == []


@settings(max_examples=30)
@given(st.integers(0, 5000), st.binary(max_size=2), st.integers(0, 5000), st.binary(max_size=2))
def test_no_log_and_no_request_makes_the_judge_fall_over(
    at: int, put: bytes, where: int, body: bytes
) -> None:
    story = deploy().launch("resume")
    sent = story.blobs.get(next(e.body for e in story.events if isinstance(e, Request)))
    story.request(body=sent[: where % len(sent)] + body + sent[where % len(sent) + 1 :])
    log, cut = story.log, at % len(story.log)
    story.overwrite(log[:cut] + put + log[cut + 1 :]).effect().exec().change("a", "b").end(1)
    evidence = story.idle().evidence(REFERENCE)
    assert all(violation.message for violation in judge(evidence))
    assert inexact(evidence) == []
