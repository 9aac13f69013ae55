"""Rule R5: ends that differ from the run without a kill, and ends that only seem to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.evidence import Evidence
from tests.judge.build import BASH, READ, WRITE, Story, broken, deploy, ids, live, plain

REFERENCE = deploy().idle().probe().evidence()


def called() -> Story:
    """The model asked for the deploy."""
    return Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)


def ended(story: Story, text: str = "deployed", *references: Evidence) -> Evidence:
    """The rest of a good run, after the result."""
    story.attempt().request().reply(text).finish().end()
    return story.idle().probe().evidence(*(references or (REFERENCE,)))


def worked() -> Story:
    """The call was made, its effect happened, its result is still to come."""
    return called().intent().exec().effect()


def test_r5_another_answer() -> None:
    assert broken(ended(worked().result(), "undeployed")) == [
        'R5: message 4 of operation 1: expected {"role": "assistant", "content": "deployed"}, '
        'found {"role": "assistant", "content": "undeployed"} at launch 1 (run), line 8, seq 9'
    ]


@pytest.mark.parametrize(("outcome", "text"), [("error", "ok"), ("success", "fine")])
def test_r5_another_result(outcome: str, text: str) -> None:
    (message,) = broken(ended(worked().result(outcome=outcome, text=text)))
    assert message == (
        'R5: message 3 of operation 1: expected {"role": "tool", "content": "ok", "answers": '
        f'"call_0", "result": "success"}}, found {{"role": "tool", "content": "{text}", "answers": '
        f'"call_0", "result": "{outcome}"}} at launch 1 (run), line 6, seq 7'
    )


def test_r5_the_first_reference_is_told() -> None:
    others = [ended(worked().result(), answer, REFERENCE) for answer in ("this", "that")]
    (message,) = broken(ended(worked().result(), "else", *others))
    assert 'expected {"role": "assistant", "content": "this"}' in message


def test_r5_an_answer_is_told_in_its_own_letters() -> None:
    (message,) = broken(ended(worked().result(), "déployé"))
    assert 'found {"role": "assistant", "content": "déployé"}' in message


def test_r5_a_message_more() -> None:
    story = worked().result().attempt().request().reply(READ).intent().result()
    assert ids(ended(story)) == ["R5"]


def test_r5_a_message_less() -> None:
    story = worked().result().finish().end()
    assert [m for m in broken(story.evidence(REFERENCE)) if m.startswith("R5")] == [
        'R5: message 4 of operation 1: expected {"role": "assistant", "content": "deployed"}, '
        "found no message at launch 1 (run)"
    ]


def test_r5_a_run_that_came_to_no_end_is_no_reference() -> None:
    blocked = Story("deploy it")
    for kill in ("log:stepAttempt#1/after", "log:stepAttempt#1/after", None):
        live(blocked.launch("resume" if blocked.log else "run", kill))
    left = called().end(0)
    for reference in (blocked.evidence(), left.evidence()):
        assert broken(deploy().idle().probe().evidence(reference)) == []


def test_r5_another_outcome() -> None:
    story = worked().result().attempt().request(status=500, usage=None).step_failed()
    story.finish("failed").end(1)
    assert broken(story.idle().probe().evidence(REFERENCE)) == [
        "R5: the end of operation 1: expected completed normal, found failed provider_error at "
        "launch 1 (run), line 9, seq 10"
    ]


def test_r5_another_number_of_operations() -> None:
    two = Story("deploy it", "again").launch("run").header().prompt().attempt().request().reply()
    two.finish().end().launch("run").prompt().attempt().request().reply().finish().end()
    assert broken(two.evidence(REFERENCE)) == [
        "R5: the number of operations: expected 1, found 2 at launch 2 (run)"
    ]


def test_r5_the_outcome_that_the_scenario_expects() -> None:
    assert broken(plain(expect_outcome="completed").evidence()) == []


def test_r5_ids_and_the_workspace_differ_from_run_to_run() -> None:
    def wrote(cwd: str, ident: str) -> Story:
        text = f"see {cwd}/out.txt and {cwd.rpartition('/')[0]}/effects of {ident}"
        story = Story("say it").launch("run")
        story.header(cwd=cwd).prompt().attempt().request().reply(text).finish().end()
        return story.idle().probe()

    for place in ("/a/lané-1/workspace", "/"):  # whatever the letters, however short
        told = wrote(place, "018f0000-0000-7000-8000-00000000000a").evidence()
        again = wrote(place.replace("a", "b"), "018f0000-0000-7000-8000-00000000000b")
        assert broken(again.evidence(told)) == []
    one = wrote("/a/lane-1/workspace", "018f0000-0000-7000-8000-00000000000a")
    other = wrote("/b/lane-23/workspace", "018f0000-0000-7000-8000-00000000000b")
    third = wrote("/b/lane-23/workspace", "another")
    assert broken(one.evidence(other.evidence())) == []
    assert ids(one.evidence(third.evidence())) == ["R5"]


def interrupted(*, answer: str, calls: bool = False) -> Evidence:
    """The call is reported as unknown; the model may say something else then."""
    story = live(Story("deploy it").launch("run", "log:toolStarted#1/after"))
    story.launch("resume").result(outcome="interrupted")
    if calls:
        story.attempt().request().reply(READ).intent().result()
    return ended(story, answer)


def test_r5_from_an_interrupted_result_on_only_the_shape_counts() -> None:
    assert broken(interrupted(answer="was it deployed?")) == []
    assert broken(interrupted(answer="I look", calls=True)) == [
        "R5: message 4 of operation 1: expected assistant calling [], found assistant calling "
        "['read'] at launch 2 (resume), line 8, seq 9"
    ]


def test_r5_before_the_interrupted_result_all_counts() -> None:
    story = Story("deploy it").launch("run", "log:toolResult#1/before").header().prompt().attempt()
    story.request().reply("I deploy", BASH).intent().exec().effect().result().dead()
    story.launch("resume").result(outcome="interrupted")
    assert ids(ended(story)) == ["R5"]


def faulty(fault: bool, text: str = "") -> Story:
    """Two prompts; the provider may fail the first one. `text` is in a file."""
    story = Story("one", "two", files={"out.txt": text} if text else None)
    story.launch("run").header().prompt().attempt()
    if fault:
        story.request(status=500, usage=None, injected=True).step_failed().finish("failed").end(1)
    else:
        story.request().reply("first").finish().end()
    return story.launch("run").prompt().attempt().request().reply("second").finish().end()


def test_r5_picks_the_reference_by_what_is_durable() -> None:
    references = (faulty(True).evidence(), faulty(False).evidence())
    for fault in (True, False):
        assert broken(faulty(fault).idle().probe().evidence(*references)) == []
        assert ids(faulty(fault).idle().evidence(references[fault])) == ["R5"]


def test_r5_the_files_are_those_of_a_reference_that_met_the_same_faults() -> None:
    references = (faulty(True, "failed").evidence(), faulty(False, "done").evidence())
    for fault, text, other in ((True, "failed", "done"), (False, "done", "failed")):
        assert broken(faulty(fault, text).evidence(*references)) == []
        assert broken(faulty(fault, other).evidence(*references)) == [
            f"R5: the content of out.txt: expected b'{text}', found b'{other}' at launch 2 (run)"
        ]
    (fault,) = broken(faulty(True, "else").evidence(references[1]))  # no better one to compare
    assert fault.startswith("R5: the end of operation 1: expected completed normal, found failed")


def test_r5_is_not_judged_when_blocked() -> None:
    story = Story("deploy it", expect_outcome="completed")
    for kill in ("log:stepAttempt#1/after", "log:stepAttempt#1/after", None):
        live(story.launch("resume" if story.log else "run", kill))
    assert broken(story.evidence(REFERENCE)) == []


def writing(text: str | None, outcome: str = "success", kill: str | None = None) -> Story:
    """One call that leaves `text` in out.txt."""
    story = Story("write it", files={"out.txt": "old"}).launch("run", kill).header().prompt()
    story.attempt().request().reply(WRITE).intent()
    if text != "old":
        story.change("out.txt", text)
    return story.result(outcome=outcome)


def test_r5_the_files_at_the_end() -> None:
    reference = ended(writing("new"))
    assert broken(ended(writing("new"), "deployed", reference)) == []
    assert broken(ended(writing("newer"), "deployed", reference)) == [
        "R5: the content of out.txt: expected b'new', found b'newer' at launch 1 (run)"
    ]
    assert broken(ended(writing(None), "deployed", reference)) == [
        "R5: the content of out.txt: expected b'new', found no such file at launch 1 (run)"
    ]


def test_r5_files_after_an_interrupted_call_may_be_old_or_new() -> None:
    reference = ended(writing("new"))
    for text in ("old", "new"):
        story = writing(text, kill="log:toolResult#1/before").dead()
        story.launch("resume").result(outcome="interrupted")
        assert broken(ended(story, "deployed", reference)) == []


def compacted(summary: str) -> Evidence:
    """A run, and a compaction that leaves this summary."""
    story = plain(steps=("run", "compact")).launch("compact").compact(1).attempt()
    story.request([{"role": "user", "content": "say it"}]).summarised(summary).finish().end()
    return story.evidence()


def test_another_summary() -> None:
    reference = compacted("you said it")
    assert broken(replace(compacted("you said it"), references=(reference,))) == []
    assert broken(replace(compacted("you said"), references=(reference,))) == [
        "R5: the summary of operation 2: expected you said it, found you said at launch 2 "
        "(compact), line 6, seq 7"
    ]
