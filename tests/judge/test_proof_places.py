"""Proof of kills away from the log: at the exchange with the model, at an effect, at a file; and
what a loss of power leaves between two launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaos.evidence import ABSENT, Kill, Sync
from chaos.judge import inexact
from tests.judge.build import AGENT_PID, Story


def asked() -> Story:
    """A request arrived, and its answer is held back."""
    return Story("do it").launch("run").header().prompt().attempt().held()


def answered() -> Story:
    return Story("do it").launch("run").header().prompt().attempt().request()


def asked_again() -> Story:
    """The first answer came, the second is held back."""
    return answered().reply(("read", {"path": "a"})).intent().result().attempt().held()


def struck(story: Story, point: str, **fields: Any) -> list[str]:
    """It dies at this point: why that proves nothing, without the place."""
    story.planned[-1] = f"run: {point}"
    known: dict[str, Any] = {
        "call": "",
        "pid": AGENT_PID,
        "tid": 0,
        "offset": -1,
        "length": 0,
        "kept": 0,
        "returned": None,
        "before": ABSENT,
        "payload": ABSENT,
        "after": ABSENT,
        "log": story.blobs.put(story.log),
        "wait_status": 9,
    }
    faults = inexact(story.event(Kill, point=point, **{**known, **fields}).dead().evidence())
    return [fault.removeprefix(f"launch 1 (run): {point}: ") for fault in faults]


@pytest.mark.parametrize(
    ("story", "point", "faults"),
    [
        (asked, "provider:1/request", []),
        (answered, "provider:1/response", []),
        (asked_again, "provider:2/request", []),
        (asked, "provider:2/request", ["request 2 had not arrived"]),
        (asked, "provider:1/response", ["its answer had not been sent"]),
        (answered, "provider:1/request", ["its answer had been sent"]),
        (asked_again, "provider:2/response", ["its answer had not been sent"]),
    ],
)
def test_a_kill_at_the_exchange_with_the_model(
    story: Callable[[], Story], point: str, faults: list[str]
) -> None:
    assert struck(story(), point) == faults


# -- a loss of power ----------------------------------------------------------------------------


LOG = ".agent/sessions/LOG"


def kept(*synced: str, lines: int, loss: str) -> list[str]:
    """A header, these synced, and two lines more; the power goes, and so many lines are left."""
    story = Story("do it").launch("run").header()
    for path in synced:
        log = story.blobs.put(story.log)
        names = (LOG,) if path.endswith("/") else ()
        story.event(Sync, pid=AGENT_PID, call="fsync", path=path, log=log, names=names)
    story.prompt().attempt().end()
    story.log = b"".join(story.log.splitlines(keepends=True)[:lines])
    story.launch("resume").end(first=(f"power-loss: {loss}",))
    return inexact(story.launch("idle").end().evidence())


@pytest.mark.parametrize(
    ("synced", "lines", "loss"),
    [
        ((), 0, "data=3 names=0"),
        ((), 0, "data=0 names=1"),
        ((), 2, "data=2 names=1"),
        ((".agent/sessions/",), 1, "data=1 names=0"),
        ((LOG,), 1, "data=0 names=1"),
        ((LOG,), 0, "data=2 names=0"),
        ((LOG, ".agent/sessions/"), 2, "data=1 names=0"),
    ],
)
def test_a_loss_of_power_takes_what_was_not_synced(
    synced: tuple[str, ...], lines: int, loss: str
) -> None:
    assert kept(*synced, lines=lines, loss=loss) == []
    assert kept(*synced, lines=3 if lines < 3 else 0, loss=loss) == [
        f"launch 2 (resume): the log changed between two launches, not by power-loss: {loss} alone"
    ]


def test_a_loss_that_keeps_more_than_there_is() -> None:
    assert kept(LOG, lines=3, loss="data=3 names=0") == [
        "launch 2 (resume): data=3 names=0: there are 2 unsynced writes and 1 unsynced changes of "
        "names"
    ]
