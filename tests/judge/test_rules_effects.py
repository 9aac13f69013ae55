"""Rules E1 to E4: courses that break each, and the nearest that do not. See `test_smallest` too."""

from __future__ import annotations

import pytest

from chaos.evidence import Evidence
from tests.judge.build import (
    BASH,
    COMMAND,
    READ,
    TOOL_PID,
    Story,
    broken,
    deploy,
    ids,
    killed_deploy,
    live,
)

REFERENCE = deploy().idle().probe().evidence()
SHELL = f"sh -c {COMMAND}"


def called() -> Story:
    """The model asked for the deploy."""
    return Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)


def ended(story: Story) -> Evidence:
    """The rest of a good run, after the result."""
    story.attempt().request().reply("deployed").finish().end()
    return story.idle().probe().evidence(REFERENCE)


def test_e1_a_tool_that_starts_before_its_intent() -> None:
    assert broken(ended(called().exec().effect().intent().result())) == [
        f"E1: it happened before its intent: expected a pending toolStarted, found start of "
        f"{SHELL!r} with assistant as the last fact at launch 1 (run), line 4, seq 4, event 7"
    ]


@pytest.mark.parametrize("act", ["effect", "change"])
def test_e1_judges_each_kind_of_act_alone(act: str) -> None:
    story = called()
    story.effect() if act == "effect" else story.change("out.txt", "x", pid=TOOL_PID)
    assert "E1" in ids(ended(story.intent().exec().effect().result()))


def test_e1_an_effect_after_the_result() -> None:
    assert ids(ended(called().intent().exec().result().effect())) == ["E1"]


def test_e1_the_late_effect_of_a_tool_that_outlives_its_agent_has_its_intent() -> None:
    story = Story("deploy it").launch("run", "log:toolStarted#1/after").header().prompt()
    story.attempt().request().reply(BASH).intent().effect().dead()
    live(story.launch("resume"))
    assert broken(story.idle().probe().evidence(REFERENCE)) == []


def test_e1_a_second_call_that_starts_while_the_first_is_pending() -> None:
    other = ("bash", {"command": "echo other >> x"})
    story = Story("two").launch("run").header().prompt().attempt().request().reply(BASH, other)
    story.intent(0).exec().exec("sh", "-c", "echo other >> x").result(0).intent(1).result(1)
    story.attempt().request().reply().finish().end()
    assert [m[:60] for m in broken(story.idle().probe().evidence())] == [
        "E1: it happened before its intent: expected a pending toolSt"
    ]


def test_e1_what_a_tool_starts_in_turn_is_its_own() -> None:
    story = called().intent().exec().exec("cat", "notes.txt").effect().result()
    assert broken(ended(story)) == []


def test_e1_helpers_and_sweeps_are_no_tools() -> None:
    story = Story("deploy it", files={".killpoint-tmp-1": "left"}).launch("run")
    story.exec("git", "status").change(".killpoint-tmp-1", None, "unlink")
    story.header().prompt().attempt().request().reply(BASH).intent().exec().effect().result()
    assert broken(ended(story)) == []


@pytest.mark.parametrize(
    ("path", "text", "call"), [("notes.txt", None, "unlink"), (".killpoint-tmp-1", "x", "write")]
)
def test_e1_what_is_no_sweep_needs_an_intent(path: str, text: str | None, call: str) -> None:
    story = Story("deploy it", files={"notes.txt": "x"}).launch("run").change(path, text, call)
    assert "E1" in ids(
        story.header().prompt().attempt().request().reply().finish().end().evidence()
    )


def test_e2_and_e4_a_call_recorded_never_is_run_again() -> None:
    story = killed_deploy().launch("resume").exec().effect().result()
    assert broken(ended(story)) == [
        "E4: bash call 'call_0' of an earlier launch was run again: expected no replay: the "
        f"log says replay=never, found start of {SHELL!r} "
        "at launch 2 (resume), line 5, seq 6, event 12",
        "E2: effect 'deploy' of bash call 'call_0' happened too often: expected at most 1, found 2 "
        "at launch 2 (resume), line 5, seq 6",
    ]


def test_e2_whatever_a_call_before_it_did() -> None:
    """A safe one may happen again, and hides nothing."""
    story = Story("deploy it").launch("run").header().prompt().attempt().request()
    story.reply(BASH, ("bash", {"command": "echo again"}))
    story.intent(replay="safe").exec().effect("read").result()
    story.intent(1).exec("bash", "-c", "echo again").effect("again").effect("again").result(1)
    assert "E2" in ids(story.dead().evidence())


def test_e2_as_often_as_the_reference_is_right() -> None:
    def twice() -> Story:
        return called().intent().exec().effect("a").effect("a").result()

    reference = twice().attempt().request().reply("deployed").finish().end().evidence()
    story = twice().attempt().request().reply("deployed").finish().end().idle().probe()
    assert broken(story.evidence(reference)) == []


