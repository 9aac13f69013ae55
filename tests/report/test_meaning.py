"""A kill in plain words, at every source and phase of a point."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.evidence import Kill
from chaos.points import SOURCES
from chaos.report.meaning import kill_meaning
from tests.report import sample

WORDS = {
    "log:toolStarted[bash]#1/before": "before `toolStarted[bash]` was written",
    "log:assistant#2/torn@9": "inside `assistant` number 2: 9 of its 117 bytes are in the log",
    "log:toolStarted[bash]#1/after": "after `toolStarted[bash]` was durable, before its result",
    "log:ftruncate#1/before": "before `ftruncate` on the session log",
    "log:ftruncate#1/after": "after `ftruncate` on the session log",
    "log@5/before": "before call 5 on the session log",
    "file:rename[notes.txt]#1/before": "before `rename` of notes.txt: the file is as it was",
    "file:write[a]#2/torn@9": "inside `write` of a number 2: 9 of its 117 bytes are in the file",
    "file:write[a.txt]#1/after": "after `write` of a.txt was done",
    "file@3/after": "after call 3 on the workspace was done",
    "state:write[*.db]#1/before": "before `write` of *.db: the file is as it was",
    "state:pwrite64[*-wal]#2/torn@9": (
        "inside `pwrite64` of *-wal number 2: 9 of its 117 bytes are in the file"
    ),
    "state@3/after": "after call 3 on the state was done",
    "effect:deploy#1/before": "before effect `deploy` happened",
    "effect:deploy#2/after": "after effect `deploy` number 2 had happened, before its result",
    "provider:2/request": "when request 2 had arrived, before any of its answer",
    "provider:2/chunk@3": "inside answer 2: 3 events of the stream were sent",
    "provider:2/response": "when answer 2 had been sent, before any of it was durable",
}  # fmt: skip


def kill(point: str, **more: object) -> Kill:
    event = sample.evidence().events[3]
    assert isinstance(event, Kill)
    return replace(event, point=point, kept=9, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("point", WORDS)
def test_in_words(point: str) -> None:
    assert kill_meaning(kill(point)) == f"agent killed {WORDS[point]}"


def test_no_source_and_phase_is_without_words() -> None:
    told = {(p.split(":")[0].split("@")[0], p.split("/")[1].split("@")[0]) for p in WORDS}
    assert told == {(source, phase) for source, phases in SOURCES.items() for phase in phases}


@pytest.mark.parametrize(
    ("scope", "who"),
    [("group", "agent and its process group"), ("tree", "agent and all its processes")],
)
def test_who_died_with_it(scope: str, who: str) -> None:
    told = kill_meaning(kill("log:assistant#1/after", scope=scope))
    assert told == f"{who} killed after `assistant` was durable, before what follows from it"


def test_a_name_that_a_target_chose_is_made_safe() -> None:
    assert "\x1b" not in kill_meaning(kill("log:toolStarted[\x1b[31m]#1/after"))
