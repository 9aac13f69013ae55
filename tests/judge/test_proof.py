"""Proof of kills: what makes one exact, and each thing that makes it prove nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import ABSENT, Blobs, Evidence, Kill, Rival
from chaos.judge import inexact
from chaos.judge.proof import kill_faults
from tests.judge.build import Story, deploy, live, plain

BEFORE, PAYLOAD = b"one\n", b"two\n"


def kill(
    phase: str = "after", call: str = "write", after: bytes | None = None, **fields: Any
) -> list[str]:
    """What is wrong with a kill at a write of PAYLOAD after BEFORE."""
    blobs = Blobs()
    kept = {"before": 0, "torn@3": 3, "after": 4}.get(phase, 0)
    proof = Kill(
        order=1,
        launch=0,
        at_ms=0,
        point=f"log:runStarted#1/{phase}",
        call=call,
        pid=1,
        tid=1,
        offset=4,
        length=4,
        kept=kept,
        returned=None if phase == "before" else kept,
        before=blobs.put(BEFORE),
        payload=blobs.put(PAYLOAD),
        after=blobs.put(BEFORE + PAYLOAD[:kept] if after is None else after),
        wait_status=9,
    )
    return kill_faults(replace(proof, **fields), blobs)


def other(call: str, after: bytes, **fields: Any) -> list[str]:
    """The same of a call that hands over no data."""
    return kill("after", call, after, **{"length": 0, "kept": 0, "returned": 0, **fields})


@pytest.mark.parametrize(
    ("held", "rivals", "at_once"),
    [(None, 1, 2), (None, 2, 3), (7, 1, 1)],  # starts at once; one while another stood still
)
def test_as_many_start_at_once_as_the_schedule_says(
    held: int | None, rivals: int, at_once: int
) -> None:
    def started(starts: int) -> list[str]:
        story = deploy().launch("resume")
        log = story.blobs.put(story.log)
        ended = {"exit_code": 0, "signal": None, "stdout": log, "stderr": log, "since": 0}
        for pid in range(300, 300 + rivals):
            story.event(Rival, pid=pid, argv=("a",), held=held, log_before=log, log=log, **ended)
        crowd = f"resume*{starts}" if starts > 1 else "resume"
        return inexact(story.end().evidence(schedule=f"run: none; {crowd}: none"))

    assert started(at_once) == []
    assert started(at_once + 1) == [
        f"launch 2 (resume): expected {at_once + 1} starts at one instant, found {at_once}"
    ]


def test_a_point_that_cannot_be_read_is_told() -> None:
    story = Story("say it").launch("run", "log:runStarted#1/after").header().prompt().dead()
    events = [replace(e, point="here") if isinstance(e, Kill) else e for e in story.events]
    told = inexact(story.evidence(events=tuple(events)))
    assert any("not a kill point: 'here'" in fault for fault in told)


@pytest.mark.parametrize("phase", ["before", "torn@3", "after"])
def test_a_kill_that_kept_its_promise(phase: str) -> None:
    assert kill(phase) == []


@pytest.mark.parametrize(
    ("phase", "fields", "fault"),
    [
        ("after", {"wait_status": 15}, "expected a death by signal 9, found wait status 0x000f"),
        ("after", {"wait_status": 0}, "expected a death by signal 9, found wait status 0x0000"),
        ("after", {"returned": 3}, "expected write to return 4, found 3"),
        ("torn@3", {"returned": 4}, "expected write to return 3, found 4"),
        ("before", {"returned": 4}, "expected write to return nothing, found 4"),
        (
            "after",
            {"after": b"one\ntw"},
            "the bytes at death differ from the promise: from byte 6 expected b'o\\n' of 8, found "
            "b'' of 6",
        ),
        (
            "before",
            {"after": b"one\ntwo\n"},
            "the bytes at death differ from the promise: from byte 4 expected b'' of 4, found "
            "b'two\\n' of 8",
        ),
        ("after", {"offset": -1}, "the place of the write in the file is not known"),
        ("after", {"payload": ABSENT}, "expected a payload of 4 bytes, found 0"),
        (
            "after",
            {"point": "here"},
            "not a kill point: 'here'; write for example log:toolStarted[bash]#1/after, "
            "log:assistant#2/torn@17, log@5/before, file:rename[notes.txt]#1/before, "
            "effect:deploy#1/after or provider:2/request",
        ),
    ],
)
def test_a_kill_that_did_not(phase: str, fields: dict[str, Any], fault: str) -> None:
    assert kill(phase, **fields) == [fault]


def test_a_torn_write_is_never_whole() -> None:
    fields = {"point": "log:runStarted#1/torn@4", "kept": 4, "returned": 4}
    assert "expected 3 bytes kept, found 4" in kill("torn@3", after=BEFORE + PAYLOAD, **fields)


def test_bytes_in_the_middle_of_the_file() -> None:
    assert kill("after", offset=0, after=b"two\n") == []
    assert kill("torn@3", offset=0, after=b"two\n") == []
    assert kill("after", offset=6, after=b"one\n\0\0two\n") == []


@pytest.mark.parametrize(
    ("call", "after", "fields", "faults"),
    [
        ("fsync", BEFORE, {}, []),
        ("ftruncate", b"on", {"size": 2}, []),
        ("ftruncate", b"one\n\0\0", {"size": 6}, []),
        ("openat", b"", {"size": 0, "returned": 7}, []),
        ("unlink", b"", {}, []),
        ("rename", PAYLOAD, {}, []),
        ("ftruncate", b"on", {}, ["the size asked for by ftruncate is not known"]),
        ("splice_", b"on", {}, ["the bytes promised by splice_ cannot be recomputed"]),
        ("fsync", BEFORE, {"returned": -5}, ["expected fsync to return 0, found -5"]),
    ],
)
def test_other_calls(call: str, after: bytes, fields: dict[str, Any], faults: list[str]) -> None:
    assert other(call, after, **fields) == faults


# -- a whole schedule ---------------------------------------------------------------------------

POINT = "log:toolStarted[bash]#1/after"


def killed(point: str = POINT) -> Evidence:
    """A deploy killed once, and resumed."""
    story = live(Story("deploy it").launch("run", point))
    return live(story.launch("resume")).idle().evidence()


def without(evidence: Evidence, kind: type) -> Evidence:
    return replace(evidence, events=tuple(e for e in evidence.events if not isinstance(e, kind)))


def with_kill(evidence: Evidence, **fields: Any) -> Evidence:
    events = (replace(e, **fields) if isinstance(e, Kill) else e for e in evidence.events)
    return replace(evidence, events=tuple(events))


@pytest.mark.parametrize("point", [POINT, "log:toolStarted#1/torn@9", "log@5/before"])
def test_an_exact_schedule(point: str) -> None:
    assert inexact(killed(point)) == []


def test_a_point_that_was_never_reached() -> None:
    story = deploy()
    story.planned[0] = "run: log:toolStarted[read]#1/after"
    assert inexact(story.evidence()) == [
        "launch 1 (run): log:toolStarted[read]#1/after was never reached; it ended with exit code 0"
    ]


def test_a_launch_that_never_started() -> None:
    evidence = replace(deploy().evidence(), schedule=f"run: none; resume: {POINT}")
    assert inexact(evidence) == [
        f"launch 2: never started, its kill at {POINT} is missing",
    ]


def test_a_kill_without_proof() -> None:
    unplanned = replace(without(killed(), Kill), schedule="run: none")
    assert inexact(unplanned) == [
        "launch 1 (run): it was killed, but no proof of that was recorded"
    ]
    assert inexact(without(killed(), Kill)) == [
        f"launch 1 (run): {POINT} was never reached; it ended by signal 9"
    ]


@pytest.mark.parametrize("planned", ["log:assistant#1/after", "log:user#1/after"])
def test_a_kill_elsewhere(planned: str) -> None:
    """Whichever of the two names sorts first."""
    assert inexact(replace(killed(), schedule=f"run: {planned}")) == [
        f"launch 1 (run): expected a kill at {planned}, found one at log:toolStarted[bash]#1/after"
    ]


@pytest.mark.parametrize(
    ("point", "fault"),
    [
        ("log:assistant#1/after", "the bytes handed over are of a toolStarted[bash]"),
        ("log:toolStarted[read]#1/after", "the bytes handed over are of a toolStarted[bash]"),
        ("log:toolStarted#2/after", "expected number 2 of its kind, found number 1"),
        ("log@4/after", "expected call 4 on the log, found 5"),
    ],
)
def test_a_kill_at_another_call_than_its_point_names(point: str, fault: str) -> None:
    evidence = replace(with_kill(killed(), point=point), schedule=f"run: {point}")
    assert f"launch 1 (run): {point}: {fault}" in inexact(evidence)


def test_a_late_kill() -> None:
    evidence = killed()
    later = evidence.blobs.put(evidence.blobs.get(evidence.launches[0].log_after) + b"late\n")
    (first, *_) = inexact(with_kill(evidence, after=later))
    assert first.startswith("launch 1 (run): the bytes at death differ from the promise: from byte")


def test_durable_changes_that_passed_by_the_engine() -> None:
    story = deploy()
    story.launches[0] = replace(story.launches[0], unseen=("mmap of s.jsonl",))
    assert inexact(story.evidence()) == [
        "launch 1 (run): a durable change passed by the engine unseen: mmap of s.jsonl"
    ]


def test_a_log_that_changes_without_a_call() -> None:
    story = Story("say it").launch("run").header().prompt()
    story.log += b'{"sly"'
    story.attempt().request().reply()
    (fault,) = inexact(story.end().evidence())
    assert fault.startswith("launch 1 (run), event 3: write at ")
    assert "changed there only" in fault


@pytest.mark.parametrize("act", ["request", "effect", "exec"])
def test_a_log_that_changes_before_an_event(act: str) -> None:
    story = Story("say it").launch("run").header().prompt().attempt()
    story.log += b"sly"
    getattr(story, act)()
    (fault,) = inexact(story.end().evidence())
    assert fault == (
        f"launch 1 (run), event 4: the log changed before this {act.capitalize()}, and no call was "
        "seen to do it"
    )


@pytest.mark.parametrize("change", [b"sly", b"a", b"b", b"c", b"d"])  # names sort as they like
def test_a_log_that_changes_after_the_last_event_and_between_launches(change: bytes) -> None:
    story = Story("say it").launch("run").header()
    story.log += change
    story.end()
    story.log += b"slier"
    assert inexact(story.launch("resume").end().evidence()) == [
        "launch 1 (run): the log changed after its last event",
        "launch 2 (resume): the log changed between two launches",
    ]


def test_what_is_planned_to_befall_a_launch_happens_in_it() -> None:
    planned = "event: signal:INT at provider:1/request; run: none"
    story = Story("say it").launch("run").header().prompt().attempt().held().signal().cut_off()
    story.abort().step_failed("aborted").finish("aborted").end(130)
    assert inexact(story.evidence(schedule=planned)) == []
    (doubt,) = inexact(plain().evidence(schedule=planned))
    assert "signal:INT at provider:1/request never happened; it ended" in doubt
