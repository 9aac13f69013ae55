"""What the rules look up in a case, and how they say where something is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.judge.case import Case, Need, Where, broken, carries, offers, shown
from tests.judge.build import Story, plain

STORY = plain()
LAUNCH, EVENT = STORY.launches[0], STORY.events[2]
FACT = Case(STORY.evidence()).final.attempts[0].fact


def test_an_outcome_that_has_no_exit_code() -> None:
    case = Case(replace(STORY.evidence(), facts=replace(STORY.facts, exit_codes={"failed": 0})))
    assert (case.code("busy"), case.code("failed")) == (None, 0)


@pytest.mark.parametrize(
    ("known", "calls"),
    [(("call", "result", "role"), True), (("call", "result"), True), (("call", "role"), False)],
)
def test_calls_of_a_transcript_are_judged_where_the_target_file_names_them(
    known: tuple[str, ...], calls: bool
) -> None:
    facts = replace(STORY.facts, dialect="transcript", transcript=dict.fromkeys(known, "x"))
    assert offers(facts, Need.LINES)
    assert offers(facts, Need.CALLS) is calls
    assert not offers(replace(facts, dialect="opaque"), Need.CALLS)


@pytest.mark.parametrize(
    ("where", "words", "data"),
    [
        (Where(), "", {}),
        (Where(LAUNCH), " at launch 1 (run)", {"launch": 0}),
        (Where(fact=FACT), " at line 3, seq 3", {"line": 3, "seq": 3}),
        (Where(line=7), " at line 7", {"line": 7}),
        (Where(fact=replace(FACT, seq=None)), " at line 3", {"line": 3}),
        (Where(fact=replace(FACT, seq=0)), " at line 3, seq 0", {"line": 3, "seq": 0}),
        (Where(event=EVENT), " at event 3", {"order": 3}),
        (
            Where(LAUNCH, FACT, EVENT, 9, {"more": 1}),
            " at launch 1 (run), line 3, seq 3, event 3",
            {"launch": 0, "line": 3, "seq": 3, "order": 3, "more": 1},
        ),
    ],
)
def test_a_place_is_told_as_far_as_it_is_known(
    where: Where, words: str, data: dict[str, object]
) -> None:
    assert where.words() == words
    assert where.data() == data
    violation = broken("L1", "it broke", 1, "two", where)
    assert violation.message == f"it broke: expected 1, found two{words}"
    assert violation.evidence == {**data, "expected": "1", "found": "two"}


def test_a_long_value_is_cut() -> None:
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 201) == f"{'x' * 200}… (201 characters)"
    assert shown(["x"]) == "['x']"


@pytest.mark.parametrize(
    ("argv", "text", "found"),
    [
        (("echo", "a"), "a", True),
        (("echo", "abc"), "a", False),  # too short to be found within a word
        (("echo", "a1234567"), "1234567", False),
        (("echo", "a12345678"), "12345678", True),
        (("echo", "a12345678"), "123456789", False),
    ],
)
def test_a_command_line_carries_a_word_or_a_long_part_of_one(
    argv: tuple[str, ...], text: str, found: bool
) -> None:
    assert carries(argv, text) is found


def test_launches_may_be_counted_from_any_number() -> None:
    """A case that begins with a damaged log has the launches after the damage only."""
    story = Story("say it").launch("run").header().end().launch("resume").prompt().end()
    evidence = story.evidence()
    case = Case(replace(evidence, launches=evidence.launches[1:]))
    assert case.launch_of(evidence.events[-1]) is evidence.launches[1]


def test_what_a_case_remembers_is_no_part_of_it() -> None:
    evidence = STORY.evidence()
    case = Case(evidence)
    assert case.remember(lambda known: known.final.attempts) == case.final.attempts
    assert case == Case(evidence)


def test_of_several_calls_at_work_the_effect_is_of_the_one_that_the_reference_has_it_for() -> None:
    def story() -> Story:
        both = (("bash", {"command": "one"}), ("bash", {"command": "two"}))
        return Story("do it").launch("run").header().prompt().attempt().request().reply(*both)

    usual = story().intent(0).effect("one").result(0).intent(1).effect("two").result(1)
    usual.attempt().request().reply("done").finish().end()
    at_once = story().intent(0).intent(1).effect("one").effect("two").effect("three").dead()
    case = Case(at_once.evidence(usual.evidence()))
    first, second = ([*counted] for counted in case.effects.values())
    assert (first, second) == (["one"], ["two", "three"])  # the last has what nobody knows
