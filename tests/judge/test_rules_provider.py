"""Rules P: exchanges that break each, and the nearest that do not. See `test_smallest` too."""

from __future__ import annotations

import json

import pytest

from chaos.evidence import ABSENT, Evidence, Request
from tests.judge.build import BASH, SYSTEM, Story, broken, deploy, ids, live, plain

USER = {"role": "user", "content": "deploy it"}


def started() -> Story:
    """A prompt was accepted."""
    return Story("deploy it").launch("run").header().prompt()


def deployed(story: Story) -> Evidence:
    """The rest of a good deploy, after the first reply."""
    story.intent().exec().effect().result().attempt().request().reply("deployed").finish().end()
    return story.idle().probe().evidence()


def test_p1_a_request_after_its_attempt_failed() -> None:
    story = started().attempt().request(status=500).step_failed().request().finish("failed").end(1)
    assert [m.partition(" at launch")[0] for m in broken(story.evidence())] == [
        "P1: a request overtook its attempt: expected an open stepAttempt, found stepFailed as the "
        "last fact of the log",
        "P2: more requests than attempts: expected at most 1, the attempts recorded, found 2",
    ]


def test_p1_holds_for_a_request_that_was_cut_before_its_first_line() -> None:
    story = Story("deploy it").launch("run", "log:stepAttempt#1/before").header().prompt()
    story.request(method="", path="", body=b"", status=0).attempt().dead()
    assert [m[:2] for m in broken(story.evidence())] == ["P1", "P2"]


def test_p2_a_second_attempt_pays_for_a_second_request() -> None:
    story = Story("deploy it")
    story.launch("run", "log:assistant#1/before").header().prompt().attempt().request()
    story.reply(BASH).dead()
    assert broken(deployed(story.launch("resume").attempt(2).request().reply(BASH))) == []


def test_p2_a_step_that_asks_a_third_time_and_the_sum_is_not_told_again() -> None:
    story = started().request().attempt().request().attempt(2).request().attempt(3).request()
    assert [m for m in broken(story.dead().evidence()) if m.startswith("P2")] == [
        "P2: a step asked too often: expected at most 2 requests, found 3 at launch 1 (run), line "
        "5, seq 5, event 12"
    ]


def test_p2_counts_over_all_launches() -> None:
    story = Story("deploy it").launch("run", "log:stepAttempt#1/before").header().prompt()
    story.request().attempt().dead().launch("resume").attempt().request().dead()
    assert [m.partition(", found")[0] for m in broken(story.evidence()) if m[:2] == "P2"] == [
        "P2: more requests than attempts: expected at most 0, the attempts recorded"
    ]
    story = started().attempt().request(status=500).step_failed().dead()
    story.launch("resume").request().finish("failed").end(1)
    assert [m.partition(", found")[0] for m in broken(story.evidence()) if m[:2] == "P2"] == [
        "P2: more requests than attempts: expected at most 1, the attempts recorded"
    ]


def test_p3_a_transcript_that_no_provider_accepts() -> None:
    sent = [{"role": "system", "content": SYSTEM}, USER, USER | {"role": "tool"}]
    body = json.dumps({"model": "test/model", "messages": sent}).encode()
    found = broken(deployed(started().attempt().request(body=body).reply(BASH)))
    assert [m[:2] for m in found] == ["P3", "P4"]
    assert found[0].startswith(
        "P3: a request is illegal: expected a transcript a provider accepts, found messages[2]"
    )


def test_p3_is_as_strict_as_the_provider_that_is_asked() -> None:
    """Messages takes no system message among the others; chat completions does."""
    assert "P3" in ids(deployed(started().attempt().request(path="/v1/messages").reply(BASH)))


def test_p3_does_not_judge_a_request_of_which_only_a_part_arrived() -> None:
    story = Story("deploy it").launch("run", "log:assistant#1/before").header().prompt().attempt()
    story.request(body=b'{"model":', status=0).reply(BASH).dead()
    assert broken(story.evidence()) == []


SAID = '{"role": "user", "content": "deploy it"}'


@pytest.mark.parametrize(
    ("sent", "system", "message"),
    [
        (
            [USER, USER],
            SYSTEM,
            f"message 2 of the context is not the log's: expected no message, found {SAID}",
        ),
        (
            [USER],
            None,
            f"no system message: expected one, as the first message, found {SAID}",
        ),
    ],
)
def test_p4_messages_that_are_not_the_log(
    sent: list[object], system: str | None, message: str
) -> None:
    story = started().attempt().request(sent, system=system).reply(BASH)
    assert broken(deployed(story)) == [f"P4: {message} at launch 1 (run), line 3, seq 3, event 4"]


def test_p4_a_request_that_cannot_be_compared_hides_no_later_one() -> None:
    """One that cannot be read, and one without an attempt."""
    for first in (started().attempt().request(body=b"[]"), started().request().attempt()):
        story = first.attempt(2).request([USER, USER]).reply(BASH)
        assert "P4" in ids(deployed(story))


def test_p4_messages_are_told_in_their_own_letters() -> None:
    story = started().attempt().request([{**USER, "content": "déployer"}]).reply(BASH)
    (message,) = [m for m in broken(deployed(story)) if m.startswith("P4")]
    assert '"content": "déployer"' in message


