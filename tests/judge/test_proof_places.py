"""Proof of kills away from the log: at the exchange with the model, at an effect, at a file; and
what a loss of power leaves between two launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import ABSENT, FileChange, Kill, LogWrite, StateWrite, Sync
from chaos.judge import inexact
from tests.judge.build import AGENT_PID, TOOL_PID, Story

Then = Callable[[Story], Story]


def asked() -> Story:
    """A request arrived, and its answer is held back."""
    return Story("do it").launch("run").header().prompt().attempt().held()


def answered() -> Story:
    return Story("do it").launch("run").header().prompt().attempt().request()


def asked_again() -> Story:
    """The first answer came, the second is held back."""
    return answered().reply(("read", {"path": "a"})).intent().result().attempt().held()


def struck(story: Story, point: str, then: Then | None = None, **fields: Any) -> list[str]:
    """It dies at this point, and `then` happens: why that proves nothing, without the place."""
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
    story.event(Kill, point=point, **{**known, **fields})
    faults = inexact((then(story) if then else story).dead().evidence())
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


# -- at an effect, at a file ----------------------------------------------------------------------


def at_effect(
    point: str, *, done: int, payload: bytes = b"deploy\n", then: Then | None = None
) -> list[str]:
    """A kill at a line that a tool hands over, this effect having happened so often."""
    story = Story("do it").launch("run").header().prompt().attempt()
    for _ in range(done):
        story.effect()
    late = point.endswith("after")
    kept = len(payload) if late else 0
    return struck(
        story,
        point,
        call="write",
        offset=0,
        length=len(payload),
        kept=kept,
        returned=kept if late else None,
        payload=story.blobs.put(payload),
        after=story.blobs.put(payload[:kept]),
        then=then,
    )


@pytest.mark.parametrize(
    ("point", "done", "payload", "faults"),
    [
        ("effect:deploy#1/before", 0, b"deploy\n", []),
        ("effect:deploy#1/after", 1, b"deploy\n", []),
        ("effect:deploy#2/before", 1, b"deploy\n", []),
        ("effect:deploy#1/after", 1, b"build\ndeploy\n", []),
        (
            "effect:deploy#1/after",
            0,
            b"deploy\n",
            ["expected 1 effects of this name by then, found 0"],
        ),
        (
            "effect:deploy#1/before",
            1,
            b"deploy\n",
            ["expected 0 effects of this name by then, found 1"],
        ),
        ("effect:deploy#1/before", 0, b"deploys\n", ["the bytes handed over are ['deploys', '']"]),
        (
            "effect:build#1/before",
            1,
            b"deploy\n",
            ["the bytes handed over are ['deploy', '']"],
        ),
        ("effect@3/before", 0, b"depl", []),  # of a call by its position no more can be told
    ],
)
def test_a_kill_at_an_effect(point: str, done: int, payload: bytes, faults: list[str]) -> None:
    assert at_effect(point, done=done, payload=payload) == faults


def test_what_comes_after_the_kill_does_not_count() -> None:
    """Whom it spares goes on."""
    assert at_effect("effect:deploy#1/after", done=1, then=Story.effect) == []


def at_file(point: str, *changed: str, state: bool = False, **fields: Any) -> list[str]:
    """A kill at a rename, after these files changed."""
    story = Story("do it").launch("run").header().prompt().attempt()
    source = "state" if state else "file"
    for index, path in enumerate(changed):
        place = f"{source}:rename[{path}]#{changed[: index + 1].count(path)}"
        known: dict[str, Any] = {"pid": AGENT_PID, "call": "rename", "path": path, "point": place}
        if state:
            known |= {"glob": path, "offset": -1, "length": 0, "returned": None}
            story.event(StateWrite, **known)
        else:
            log = story.blobs.put(story.log)
            story.event(FileChange, before=ABSENT, after=ABSENT, log=log, **known)
    return struck(story, point, **{"call": "rename", "path": "a", "caller": AGENT_PID, **fields})


OUTLIVED = {"caller": TOOL_PID}  # the call is of another process than the one that dies
NOT_OF_A = "the last change of a file is not of a"
NONE, TWO = (f"expected number 1 of its kind, found number {n}" for n in (0, 2))


@pytest.mark.parametrize(
    ("point", "changed", "fields", "faults"),
    [
        ("file:rename[a]#1/before", ["a"], {}, []),
        ("file:rename[a]#1/before", ["b", "a"], {}, []),
        ("file:rename[a]#2/before", ["a", "a"], {}, []),
        ("file@2/before", ["b", "a"], {}, []),
        ("file@3/before", ["b", "a"], {}, ["expected call 3 on files, found 2"]),
        ("file@1/before", ["b", "a"], {}, ["expected call 1 on files, found 2"]),
        ("file:rename[a]#2/before", ["a"], {}, ["expected number 2 of its kind, found number 1"]),
        ("file:unlink[a]#1/before", ["a"], {}, ["the call killed at is rename", NONE]),
        ("file:rename[a]#1/before", ["a", "b"], {}, [NOT_OF_A]),
        ("file:rename[a]#1/before", [], {}, [NOT_OF_A, NONE]),
        ("file:rename[a]#1/before", [], OUTLIVED, []),
        ("file:rename[a]#1/before", ["a"], OUTLIVED, [TWO]),
        ("file:rename[a]#1/before", [], OUTLIVED | {"scope": "tree"}, [NOT_OF_A, NONE]),
        ("file:rename[a]#1/after", ["a"], OUTLIVED | {"returned": 0}, []),
    ],
)
def test_a_kill_at_a_file(
    point: str, changed: list[str], fields: dict[str, Any], faults: list[str]
) -> None:
    assert at_file(point, *changed, **fields) == faults
    of_state = point.replace("file", "state")
    assert at_file(of_state, *changed, state=True, **fields) == faults
    if changed and not faults:  # a change of a file of the other kind is none
        assert at_file(of_state, *changed, **fields) != []
        assert at_file(point, *changed, state=True, **fields) != []


# -- between the calls ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "offset", "returned", "after", "good"),
    [
        ("write", 4, 4, b"one\ntwo\n", True),
        ("write", 4, 3, b"one\ntwo", True),
        ("write", 4, 4, b"one\ntwo", False),
        ("write", 4, 4, b"0ne\ntwo\n", False),
        ("write", 0, 4, b"two\n", True),
        ("write", 0, 4, b"two\nmore", False),
        ("write", 0, 2, b"twe\n", True),
        ("write", 0, 2, b"two\n", False),
        ("write", 6, 2, b"one\n\0\0ab", True),
        ("write", 6, 2, b"one\n\0 ab", False),
        ("write", -1, 4, b"one\ntwo\n", True),  # where it wrote is not known
        ("write", -1, 4, b"two\n", False),
        ("write", 4, None, b"one\n", True),
        ("write", 4, None, b"one\nt", False),
        ("write", 4, 0, b"one\n", True),
        ("write", 4, 0, b"one\nt", False),
        ("write", 4, -28, b"one\n", True),
        ("write", 4, -28, b"one\nt", False),
        ("fsync", -1, 0, b"one\n", True),
        ("fsync", -1, 0, b"one\nt", False),
        ("ftruncate", -1, 0, b"o", True),
        ("ftruncate", -1, None, b"o", False),
        ("ftruncate", -1, -22, b"o", False),
        ("ftruncate", -1, -22, b"one\n", True),
        ("rename", -1, 3, b"another", True),
    ],
)
def test_a_change_fits_its_call(
    call: str, offset: int, returned: int | None, after: bytes, good: bool
) -> None:
    story = Story("do it")
    story.log = b"one\n"
    story.launch("run")
    story.log = after
    log = story.blobs.put(after)
    story.event(
        LogWrite,
        pid=AGENT_PID,
        call=call,
        point=f"log:{call}#1",
        position=1,
        offset=offset,
        length=4,
        returned=returned,
        log=log,
    )
    faults = [fault.partition(": ")[2] for fault in inexact(story.end().evidence())]
    said = f"{call} at {offset} returned {returned}: expected a log of "
    assert len(faults) == (not good)
    assert good or faults[0].startswith(said)


def test_a_change_that_does_not_fit_is_told_with_its_place() -> None:
    story = Story("do it").launch("run").header()
    before = story.log
    story.append(b"two\n")
    story.log = b"?" + story.log[1:]
    write = story.events[-1]
    assert isinstance(write, LogWrite)
    story.events[-1] = replace(write, log=story.blobs.put(story.log))
    size = len(before)
    assert inexact(story.end().evidence()) == [
        f"launch 1 (run), event 2: write at {size} returned 4: expected a log of {size + 4} bytes, "
        f"changed there only, found {size + 4} bytes; from byte 0 expected {before[:40]!r} of "
        f"{size}, found {story.log[:40]!r} of {size + 4}"
    ]


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
    story.launch("resume").end(first=(f"power-loss: {loss}",)).launch("idle")
    log, names = story.blobs.put(story.log), (LOG,)  # this one comes too late
    story.event(Sync, pid=AGENT_PID, call="fsync", path=LOG, log=log, names=names)
    return inexact(story.end().evidence())


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
