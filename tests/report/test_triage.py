"""Triage: what makes two failures one fault, and which schedule stands for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.evidence import Evidence
from chaos.report.triage import KEPT, Fault, faults_of, faults_of_all, unproven, with_evidence
from chaos.results import ScheduleResult, SweepResult, Verdict, Violation
from tests.judge.build import BASH, READ, Story, deploy
from tests.report import sample

AFTER = "run: log:toolStarted[bash]#1/after; resume: none"
TORN = "run: log:toolStarted[bash]#1/torn@3; resume: none"
BEFORE = "run: log:toolStarted[bash]#1/before; resume: none"
TWO_KILLS = "run: log:stepAttempt#1/after; resume: log:toolStarted[bash]#1/after"
SCHEDULES = (TWO_KILLS, TORN, BEFORE, AFTER)


def failed(
    ident: str,
    *violations: tuple[str, dict[str, object]],
    schedule: str = AFTER,
    evidence: Evidence | None = None,
    merged_into: str | None = None,
) -> ScheduleResult:
    return replace(
        sample.violated(),
        id=ident,
        schedule=schedule,
        violations=tuple(Violation(rule, "broken", where) for rule, where in violations),
        evidence=evidence or sample.evidence(),
        merged_into=merged_into,
    )


def faults(*results: ScheduleResult) -> tuple[Fault, ...]:
    return faults_of(sample.scenario_result(*results))


def fingerprints(*results: ScheduleResult) -> list[str]:
    return [fault.fingerprint for fault in faults(*results)]


@pytest.mark.parametrize(
    ("where", "instant"),
    [
        ({"order": 6}, "toolStarted > effect"),  # the log as it was at the event
        ({"line": 4, "launch": 1}, "stepAttempt > toolStarted"),  # the line, and what was before it
        ({"line": 2}, "header > runStarted"),
        ({"line": 9}, "toolStarted > unreadable"),
        ({"launch": 1}, "toolStarted > end"),  # what the launch left
        ({}, "toolStarted > end"),
        ({"launch": 99}, "toolStarted > end"),
    ],
)
def test_a_fault_is_told_by_the_instant_at_which_it_broke(
    where: dict[str, object], instant: str
) -> None:
    assert fingerprints(failed("a", ("E2", where))) == [f"E2 {instant}"]


@pytest.mark.parametrize(
    ("line", "doing"),
    [
        (5, "unanswered-calls"),  # the call was made, its intent is line 5
        (6, "unanswered-calls"),
        (7, "answered-calls"),
        (9, "assistant"),
    ],
)
def test_within_a_turn_it_counts_whether_calls_are_unanswered(line: int, doing: str) -> None:
    result = failed("a", ("L6", {"line": line, "launch": 0}), evidence=deploy().evidence())
    (fingerprint,) = fingerprints(result)
    assert fingerprint.split()[1] == doing


def test_one_answered_call_of_two_leaves_the_turn_open() -> None:
    story = Story("do both").launch("run").header().prompt().attempt().request().reply(READ, BASH)
    story.intent().result().intent(1).exec().effect().result(1)
    evidence = story.end().evidence()
    result = failed("a", ("L6", {"line": 7, "launch": 0}), evidence=evidence)
    assert fingerprints(result) == ["L6 unanswered-calls > toolStarted"]


def test_kills_at_many_points_are_one_fault() -> None:
    where = {"line": 4, "launch": 1}
    everywhere = [failed(f"k{n}", ("E2", where), schedule=s) for n, s in enumerate(SCHEDULES)]
    (fault,) = faults(*everywhere)
    assert len(fault.results) == len(SCHEDULES)


def test_the_smallest_schedule_speaks_fewest_kills_then_after_before_torn() -> None:
    results = [failed(f"k{n}", ("E2", {}), schedule=s) for n, s in enumerate(SCHEDULES)]
    (fault,) = faults(*results)
    assert [r.schedule for r in fault.results] == [AFTER, BEFORE, TORN, TWO_KILLS]
    assert fault.smallest.id == "k3"


def test_of_equals_the_earliest_speaks() -> None:
    (fault,) = faults(failed("first", ("E2", {})), failed("second", ("E2", {})))
    assert fault.smallest.id == "first"


def test_the_first_rule_of_the_judge_leads_and_the_others_follow() -> None:
    """L rules stand before R rules: a broken log is the cause of what recovery then does."""
    both = failed("a", ("R5", {"launch": 1}), ("L6", {"line": 4, "launch": 1}))
    one = failed("b", ("L6", {"line": 4, "launch": 1}))
    (fault,) = faults(both, one)
    assert fault.fingerprint == "L6 stepAttempt > toolStarted"
    assert fault.ids == ("L6", "R5")


def test_the_earliest_line_of_a_rule_counts() -> None:
    late, early = ("L6", {"line": 4}), ("L6", {"line": 3})
    assert fingerprints(failed("a", late, early)) == ["L6 runStarted > stepAttempt"]


def test_what_only_a_torn_write_shows_is_one_fault_wherever_it_tears() -> None:
    here = failed("a", ("L1", {"line": 4}), schedule=TORN)
    there = failed("b", ("L1", {"line": 3}), schedule=TORN)
    assert fingerprints(here, there) == ["L1 torn-write"]


def test_a_torn_write_is_nothing_special_where_a_whole_one_breaks_the_same() -> None:
    torn = failed("a", ("L1", {"line": 4}), schedule=TORN)
    whole = failed("b", ("L1", {"line": 4}))
    assert fingerprints(torn, whole) == ["L1 stepAttempt > toolStarted"]


def test_what_breaks_without_a_kill_is_one_fault_after_any_kill() -> None:
    story = Story("deploy it").launch("run").header().prompt().effect("deploy")  # no intent: E1
    bad = story.attempt().request().reply("deployed").finish().end().evidence()
    known = {"evidence": replace(sample.evidence(), references=(bad,))}
    kill = failed("kill", ("E1", {"order": 6}), **known)
    assert fingerprints(kill) == ["E1 no-kill"]
    # A rule that only a kill breaks is another fault, though the first is still broken.
    more = failed("more", ("E1", {"order": 6}), ("X1", {"launch": 1}), **known)
    assert fingerprints(kill, more) == ["E1 no-kill", "X1 toolStarted > end"]


def test_the_run_without_a_kill_itself() -> None:
    assert fingerprints(failed("a", ("P1", {"order": 1}), schedule="run: none")) == ["P1 no-kill"]


def test_damage_of_one_kind_is_one_fault_wherever_it_falls() -> None:
    glued = [f"run: none; damage: glue@{line}; resume: none" for line in (2, 3)]
    killed = f"{AFTER.partition(';')[0]}; damage: crlf; resume: none"
    found = [failed(str(n), ("R1", {"launch": 1}), schedule=s) for n, s in enumerate(glued)]
    found.append(failed("killed", ("R1", {"launch": 1}), schedule=killed))
    assert fingerprints(*found) == ["R1 damage-glue", "R1 damage-crlf"]


def test_a_schedule_that_came_to_anothers_image_has_its_fault() -> None:
    image = failed("image", ("R1", {"launch": 1}))
    merged = failed("merged", ("R1", {}), evidence=deploy().evidence(), merged_into="image")
    (fault,) = faults(image, merged)
    assert [r.id for r in fault.results] == ["image", "merged"]


def test_without_evidence_there_is_still_a_fault() -> None:
    bare = replace(failed("a", ("E2", {})), evidence=None)
    assert fingerprints(bare) == ["E2 unknown"]


def test_only_violations_are_faults() -> None:
    assert faults(sample.passed(), sample.inconclusive()) == ()


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.PASS])
def test_the_smallest_of_each_kind_keep_their_evidence(verdict: Verdict) -> None:
    """Those that are larger, and those that left none, do not."""
    none = replace(failed("none", ("E2", {})), verdict=verdict, evidence=None)
    large = [failed(f"large-{n}", ("E2", {}), schedule=TWO_KILLS) for n in range(KEPT)]
    small = [failed(f"small-{n}", ("E2", {})) for n in range(KEPT - 1)]
    results = [replace(result, verdict=verdict) for result in (*large, *small)]
    found = sample.scenario_result(none, *results, replace(sample.passed(), id="passed"))
    assert with_evidence(found, everything=False) == {"large-0", *(r.id for r in small)}
    assert with_evidence(found, everything=True) == {r.id for r in results}


def test_what_proves_nothing_is_told_by_the_smallest_and_its_evidence_is_kept() -> None:
    large = replace(failed("large", schedule=TORN), verdict=Verdict.INCONCLUSIVE)
    small = [replace(failed(f"s{n}", schedule=AFTER), verdict=Verdict.INCONCLUSIVE) for n in (1, 2)]
    (group,) = unproven([large, *small])
    assert [result.id for result in group] == ["s1", "s2", "large"]


def test_scenarios_share_their_faults() -> None:
    one = sample.scenario_result(failed("one", ("E2", {}), schedule=BEFORE))
    two = sample.scenario_result(failed("two", ("E2", {}), schedule=AFTER))
    (fault,) = faults_of_all(SweepResult((one, two), 1.0, 0))
    assert fault.smallest.id == "two"


def test_a_name_that_a_target_wrote_is_one_word() -> None:
    evil = sample.evidence()
    name = evil.blobs.put(sample.HEADER + sample.fact(1, type="a # b\n\x1b"))
    launches = tuple(replace(launch, log_after=name) for launch in evil.launches)
    result = failed("a", ("R1", {"launch": 1}), evidence=replace(evil, launches=launches))
    assert fingerprints(result) == ["R1 a-b- > end"]


def test_a_session_that_tells_no_facts_is_unread() -> None:
    (evidence,) = [r.evidence for r in [sample.violated()] if r.evidence]
    facts = replace(evidence.facts, dialect="opaque")
    result = replace(sample.violated(), evidence=replace(evidence, facts=facts))
    (fault,) = faults_of(sample.scenario_result(result))
    assert fault.fingerprint == "E2 unread > effect"
