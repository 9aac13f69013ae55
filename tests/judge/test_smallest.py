"""Each rule with the smallest evidence that breaks it: the exact message, and what else breaks.

A row is a story that ends as soon as its fault is told; most end with a kill, so that nothing is
owed any more. Where other rules are named, the fault cannot be had without them. What is near to
each fault and none is in the tests of its family, `test_rules_*` and `test_log_*`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from chaos.evidence import Evidence, Rival, Survivor
from chaos.judge import RULES, judge
from chaos.judge.case import offers
from tests.judge.build import (
    AGENT_PID,
    BASH,
    WRITE,
    Story,
    deploy,
    plain,
)

SOUND = deploy().evidence()


def said(*prompts: str, **facts: object) -> Story:
    """A prompt was accepted."""
    return Story(*(prompts or ("do it",)), **facts).launch("run").header().prompt()


def asked() -> Story:
    """An attempt is durable."""
    return said().attempt()


def called(*calls: tuple[str, object]) -> Story:
    """The model made these calls, by default the one that deploys."""
    return asked().request().reply(*(calls or (BASH,)))


def dead(story: Story, *references: Evidence) -> Evidence:
    """It dies there."""
    return story.dead().evidence(*references)


# -- what needs more than a verb ------------------------------------------------------------------


def a_gap() -> Story:
    story = Story("do it").launch("run").header()
    story._seq += 1
    return story.prompt()


def begun_again() -> Story:
    story, other = said(), "018f0000-0000-7000-8000-00000000ffff"
    how = {"operationKind": "run", "inputEntryId": story.boundary, "operationId": other}
    return story.write(story.record("runStarted", **how))


def no_tail() -> Story:
    """A compaction that keeps one message, and does not repeat it."""
    story = plain(steps=("run", "compact")).launch("compact").compact(1).attempt()
    story._kept = 0
    return story.summarised()


def run_again() -> Story:
    story = Story("do it").launch("run", "log:toolStarted[bash]#1/after").header().prompt()
    return story.attempt().request().reply(BASH).intent().dead().launch("resume").effect()


def emptied() -> Story:
    """A file is cut to nothing, and then written."""
    story = Story("do it", files={"out.txt": "old"}).launch("run").header().prompt().attempt()
    story.request().reply(WRITE).intent().change("out.txt", "", "openat")
    return story.change("out.txt", "new", "write").result()


def forgotten() -> Story:
    """An effect and its result, and a request that tells of neither."""
    story = called().intent().effect().result().attempt()
    return story.request([{"role": "user", "content": "do it"}])


def rival() -> Story:
    """A second start at the same time says neither busy nor what it did."""
    story = said()
    log, none = story.blobs.put(story.log), story.blobs.put(b"")
    return story.event(
        Rival, pid=7, argv=("agent", "resume"), exit_code=1, signal=None, held=AGENT_PID,
        log_before=log, log=log, stdout=none, stderr=none, since=len(story.events),
    )  # fmt: skip


def left(**fields: object) -> Evidence:
    """A plain run, but for what its launch left."""
    story = plain()
    story.launches[-1] = replace(story.launches[-1], **fields)  # type: ignore[arg-type]
    return story.evidence()


# rule, evidence, what is said, and which rules besides
SMALLEST: list[tuple[str, Callable[[], Evidence], str, list[str]]] = [
    (
        "L1",
        lambda: dead(Story("do it").launch("run").header().append(b"\n")),
        "BLANK_LINE at line 2: expected a header or a transaction; found a blank line, as "
        "left by launch 1 (run)",
        [],
    ),
    (
        "L2",
        lambda: dead(Story("do it").launch("run").header().cut(0)),
        'a complete line was changed: expected \'{"kind": "header", "version": 2, "id": '
        "\"018f0000-0000-7000-8', found its end after 0 bytes at launch 1 (run), line 1, event"
        " 2",
        [],
    ),
    (
        "L3",
        lambda: dead(a_gap()),
        "SEQ_MISMATCH at line 2, seq 2: expected seq 1; found 2, as left by launch 1 (run)",
        [],
    ),
    (
        "L4",
        lambda: dead(begun_again()),
        "INVALID_TRANSITION at line 3, seq 3: expected no open operation before runStarted; "
        "found run 018f0000-0000-7000-8000-000000000003 is not finished, as left by launch 1 "
        "(run)",
        [],
    ),
    (
        "L5",
        lambda: dead(asked().attempt(2)),
        "a second attempt: expected one only after a crash, found both in one launch at "
        "launch 1 (run), line 4, seq 4",
        [],
    ),
    (
        "L6",
        lambda: dead(called(BASH, BASH).intent(1)),
        "call 1 of a turn was taken up too early: expected the result of call 0 first, found "
        "toolStarted at launch 1 (run), line 5, seq 6",
        [],
    ),
    (
        "L7",
        lambda: dead(said().finish("failed").finish("failed")),
        "INVALID_TRANSITION at line 4, seq 4: expected operationFinished while its operation "
        "018f0000-0000-7000-8000-000000000003 is open; found none is open, as left by launch "
        "1 (run)",
        [],
    ),
    (
        "L8",
        lambda: dead(called().unstarted("unknownTool")),
        "bash call 'call_0' was answered for a wrong reason: expected a tool that was not "
        "offered, for unknownTool, found none at launch 1 (run), line 5, seq 6",
        [],
    ),
    (
        "L9",
        lambda: dead(asked().request().reply(output=4)),
        "usage is not what the provider reported: expected prompt 11, completion 3, cached 2,"
        " found {'input': 11, 'output': 4, 'cacheRead': 2, 'cacheWrite': 0} at line 4, seq 5",
        [],
    ),
    (
        "L10",
        lambda: dead(no_tail()),
        "INVALID_REFERENCE at line 8, seq 10: expected retainedTail to repeat the 1 retained "
        "messages; found 0, ends early, as left by launch 2 (compact)",
        [],
    ),
    (
        "L11",
        lambda: dead(said().signal().attempt()),
        "new work began although an abort was asked for: expected abortRequested first, found"
        " log:stepAttempt#1 at launch 1 (run), line 2, seq 2, event 4",
        [],
    ),
    (
        "P1",
        lambda: dead(said().request().attempt()),
        "a request overtook its attempt: expected an open stepAttempt, found runStarted as "
        "the last fact of the log at launch 1 (run), line 2, seq 2, event 3",
        [],
    ),
    (
        "P2",
        lambda: dead(asked().request().request()),
        "an attempt was used twice: expected one request an attempt, found a second one after"
        " event 4 at launch 1 (run), line 3, seq 3, event 6",
        [],
    ),
    (
        "P3",
        lambda: dead(asked().request(body=b"[]")),
        "a request is illegal: expected a transcript a provider accepts, found body: expected"
        " a JSON object, found an array of 0 at launch 1 (run), event 4",
        [],
    ),
    (
        "P4",
        lambda: dead(asked().request([{"role": "user", "content": "do"}])),
        'message 1 of the context is not the log\'s: expected {"role": "user", "content": "do '
        'it"}, found {"role": "user", "content": "do"} at launch 1 (run), line 3, seq 3, '
        "event 4",
        [],
    ),
    (
        "P5",
        lambda: dead(asked().abort().request()),
        "an aborted operation asked on: expected no request, found one at launch 1 (run), "
        "line 4, seq 4, event 5",
        [],
    ),
    (
        "E1",
        lambda: dead(said().effect()),
        "it happened before its intent: expected a pending toolStarted, found effect 'deploy'"
        " with runStarted as the last fact at launch 1 (run), line 2, seq 2, event 3",
        [],
    ),
    (
        "E2",
        lambda: dead(called().intent().effect().effect()),
        "effect 'deploy' of bash call 'call_0' happened too often: expected at most 1, found "
        "2 at launch 1 (run), line 5, seq 6",
        [],
    ),
    (
        "E3",
        lambda: dead(called().intent().result(), SOUND),
        "bash call 'call_0' succeeded without its effect 'deploy': expected 1, as in the "
        "reference, found 0 at line 6, seq 7",
        [],
    ),
    (
        "E4",
        lambda: dead(run_again()),
        "bash call 'call_0' of an earlier launch was run again: expected no replay: the log "
        "says replay=never, found effect 'deploy' at launch 2 (resume), line 5, seq 6, event 9",
        [],
    ),
    (
        "E5",
        lambda: dead(emptied()),
        "out.txt is half written: expected 3 bytes (sha256 11507a0e) or 3 bytes (sha256 "
        "cba06b57), found 0 bytes (sha256 e3b0c442) after openat at launch 1 (run), event 8",
        [],
    ),
    (
        "E6",
        lambda: dead(forgotten()),
        "effect 'deploy' is forgotten: expected call 'call_0' of bash with a result, found "
        "request 2 without it at launch 1 (run), line 5, seq 6, event 11",
        ["P4"],
    ),
    (
        "R1",
        lambda: Story("do it").launch("run").end(4).evidence(),
        "the session does not open: expected a session that opens, found exit code 4: stderr "
        "is empty at launch 1 (run)",
        [],
    ),
    (
        "R2",
        lambda: Story("do it").launch("run").end(7).evidence(),
        "wrong exit code: expected 0, since there was nothing to do, found 7: stderr is empty"
        " at launch 1 (run)",
        [],
    ),
    (
        "R3",
        lambda: plain().launch("idle").exec("uname").end().evidence(),
        "an idle resume was not idle: expected nothing to happen, found start of 'uname' at "
        "launch 2 (idle), event 8",
        [],
    ),
    (
        "R4",
        lambda: asked().end(3, stderr="attempts_exhausted").evidence(),
        "a launch is blocked without cause: expected two attempts used up, since nothing else"
        " was changed, found stepAttempt as the last fact at launch 1 (run)",
        [],
    ),
    (
        "R5",
        lambda: plain(expect_outcome="failed").evidence(),
        "the scenario's outcome: expected failed, found completed at launch 1 (run), line 5, seq 6",
        [],
    ),
    (
        "X1",
        lambda: left(survivors=(Survivor(7, ("sleep", "9")),)),
        "a descendant survived: expected no process left, found process 7, 'sleep 9' at "
        "launch 1 (run)",
        [],
    ),
    (
        "X2",
        lambda: dead(rival()),
        "a second start ended wrongly: expected exit code 5 or 0, found 1:  at launch 1 "
        "(run), event 3",
        [],
    ),
    (
        "X3",
        lambda: left(state_files=(".killpoint-tmp-1",)),
        "a temporary file was left: expected none, found .killpoint-tmp-1 at launch 1 (run)",
        [],
    ),
    (
        "X4",
        lambda: plain(secret="said").evidence(),
        "the API key leaked: expected it nowhere, found it in the session log at launch 1 (run)",
        [],
    ),
]


@pytest.mark.parametrize(
    ("rule", "evidence", "message", "besides"), SMALLEST, ids=[row[0] for row in SMALLEST]
)
def test_it_breaks_its_rule_and_no_other_that_it_need_not(
    rule: str, evidence: Callable[[], Evidence], message: str, besides: list[str]
) -> None:
    found = judge(evidence())
    assert [each.message for each in found if each.id == rule] == [message]
    assert [each.id for each in found if each.id != rule] == besides


def test_no_rule_is_left_out() -> None:
    of_facts = [rule.id for rule in RULES if all(offers(SOUND.facts, need) for need in rule.needs)]
    assert sorted(row[0] for row in SMALLEST) == sorted(of_facts)