@pytest.mark.parametrize(
    ("wanted", "effects", "found"),
    [
        ("never", 0, []),
        ("never", 1, ["expected never, found 1 times"]),
        ("at-most-once", 1, []),
        ("at-most-once", 2, ["expected at-most-once, found 2 times"]),
        ("once", 1, []),
        ("once", 0, ["expected once, found 0 times"]),
        ("per-intent", 1, []),
        ("per-intent", 2, ["expected per-intent, found 2 times for one intent"]),
    ],
)
def test_e2_the_scenario_expects(wanted: str, effects: int, found: list[str]) -> None:
    story = Story("deploy it", expect_effects={"deploy": wanted}).launch("run").header().prompt()
    story.attempt().request().reply(BASH).intent().exec()
    for _ in range(effects):
        story.effect()
    story.result().attempt().request().reply("deployed").finish().end()
    expected = [m for m in broken(story.idle().probe().evidence()) if "too often" not in m]
    at = "launch 1 (run)" if effects else "launch 3 (probe)"
    assert expected == [f"E2: effect 'deploy': {text} at {at}" for text in found]


def test_e2_once_accepts_a_call_that_was_reported_as_unknown() -> None:
    story = Story("deploy it", expect_effects={"deploy": "once"})
    live(story.launch("run", "log:toolStarted#1/after"))
    live(story.launch("resume"))
    assert broken(story.idle().probe().evidence(REFERENCE)) == []


def test_e1_a_call_that_leaves_a_file_as_it_was_is_no_act() -> None:
    story = Story("say it", files={"a.txt": "same"}).launch("run").header().prompt()
    story.change("a.txt", "same", call="write").attempt().request().reply("said").finish().end()
    assert broken(story.idle().probe().evidence()) == []
    story = Story("say it", files={"a.txt": "same"}).launch("run").header().prompt()
    story.change("a.txt", "other", call="write").attempt().request().reply("said").finish().end()
    assert "E1" in [m[:2] for m in broken(story.idle().probe().evidence())]


def test_e3_an_unknown_result_promises_nothing() -> None:
    story = live(Story("deploy it").launch("run", "log:toolStarted#1/after"))
    live(story.launch("resume"))
    assert broken(story.idle().probe().evidence(REFERENCE)) == []


def test_e3_counts_what_came_too_early_with_what_came_in_time() -> None:
    """E1's business; it was done."""
    known = called().intent().exec().effect().effect().result().attempt().request()
    reference = known.reply("deployed").finish().end().evidence()
    story = called().effect().intent().exec().effect().result().attempt().request()
    found = ids(story.reply("deployed").finish().end().evidence(reference))
    assert ("E1" in found, "E3" in found) == (True, False)


def test_e3_a_call_that_promises_nothing_hides_no_later_one() -> None:
    def two(done: bool) -> Story:
        story = Story("deploy it").launch("run").header().prompt().attempt().request()
        story.reply(BASH, BASH).intent(0).result(0, "error").intent(1).exec()
        story = story.effect() if done else story
        return story.result(1).attempt().request().reply("deployed").finish().end()

    assert "E3" in ids(two(False).evidence(two(True).evidence()))


def test_e3_is_told_once_whatever_the_references() -> None:
    story = called().intent().exec().result().attempt().request().reply("deployed").finish().end()
    failed = called().intent().exec().effect().result(outcome="error")
    other = failed.attempt().request().reply("deployed").finish().end().evidence()
    assert [
        m for m in broken(story.evidence(other, REFERENCE, REFERENCE)) if m.startswith("E3")
    ] == [
        "E3: bash call 'call_0' succeeded without its effect 'deploy': expected 1, as in the "
        "reference, found 0 at line 6, seq 7"
    ]
    assert "E3" not in ids(story.evidence(other))


def test_e4_a_safe_call_may_be_run_again() -> None:
    story = Story("read it").launch("run", "log:toolResult#1/before").header().prompt().attempt()
    story.request().reply(READ).intent().exec("cat", "notes.txt").result().dead()
    story.launch("resume").exec("cat", "notes.txt").result()
    story.attempt().request().reply().finish().end()
    assert broken(story.idle().probe().evidence()) == []


def test_e4_a_call_declared_otherwise_is_not_run_again() -> None:
    def read(key: bytes) -> Story:
        """The second of two calls; the first is over."""
        story = Story("read it").launch("run").header().prompt().attempt().request()
        story.reply(BASH, READ).intent().result().intent(1)
        story.log = story.log.replace(b"builtin:read:v1", key)
        return story

    told = read(b"builtin:read:v1").result(1).attempt().request().reply("done").finish().end()
    again = read(b"builtin:read:v0").end(None, signal=9, killed=True)
    again.launch("resume").result(1).attempt().request().reply("done").finish().end()
    found = broken(again.evidence(told.evidence()))
    assert [message for message in found if message.startswith("E4")] == [
        "E4: read call 'call_1' was run again: expected no replay: it is declared builtin:read:v1 "
        "now, found recorded builtin:read:v0 at launch 2 (resume), line 7, seq 8"
    ]


def test_e4_a_read_of_somebody_else_is_not_the_built_in_one() -> None:
    story = Story("read it").launch("run").header().prompt().attempt().request().reply(READ)
    story.intent()
    story.log = story.log.replace(b"builtin:read:v1", b"mcp:desk:read")
    assert "E4" in ids(story.end(None, signal=9, killed=True).evidence())


def test_e4_only_the_built_in_read_is_safe() -> None:
    story = called().intent(replay="safe").exec().effect().result()
    assert broken(ended(story)) == [
        "E4: an intent is recorded safe: expected safe for the built-in read only, found safe for "
        "bash, key 'builtin:bash:v1' at line 5, seq 6"
    ]
