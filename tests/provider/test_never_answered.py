"""A prompt whose answer never comes: on disk once, on the wire at most twice, answered once.

A real process waits for a provider that has read its request; it is killed there, and resumed.
"""

from __future__ import annotations

from chaos.judge import judge
from chaos.supervise.lane import Lane
from tests.provider.real import (
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

PROMPT = "is anybody there?"
ASK = scenario(
    f"""
name = "never-answered"
about = "Nobody answers."
target = {{ profile = "agent", env = {{ AGENT_TIMEOUT_S = "0.2" }} }}
step = [{{ run = "{PROMPT}" }}]
[[provider.turn]]
content = "yes"
"""
)
BEGUN = ["user", "runStarted", "stepAttempt"]


def test_killed_while_it_waits_and_resumed(lane: Lane) -> None:
    evidence = course(lane, ASK, "run: provider:1/request; resume: none")
    assert judge(evidence) == []
    killed, resumed = steps(evidence)
    assert killed.killed
    assert facts(log_after(evidence, killed)) == BEGUN
    assert resumed.exit_code == 0
    after = log_after(evidence, resumed)
    assert facts(after) == [*BEGUN, "stepAttempt", "assistant", "usage", "operationFinished"]
    assert after.prompts == [PROMPT]  # on disk once
    assert [attempt.number for attempt in after.attempts] == [1, 2]
    sent = requests(evidence, [killed, resumed])
    assert [request.status for request in sent] == [0, 200]  # on the wire twice, answered once
    bodies = [evidence.blobs.get(request.body) for request in sent]
    assert [body.count(PROMPT.encode()) for body in bodies] == [1, 1]
    assert bodies[0] == bodies[1]


def test_killed_twice_it_is_not_sent_a_third_time(lane: Lane) -> None:
    schedule = "run: provider:1/request; resume: provider:1/request; resume: none"
    evidence = course(lane, ASK, schedule)
    assert judge(evidence) == []
    *_, blocked = steps(evidence)
    assert blocked.exit_code == 3
    assert b"attempts" in evidence.blobs.get(blocked.stderr)
    assert len(requests(evidence, list(evidence.launches))) == 2
    assert log_after(evidence, blocked).prompts == [PROMPT]


def test_left_alone_it_fails_in_time_and_nothing_is_tried_again(lane: Lane) -> None:
    evidence = course(lane, under(ASK, "provider:hold"))
    assert judge(evidence) == []
    (launch,) = steps(evidence)
    assert launch.exit_code == 1
    assert facts(log_after(evidence, launch)) == [*BEGUN, "stepFailed", "operationFinished"]
    _, idle, probe = evidence.launches
    assert [len(requests(evidence, [x])) for x in (launch, idle, probe)] == [1, 0, 2]
