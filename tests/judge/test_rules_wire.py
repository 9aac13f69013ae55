"""Rules for a session that is told by the wire: what is no fault; each fault and its message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaos.judge import RULES, judge
from chaos.judge.applicable import not_applicable, statements
from chaos.judge.case import Need
from tests.judge.build import plain
from tests.judge.wire import CODES, GO_ON, WireStory, shipped

REFERENCE = shipped().idle().probe().evidence()


def killed_in_the_tool() -> WireStory:
    """It ships, and dies before the result is told; it remembers the call."""
    return WireStory("ship it").launch("run").ask().call("ship").effect("ship").die()


def killed_at_the_request(**facts: Any) -> WireStory:
    """It dies as its first request arrives, answered by nothing."""
    return WireStory("ship it", **facts).launch("run").ask(answered=False, status=0).die()


def asked_twice_then_silent() -> WireStory:
    """Its first request is answered; the one that asks again after a crash is not, nor repeated."""
    story = WireStory("ship it", goes_on="").launch("run").ask().die()
    return story.launch("resume").ask(answered=False, status=0).die().launch("resume").end()


def killed_before_the_second_request() -> WireStory:
    """The result of the call was told, and then it dies."""
    story = WireStory("ship it").launch("run").ask().call("ship").effect("ship").result()
    return story.ask(answered=False).die()


def resumed(story: WireStory) -> WireStory:
    """A good end of it."""
    return story.launch("resume").ask().say("all done").end().idle().probe()


def joined() -> WireStory:
    """It tells the words that it was given one after the other in one message."""
    story = killed_at_the_request().launch("resume").forget(2)
    story.memory.append({"role": "user", "content": f"ship it\n\n{GO_ON}"})
    return story.ask().say("done").end().idle().probe()


GOOD: dict[str, Callable[[], WireStory]] = {
    "no kill": lambda: shipped().idle().probe(),
    "an unknown result is told": lambda: resumed(killed_in_the_tool().result("interrupted")),
    "the prompt is asked again": lambda: resumed(killed_at_the_request()),
    "a request before the kill is not the whole story": lambda: resumed(
        killed_before_the_second_request()
    ),
    "no prompt was accepted, and it is given again": lambda: (
        WireStory("ship it").launch("run").forget().die().launch("run", "ship it").ask().end()
    ),
    "a prompt that is given twice may stand there twice": lambda: (
        WireStory("ship it", acknowledged="exit")
        .launch("run")
        .ask(answered=False)
        .die()
        .launch("run", "ship it")
        .ask()
        .say("done")
        .end()
    ),
    "without a prompt of its own, resume goes on": lambda: (
        killed_at_the_request(goes_on="").launch("resume").ask().say("done").end().idle().probe()
    ),
    "the user's words are joined": joined,
}


@pytest.mark.parametrize("story", GOOD.values(), ids=GOOD.keys())
def test_a_good_agent_is_quiet(story: Callable[[], WireStory]) -> None:
    assert [v.message for v in judge(story().evidence(REFERENCE))] == []


def lost_prompt() -> WireStory:
    return killed_at_the_request().forget().launch("resume").ask().say("what?").end()


def lost_with_its_effect() -> WireStory:
    return killed_in_the_tool().forget(2).launch("resume").ask().say("what?").end().idle()


def doubled_prompt() -> WireStory:
    story = killed_at_the_request()
    story.memory *= 2
    return story.launch("resume").ask().say("done").end()


def forgotten_result() -> WireStory:
    return killed_before_the_second_request().forget(2).launch("resume").ask().say("ok").end()


def forgotten_effect() -> WireStory:
    return killed_in_the_tool().forget().launch("resume").ask().say("done").end()


def doubled_effect() -> WireStory:
    story = killed_in_the_tool().launch("resume").effect("ship").forget().result()
    return story.ask().say("done").end()


def tool_in_an_idle_resume() -> WireStory:
    story = shipped().launch("idle").effect("other").ask().say("hm").end()
    story.facts.expect_effects["other"] = "once"  # type: ignore[index]
    return story


# Rule, its story, its message, and what cannot be had without it.
BAD: list[tuple[str, Callable[[], WireStory], str, list[str]]] = [
    (
        "R1",
        lost_prompt,
        "prompt 'ship it' is lost: expected it in every later request, found a user saying "
        "['go on'] at launch 2 (resume), event 2",
        [],
    ),
    (
        "R1",
        lost_with_its_effect,
        "prompt 'ship it' is lost: expected it in every later request, found a user saying "
        "['go on'] at launch 2 (resume), event 4",
        [],
    ),
    (
        "R1",
        doubled_prompt,
        "prompt 'ship it' is doubled: expected it 1 times at most, found it 2 times at launch 2 "
        "(resume), event 2",
        [],
    ),
    (
        "R1",
        lambda: killed_at_the_request(goes_on="").launch("resume").end(),
        "prompt 'ship it' was given up: expected a request that holds it, found none after launch "
        "1 was killed before its answer was out at launch 2 (resume)",
        [],
    ),
    (
        "R1",
        asked_twice_then_silent,
        "prompt 'ship it' was given up: expected a request that holds it, found none after launch "
        "2 was killed before its answer was out at launch 3 (resume)",
        [],
    ),
    (
        "R1",
        lambda: WireStory("ship it").launch("run").end(),
        "prompt 'ship it' reached nobody: expected a request that holds it, found an end without "
        "one at launch 1 (run)",
        [],
    ),
    (
        "R1",
        lambda: shipped().launch("probe").ask().say("no tools today").end(),
        "the probe turn failed: expected it once, found its tool's effect 0 times at launch 2 "
        "(probe)",
        [],
    ),
    (
        "P6",
        forgotten_result,
        "what event 4 told the model is not told any more: expected call of bash "
        '{"command": "echo ship"}, found a request of 2 messages without it at launch 2 (resume), '
        "event 5",
        [],
    ),
    (
        "E6",
        forgotten_effect,
        "effect 'ship' is forgotten: expected a call that names it, with a result, found a request "
        "of 2 messages without one (it happened at event 3) at launch 2 (resume), event 4",
        [],
    ),
    (
        "E2",
        doubled_effect,
        "effect 'ship': expected at most 1 times, as without a kill, found 2 times at launch 2 "
        "(resume)",
        [],
    ),
    (
        "R2",
        lambda: resumed(killed_at_the_request()).launch("resume").forget().end(3, stderr="no!\n"),
        "wrong exit code: expected 0, found 3: stderr ends 'no!' at launch 5 (resume)",
        [],
    ),
    (
        "R3",
        tool_in_an_idle_resume,
        "an idle resume was not idle: expected nothing to happen, found effect 'other' at launch 2 "
        "(idle), event 6",
        ["E6"],
    ),
    (
        "R3",
        lambda: shipped(goes_on="").launch("idle").ask().say("hm").end(),
        "an idle resume was not idle: expected nothing to happen, found a request to the provider "
        "at launch 2 (idle), event 6",
        ["P3"],  # nothing was said since
    ),
]


@pytest.mark.parametrize(("rule", "story", "message", "besides"), BAD)
def test_a_fault_breaks_its_rule(
    rule: str, story: Callable[[], WireStory], message: str, besides: list[str]
) -> None:
    found = judge(story().evidence(REFERENCE))
    assert [each.message for each in found if each.id == rule] == [message]
    assert [each.id for each in found if each.id != rule] == besides


def test_no_rule_is_left_out() -> None:
    assert {row[0] for row in BAD} == {rule.id for rule in RULES if Need.WIRE in rule.needs}


def test_without_a_kill_what_is_expected_once_must_happen() -> None:
    facts: dict[str, Any] = {"expect_effects": {"fly": "once"}}
    assert [v.message for v in judge(shipped(**facts).idle().evidence(REFERENCE))] == [
        "effect 'fly': expected once, found 0 times at launch 2 (idle)"
    ]
    killed = resumed(killed_at_the_request(**facts))
    assert judge(killed.evidence(REFERENCE)) == []


@pytest.mark.parametrize(
    ("wanted", "most"), [("never", 0), ("once", 1), ("at-most-once", 1), ("per-intent", 9)]
)
def test_an_effect_happens_as_often_as_the_scenario_expects(wanted: str, most: int) -> None:
    for count in range(4):
        story = WireStory("ship it", expect_effects={"ship": wanted}).launch("run").ask()
        story.call("ship")
        for _ in range(count):
            story.effect("ship")
        story.result().ask().say("shipped").end()
        found = [v.message for v in judge(story.evidence(REFERENCE))]
        told = f"effect 'ship': expected {wanted}, found {count} times at launch 1 (run)"
        assert found == ([told] if count > most or (count, wanted) == (0, "once") else [])


def test_one_that_fell_over_is_told_once() -> None:
    told = "Traceback (most recent call last):\nValueError: no\n"
    story = shipped().launch("resume").end(1, stderr=told)
    assert [v.message for v in judge(story.evidence(REFERENCE))] == [
        "the target fell over: expected an orderly end, found 'Traceback (most recent call last):' "
        "… stderr ends 'ValueError: no' at launch 2 (resume)"
    ]


@pytest.mark.parametrize(("acknowledged", "broken"), [("exit", []), ("request", ["E2"])])
def test_who_must_give_a_prompt_again_asks_for_its_effects_again(
    acknowledged: str, broken: list[str]
) -> None:
    story = WireStory("ship it", acknowledged=acknowledged)
    story.launch("run").ask().call("ship").effect("ship").die().result("unknown")
    story.launch("run", "ship it").ask().call("ship").effect("ship").result().ask().say("ok").end()
    assert [v.id for v in judge(story.evidence(REFERENCE))] == broken


def test_without_a_run_its_effects_are_asked_for_once() -> None:
    """As after a damage, which begins a case of its own."""
    story = WireStory("ship it", acknowledged="exit").launch("resume").ask().call("ship")
    story.effect("ship").result().ask().say("ok").end()
    assert "E2" not in [fault.id for fault in judge(story.evidence(REFERENCE))]


def test_only_a_second_resume_is_idle() -> None:
    story = shipped().launch("abort").effect("ship").end()
    assert "R3" not in [fault.id for fault in judge(story.evidence(REFERENCE))]


def test_an_effect_of_an_idle_resume_after_something_that_it_may_do() -> None:
    story = shipped().launch("idle").ask().effect("ship").say("nothing left").end()
    assert "R3" in [fault.id for fault in judge(story.evidence(REFERENCE))]


def test_an_effect_that_is_right_hides_no_other() -> None:
    story = WireStory("ship it", expect_effects={"ship": "once"}).launch("run").ask().call("ship")
    story.effect("ship").effect("other").result().ask().say("shipped").end()
    told = [fault.message for fault in judge(story.evidence(REFERENCE))]
    assert any(message.startswith("effect 'other': expected at most 0 times") for message in told)


def test_a_session_that_does_not_open_is_told_of_any_launch() -> None:
    """Though nothing of it is read."""
    story = killed_at_the_request(exit_codes=CODES | {"corrupt": 4}).launch("resume")
    faults = judge(story.end(4, stderr="what is this?").evidence())
    assert any(fault.message.startswith("the session does not open") for fault in faults)


def test_a_side_request_is_no_turn() -> None:
    story = shipped(side=("a short title",)).launch("idle")
    story.ask(messages=[{"role": "user", "content": "a short title for: ship it"}])
    assert judge(story.ask().say("nothing").end().evidence()) == []
    story = shipped().launch("idle")
    story.ask(messages=[{"role": "user", "content": "a short title for: this"}])
    assert [v.id for v in judge(story.end().evidence())] == ["R1"]


def test_an_illegal_request_is_told_and_holds_nothing() -> None:
    story = shipped().launch("idle").ask(messages=[{"role": "tool", "content": "x"}])
    assert {v.id for v in judge(story.end().evidence())} == {"P3"}


def test_rules_that_cannot_be_seen_are_named() -> None:
    facts = shipped().facts
    missing = not_applicable(RULES, facts)
    assert missing["L2"] == "needs a session log that can be read"
    assert missing["P1"] == "needs the facts of a session log"
    judged = statements(RULES, facts)
    assert sorted(judged) == ["E2", "E5", "E6", "P3", "P6", "R1", "R2", "R3", "X1", "X3", "X4"]
    assert judged["R1"] == "an accepted prompt reaches the model again, and once"
    assert set(missing) | set(judged) == {rule.id for rule in RULES}
    assert not set(missing) & set(judged)
    assert not_applicable(RULES, plain().facts) == {}
