"""Rule X2: two starts at the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import LogWrite, Rival
from tests.judge.build import AGENT_PID, BASH, Story, broken, deploy, ids

REFERENCE = deploy().idle().probe().evidence()
RIVAL_PID = 300


def asked() -> Story:
    """The first has asked for a tool, and announces it next."""
    story = Story("deploy it")
    return story.launch("run").header().prompt().attempt().request().reply(BASH)


def rival(story: Story, code: int | None = 5, *, since: int | None = None, **fields: Any) -> Story:
    """A second start ends now. `since`: it began then, else just before."""
    log = story.blobs.put(story.log)
    known = {
        "pid": RIVAL_PID,
        "argv": ("agent", "resume"),
        "exit_code": code,
        "signal": None,
        "held": AGENT_PID,
        "log_before": log,
        "log": log,
        "stdout": story.blobs.put(b""),
        "stderr": story.blobs.put(b"session busy\n"),
        "since": len(story.events) if since is None else since,
    }
    return story.event(Rival, **{**known, **fields})


def rest(story: Story) -> Story:
    """The first does its tool and ends well."""
    story.intent().exec().effect().result().attempt().request().reply("deployed")
    return story.finish().end().idle().probe()


def by(story: Story, pid: int, *, last: int = 1) -> Story:
    """The last writes were those of another process."""
    writes = [i for i, event in enumerate(story.events) if isinstance(event, LogWrite)]
    for index in writes[-last:]:
        write = story.events[index]
        assert isinstance(write, LogWrite)
        story.events[index] = replace(write, pid=pid)
    return story


@pytest.mark.parametrize("code", [5, 0])
def test_refused_or_idle_while_one_is_held(code: int) -> None:
    assert broken(rest(rival(asked(), code)).evidence(REFERENCE)) == []


def test_a_write_while_the_writer_is_held() -> None:
    story = asked()
    since = len(story.events)
    story = rival(by(story.intent(), RIVAL_PID), 0, since=since).exec().effect().result()
    story.attempt().request().reply("deployed").finish().end().idle().probe()
    assert broken(story.evidence(REFERENCE)) == [
        "X2: two writers took turns: expected one writer at a time, found process 100 wrote again "
        "after process 300 had at launch 1 (run), event 11",
        "X2: a second start acted while a writer was held: expected it refused, or idle, found "
        "write on the log by process 300 at launch 1 (run), event 7",
    ]


def test_held_at_its_first_write_it_is_a_writer() -> None:
    story = Story("deploy it").launch("run").header()
    since = len(story.events)
    story = rival(by(story.prompt(), RIVAL_PID), 0, since=since).dead()
    assert "X2: a second start acted while a writer was held" in "\n".join(broken(story.evidence()))


def test_a_request_while_the_writer_is_held() -> None:
    story = asked()
    since = len(story.events)
    story.request()
    assert "X2: a second start acted while a writer was held" in "\n".join(
        broken(rest(rival(story, since=since)).evidence())
    )


@pytest.mark.parametrize(
    ("act", "found"),
    [
        (lambda s: s.request(), "a request to the provider"),
        (lambda s: s.effect("deploy"), "effect 'deploy'"),
    ],
)
def test_what_a_second_start_did_is_told(act: Callable[[Story], Story], found: str) -> None:
    story = asked()
    since = len(story.events)
    messages = broken(rest(rival(act(story), since=since)).evidence())
    what = "X2: a second start acted while a writer was held: expected it refused, or idle, found"
    assert any(message.startswith(f"{what} {found} at launch 1") for message in messages)


def test_a_tool_that_ran_when_its_writer_was_held_may_go_on() -> None:
    story = asked().intent().exec()
    since = len(story.events)
    story = rival(story.effect(), since=since).result().attempt().request().reply("deployed")
    assert broken(story.finish().end().idle().probe().evidence(REFERENCE)) == []


def test_what_happened_before_it_began_is_not_its_doing() -> None:
    story = asked().intent().effect()
    since = len(story.events)
    story = rival(story, since=since).result().attempt().request().reply("deployed")
    assert broken(story.finish().end().idle().probe().evidence(REFERENCE)) == []


def test_a_request_is_the_writers_own_where_only_a_tool_is_held() -> None:
    story = asked().intent().exec()
    since = len(story.events)
    story.effect().result().attempt().request().reply("deployed")
    story = rival(story, since=since, held=777).finish().end().idle().probe()
    assert broken(story.evidence(REFERENCE)) == []


def test_who_had_written_nothing_was_no_writer_yet() -> None:
    """Held before its first byte, it holds nothing that a second start must respect."""
    story = Story("deploy it").launch("run")
    story = by(story.header(), RIVAL_PID)
    story = rival(story, 0, since=0).prompt().attempt().request().reply(BASH)
    assert broken(rest(story).evidence(REFERENCE)) == []


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"exit_code": 3}, "ended wrongly: expected exit code 5 or 0, found 3: session busy"),
        ({"exit_code": None, "signal": 11}, "fell: expected an exit code, found signal 11"),
    ],
)
def test_how_a_second_start_may_not_end(fields: dict[str, Any], found: str) -> None:
    (message,) = broken(rest(rival(asked(), **fields)).evidence(REFERENCE))
    assert message.startswith(f"X2: a second start {found} at launch 1 (run)")


def test_a_second_start_that_falls_over() -> None:
    story = asked()
    stderr = story.blobs.put(b"Traceback (most recent call last):\n  x\nKeyError: 'x'\n")
    (message,) = broken(rest(rival(story, 1, stderr=stderr)).evidence(REFERENCE))
    assert message.startswith("X2: a second start fell over: expected an orderly end")


def test_starts_at_once_one_after_the_other() -> None:
    """One did it all, one was refused, one came later and found nothing to do."""
    story = asked().intent().exec().effect().result().attempt().request().reply("deployed")
    story = rival(rival(story.finish(), held=None, since=0), 0, held=None, since=0)
    assert broken(story.end().idle().probe().evidence(REFERENCE)) == []


def test_a_start_that_was_blocked_may_say_so_in_a_race_only() -> None:
    assert ids(rest(rival(asked(), 3, held=None)).evidence(REFERENCE)) == []
    assert ids(rest(rival(asked(), 3)).evidence(REFERENCE)) == ["X2"]


def test_all_starts_refused_is_a_stale_lock() -> None:
    story = rival(Story("deploy it").launch("run"), held=None).end(5)
    assert ids(story.evidence()) == ["X1"]


def test_a_start_that_the_schedule_killed_is_excused() -> None:
    story = Story("deploy it").launch("run", "log:toolStarted#1/after")
    story.header().prompt().attempt().request().reply(BASH).intent()
    rival(story, None, signal=9, held=None).dead()
    assert "X2" not in ids(story.evidence())


def test_a_key_in_the_words_of_a_second_start() -> None:
    story = asked()
    leaked = story.blobs.put(b"busy, sk-secret\n")
    assert ids(rest(rival(story, stderr=leaked)).evidence(REFERENCE)) == ["X4"]


def test_a_rival_of_a_later_launch_is_seen_too() -> None:
    story = deploy().launch("resume")
    rival(story, 1).end()
    assert ids(story.evidence()) == ["X2"]