def test_p4_a_call_that_was_forgotten() -> None:
    story = started().attempt().request().reply(BASH).intent().exec().effect().result()
    story.attempt().request([USER]).reply("deployed").finish().end()
    message, forgotten = broken(story.idle().probe().evidence())
    assert "P4: message 2 of the context is not the log's" in message
    assert forgotten.startswith("E6")


def test_p4_ignores_keys_that_say_nothing() -> None:
    story = started().attempt().request([USER | {"name": "me", "tool_calls": None}], system=SYSTEM)
    assert [m for m in broken(deployed(story.reply(BASH))) if m.startswith("P4")] == []


@pytest.mark.parametrize("other", ["Be bold.", "Zip it."])  # sorts before it, and after
def test_p4_a_system_message_that_changes_under_the_same_digest(other: str) -> None:
    story = deploy().idle()
    story.launch("probe").prompt("killpoint probe").attempt().request(system=other)
    story.reply(BASH).intent().exec().effect().result().attempt().request(system=other)
    story.reply().finish().end()
    assert [m for m in broken(story.evidence()) if m.startswith("P4")] == [
        "P4: the system message is not that of event 4, under the same digest: expected You are "
        f"careful., found {other} at launch 3 (probe), line 11, seq 14, event 18"
    ]


def test_p4_a_side_request() -> None:
    story = started().attempt().request().reply(BASH)
    log = story.blobs.put(story.log)
    path = "/v1/models"
    story.event(
        Request, ordinal=9, method="GET", path=path, body=ABSENT, log=log, status=404,
        reason="", answer=ABSENT,
    )  # fmt: skip
    assert broken(deployed(story)) == [
        "P4: a side request: expected chat completions only, found GET /v1/models at launch "
        "1 (run), event 7"
    ]


def test_p5_a_request_after_the_terminal_fact() -> None:
    story = plain().launch("resume").request().end()
    assert (
        "P5: a finished operation asked on: expected no request, found one after operation 1 "
        "completed at launch 2 (resume), line 5, seq 6, event 8"
    ) in broken(story.evidence())


def test_p5_a_request_that_cannot_be_read_is_not_said_to_go_on() -> None:
    story = started().attempt().request().reply("said").finish().request(body=b"[]").end()
    assert "P5" not in ids(story.evidence())


def test_p5_a_new_prompt_is_another_operation() -> None:
    assert broken(plain().idle().probe().evidence()) == []


def test_p5_a_request_while_blocked() -> None:
    story = Story("deploy it")
    for role in ("run", "resume"):
        live(story.launch(role, "log:stepAttempt#1/after"))
    story.launch("resume").request().end(3, stderr="attempts_exhausted")
    assert (
        "P5: a blocked launch asked: expected no request, found one under attempt 2 of an earlier "
        "launch at launch 3 (resume), line 4, seq 4, event 7"
    ) in broken(story.evidence())


def test_p5_a_request_without_an_attempt_hides_no_later_one() -> None:
    story = Story("deploy it").launch("run", "log:stepAttempt#1/after").header().prompt()
    story.request().attempt().request().dead().launch("resume").request()
    assert "P5" in ids(story.end(3, stderr="attempts_exhausted").evidence())


def compacting(story: Story, sent: list[dict[str, object]]) -> Evidence:
    """A run of two messages is followed by a compaction that keeps the second."""
    story.launch("compact").compact(1).attempt().request(sent)
    return story.summarised("you said it").finish().end().idle().probe().evidence()


SAY = {"role": "user", "content": "say it"}


def test_p4_all_that_goes_is_sent_and_the_words_that_ask_for_it_are_none_of_it() -> None:
    story = deploy(steps=("run", "compact")).launch("compact").compact(1).attempt()
    goes = story.context[:-1]
    story.request([*goes, {"role": "user", "content": "Sum it up."}])
    assert broken(story.summarised().finish().end().evidence()) == []


@pytest.mark.parametrize("asks", [[], [{"role": "user", "content": "Sum it up."}]])
def test_p4_a_compaction_sends_what_goes_and_may_ask_for_its_summary(
    asks: list[dict[str, object]],
) -> None:
    assert broken(compacting(plain(steps=("run", "compact")), [SAY, *asks])) == []


@pytest.mark.parametrize(
    "sent",
    [
        [SAY, {"role": "assistant", "content": "said"}],  # also what stays
        [SAY, {"role": "assistant", "content": "said"}, {"role": "user", "content": "Sum it up."}],
        [{"role": "user", "content": "Sum it up."}],  # nothing of it
    ],
)
def test_p4_a_compaction_that_sends_something_else(sent: list[dict[str, object]]) -> None:
    found = broken(compacting(plain(steps=("run", "compact")), sent))
    assert [m[:11] for m in found if not m.startswith("P3")] == ["P4: message"]


def test_p4_the_next_request_begins_with_the_summary() -> None:
    story = plain(steps=("run", "compact")).launch("compact").compact(1).attempt().request([SAY])
    story.summarised("you said it").finish().end()
    story.launch("probe").prompt("killpoint probe").attempt()
    story.request([SAY, {"role": "user", "content": "killpoint probe"}]).reply("no").finish().end()
    assert any("P4: message 1 of the context" in m for m in broken(story.evidence()))
