"""A damaged session is refused, untouched, or opened and gone on with: the judge knows which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from chaos.damage import Damage
from chaos.judge import inexact
from tests.judge.build import BASH, TOOL_PID, Story, broken, deploy, ids, plain

REFUSAL = "corrupt session: MALFORMED_JSON at line 3, seq 4: …"
GLUED = "glue@3"  # MALFORMED_JSON at line 3, in any session


def damaged(story: Story, damage: str = GLUED) -> Story:
    """The log is damaged, and a resume starts."""
    story.log = Damage.parse(damage).apply(story.log)
    return story.launch("resume")


def end(story: Story, code: int = 4, stderr: str = REFUSAL, damage: str = GLUED) -> Story:
    return story.end(code, stderr=stderr, first=(f"damage: {damage}",))


def test_it_is_refused() -> None:
    assert broken(end(damaged(plain())).evidence()) == []


def test_it_is_opened_all_the_same() -> None:
    assert broken(end(damaged(plain()), code=0, stderr="").evidence()) == [
        "R1: a corrupt session was opened: expected exit code 4: MALFORMED_JSON at line 3, found "
        "exit code 0 at launch 2 (resume)"
    ]


def test_it_is_opened_and_mended() -> None:
    """What must be refused is the log as the damage left it."""
    whole = plain()
    log = whole.log
    story = end(damaged(whole).overwrite(log), code=0, stderr="").launch("idle").end()
    assert (
        "R1: a corrupt session was opened: expected exit code 4: MALFORMED_JSON at line 3, found "
        "exit code 0 at launch 2 (resume)"
    ) in broken(story.evidence())


@pytest.mark.parametrize("stderr", ["", "corrupt session", "MALFORMED_JSON at line 30", "line 3"])
def test_it_does_not_say_what_is_wrong(stderr: str) -> None:
    (message,) = broken(end(damaged(plain()), stderr=stderr).evidence())
    what = "R2: a corrupt session does not say what is wrong: expected MALFORMED_JSON at line 3"
    assert message == f"{what}, found {stderr or 'no word'} at launch 2 (resume)"


@pytest.mark.parametrize(
    ("act", "found"),
    [
        (lambda s: s.request(), "request 1"),
        (lambda s: s.effect("x"), "effect 'x'"),
        (lambda s: s.change("x", "y", pid=TOOL_PID), "rename of x"),
    ],
)
def test_it_is_acted_upon(act: Callable[[Story], Story], found: str) -> None:
    messages = broken(end(act(damaged(plain()))).evidence())
    assert (
        "R1: a corrupt session was acted upon: expected nothing to happen: MALFORMED_JSON at line "
        f"3, found {found} at launch 2 (resume)" in messages
    )


def test_what_each_launch_after_the_damage_did_counts() -> None:
    what = "R1: a corrupt session was acted upon"
    story = end(damaged(plain()).request()).launch("idle").end(4, stderr=REFUSAL)
    assert what in "; ".join(broken(story.evidence()))
    story = end(damaged(plain())).launch("resume").request().end(4, stderr=REFUSAL)
    assert what in "; ".join(broken(story.evidence()))


@pytest.mark.parametrize("change", [lambda s: s.cut(20), lambda s: s.append(b"{}\n")])
def test_one_byte_is_changed(change: Callable[[Story], Story]) -> None:
    messages = broken(end(change(damaged(plain()))).evidence())
    assert any("the log of a corrupt session was changed" in message for message in messages)


def test_a_torn_tail_of_a_corrupt_log_stays_too() -> None:
    story = plain()
    story.log += b'{"torn'
    changed = end(damaged(story).cut())
    assert ids(changed.evidence()) == ["L2"]


def cut_before(story: Story, fact: bytes) -> str:
    """The damage that takes the last line with `fact` in it, and all that follows."""
    at = story.log.rindex(b"\n", 0, story.log.rindex(fact)) + 1
    story._seq = story.log[:at].count(b'"seq"')
    return f"cut@{at}"


def test_what_can_be_read_must_open() -> None:
    """A cut between two lines leaves a valid log: the session is not refused."""
    story = plain()
    cut = cut_before(story, b"operationFinished")
    assert ids(end(damaged(story, cut), damage=cut).evidence()) == ["R1"]


def test_it_goes_on_after_a_cut() -> None:
    story = plain()
    cut = cut_before(story, b"operationFinished")
    story = end(damaged(story, cut).finish(), code=0, stderr="", damage=cut)
    assert broken(story.idle().evidence()) == []


def test_what_the_damage_took_is_nobodys_fault() -> None:
    """The prompt is gone, and so is what was done for it: an idle session is left."""
    story = deploy(expect_effects={"deploy": "once"})
    cut = cut_before(story, b"runStarted")
    story = end(damaged(story, cut), code=0, stderr="", damage=cut)
    assert broken(story.evidence()) == []


def test_an_effect_counts_for_an_intent_that_is_left() -> None:
    """Its result is gone, its intent is not: to do it again is once too often."""
    story = deploy()
    cut = cut_before(story, b"toolStartedId")
    again = damaged(story, cut).effect()
    assert "E2" in ids(end(again, code=0, stderr="", damage=cut).evidence())


def test_an_effect_whose_intent_is_gone_counts_no_more() -> None:
    story = deploy(expect_effects={"deploy": "at-most-once"})
    cut = cut_before(story, b'"toolStarted"')
    again = damaged(story, cut).effect()
    assert "E2" not in ids(end(again, code=0, stderr="", damage=cut).evidence())


def test_an_effect_after_the_damage_counts_once() -> None:
    story = Story("deploy it", expect_effects={"deploy": "at-most-once"})
    story.launch("run", "log:toolStarted[bash]#1/after").header().prompt().attempt().request()
    same = "say@1:version=2"
    story = damaged(story.reply(BASH).intent().dead(), same).effect()
    assert "E2" not in ids(end(story, 0, "", same).evidence())


def test_a_log_made_whole_again_is_judged_as_ever() -> None:
    """Two damages: refused under the first, and open after the second took it back."""
    story = plain()
    other, own = "say@1:version=3", "say@1:version=2"
    refusal = "UNSUPPORTED_VERSION at line 1"
    story = end(damaged(story, other), stderr=refusal, damage=other)
    story = end(damaged(story, own), code=0, stderr="", damage=own)
    assert broken(story.idle().evidence()) == []
    assert inexact(story.evidence()) == []


def test_a_damage_explains_the_change_between_two_launches() -> None:
    story = end(damaged(plain()))
    assert inexact(story.evidence()) == []


def test_and_no_other_change() -> None:
    story = damaged(plain(), "crlf")
    assert inexact(end(story, damage=GLUED).evidence()) == [
        "launch 2 (resume): the log changed between two launches, not by damage: glue@3 alone"
    ]


def test_a_damage_that_cannot_have_been_done() -> None:
    (fault,) = inexact(end(damaged(plain()), damage="cut@9999999").evidence())
    assert fault.startswith("launch 2 (resume): damage: cut@9999999: the log has no such place")


def asked_under_a_change() -> Story:
    story = Story("deploy it", expect_blocked="configuration_changed")
    story.launch("run", "log:stepAttempt#1/after").header().prompt().attempt().request()
    return story.dead(changed=("set:AGENT_MODEL=other",))


def test_what_was_changed_before_a_damage_holds_up_after_it() -> None:
    story = asked_under_a_change()
    story.log += b'{"torn'
    story.launches[0] = replace(story.launches[0], log_after=story.blobs.put(story.log))
    cut = f"cut@{len(story.log) - 1}"
    story = damaged(story, cut)
    assert broken(end(story, 3, "blocked: configuration_changed", cut).evidence()) == []


def test_and_is_not_gone_on_with() -> None:
    story = asked_under_a_change()
    same = "say@1:version=2"
    story = damaged(story, same).attempt(2).request().reply("said").finish()
    assert ids(end(story, 0, "", same).evidence()) == ["R4"]
