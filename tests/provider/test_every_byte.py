"""The stream of a tool call, cut at every byte, by FIN and by RST, with a real process at its end.

Whatever came before the cut: nothing of the call is executed, nothing of the reply is stored, the
step has failed, and a resume does nothing about it. Where the agent dies before it has written that
down, a second attempt is made, and its reply is carried out once.

By default a sample of the bytes: all around the end of each event, and every 40th. All of them
with CHAOS_FULL=1 (some minutes; what follows the failure stays a sample).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.evidence import Effect, Evidence, Request
from chaos.judge import judge
from chaos.supervise.lane import Lane
from tests.provider.real import (
    FULL,
    course,
    facts,
    lane_fixture,
    log_after,
    requests,
    scenario,
    steps,
    under,
)

__all__ = ["lane_fixture"]

DEPLOY = scenario(
    """
name = "every-byte"
about = "A tool call in a stream."
target = { profile = "agent", env = { AGENT_STREAM = "1" } }
step = [{ run = "deploy it" }]
[[provider.turn]]
content = "on it ✓"
tool_calls = [{ name = "bash", arguments = { command = 'echo deploy >> "$CHAOS_EFFECTS"' } }]
[[provider.turn]]
content = "deployed"
"""
)
BEGUN = ["user", "runStarted", "stepAttempt"]
FAILED = [*BEGUN, "stepFailed", "operationFinished"]
ENDINGS = ("cut", "reset")  # FIN, RST


@pytest.fixture(name="stream", scope="module")
def _stream(lane: Lane) -> bytes:
    """The whole answer."""
    evidence = course(lane, DEPLOY)
    assert effects(evidence, 0) == ["deploy"]
    request = next(event for event in evidence.events if isinstance(event, Request))
    return evidence.blobs.get(request.answer)


def effects(evidence: Evidence, launch: int) -> list[str]:
    return [e.name for e in evidence.events if isinstance(e, Effect) and e.launch == launch]


def places(stream: bytes, step: int) -> list[int]:
    """Where to cut: how many bytes are still sent. Never all of them."""
    if FULL:
        return list(range(len(stream)))
    ends = [at + 2 for at in range(len(stream)) if stream.startswith(b"\n\n", at)]
    near = {end + by for end in ends for by in (-1, 0, 1)}
    return sorted({*range(0, len(stream), step), *near} & set(range(len(stream))))


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_of_a_cut_stream_is_executed_or_stored(
    lane: Lane, stream: bytes, ending: str
) -> None:
    told = stream.index(b"data: [DONE]")  # from here on, its usage was reported
    for at in places(stream, 40):
        evidence = course(lane, under(DEPLOY, f"provider:{ending}-byte@{at}"), whole=False)
        (launch,) = evidence.launches
        (request,) = requests(evidence, [launch])
        assert evidence.blobs.get(request.answer) == stream[:at]
        after = log_after(evidence, launch)
        usage = ["usage"] if at >= told else []
        assert facts(after) == [*FAILED[:-1], *usage, FAILED[-1]], f"{ending} at byte {at}"
        assert (launch.exit_code, effects(evidence, 0)) == (1, []), f"{ending} at byte {at}"
        assert judge(evidence) == [], f"{ending} at byte {at}"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failed_step_stays_failed_and_the_next_prompt_works(
    lane: Lane, stream: bytes, ending: str
) -> None:
    for at in places(stream, 400)[:: 32 if FULL else 8]:
        evidence = course(lane, under(DEPLOY, f"provider:{ending}-byte@{at}"))
        assert judge(evidence) == [], f"{ending} at byte {at}"
        launch, idle, probe = evidence.launches
        assert launch.log_after == idle.log_after
        assert (idle.exit_code, probe.exit_code) == (0, 0)
        assert [effects(evidence, x.index) for x in (launch, idle, probe)] == [[], [], ["probe"]]


@pytest.mark.parametrize("ending", ENDINGS)
def test_killed_at_the_cut_it_makes_one_second_attempt(
    lane: Lane, stream: bytes, ending: str
) -> None:
    schedule = "run: log:stepFailed#1/before; resume: none"
    for at in places(stream, 400)[:: 32 if FULL else 8]:
        evidence = course(lane, under(DEPLOY, f"provider:{ending}-byte@{at}"), schedule)
        assert judge(evidence) == [], f"{ending} at byte {at}"
        killed, resumed = steps(evidence)
        assert facts(log_after(evidence, killed)) == BEGUN
        assert [effects(evidence, x.index) for x in (killed, resumed)] == [[], ["deploy"]]
        assert resumed.exit_code == 0
        attempts = log_after(evidence, resumed).attempts
        assert [attempt.number for attempt in attempts] == [1, 2, 1]


def test_a_stream_that_ends_early_as_if_it_were_whole_is_no_reply(
    lane: Lane, stream: bytes
) -> None:
    """HTTP sees nothing wrong: the finish marker alone tells that the answer is not all there."""
    for events in range(stream.count(b"\n\n")):
        evidence = course(lane, under(DEPLOY, f"provider:end@{events}"), whole=False)
        assert judge(evidence) == [], f"after {events} events"
        (launch,) = evidence.launches
        assert (launch.exit_code, effects(evidence, 0)) == (1, []), f"after {events} events"
        assert "assistant" not in facts(log_after(evidence, launch))


@pytest.mark.parametrize("ending", [*ENDINGS, "end"])
def test_nothing_of_a_cut_body_is_executed_or_stored(lane: Lane, ending: str) -> None:
    """The same answer in one piece: too short for its content-length, or broken JSON."""
    plain = replace(DEPLOY, env={})
    (first, _) = requests(evidence := course(lane, plain, whole=False), steps(evidence))
    body = evidence.blobs.get(first.answer)
    for at in range(0, len(body), 1 if FULL else 60):
        evidence = course(lane, under(plain, f"provider:{ending}@{at}"), whole=False)
        assert judge(evidence) == [], f"{ending} at byte {at}"
        (launch,) = evidence.launches
        assert facts(log_after(evidence, launch)) == FAILED, f"{ending} at byte {at}"
        assert (launch.exit_code, effects(evidence, 0)) == (1, []), f"{ending} at byte {at}"


def test_the_whole_stream_is_a_reply_however_the_connection_ends(lane: Lane, stream: bytes) -> None:
    for ending in ENDINGS:
        fault = f"provider:{ending}-byte@{len(stream)}"
        evidence = course(lane, under(DEPLOY, fault), whole=False)
        assert judge(evidence) == []
        assert effects(evidence, 0) == ["deploy"]
