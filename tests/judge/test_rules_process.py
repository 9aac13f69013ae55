"""Rules X: what a launch may not leave behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import Survivor
from chaos.judge.workspace import is_temporary
from tests.judge.build import BASH, Story, broken, deploy, ids, live

REFERENCE = deploy().idle().probe().evidence()


def left(**fields: Any) -> list[str]:
    """A good deploy, but for what its first launch left."""
    story = deploy()
    story.launches[0] = replace(story.launches[0], **fields)
    return broken(story.idle().probe().evidence(REFERENCE))


def test_x1_survivors_of_a_kill_count() -> None:
    story = live(Story("deploy it").launch("run", "log:toolStarted#1/after"))
    story.launches[0] = replace(story.launches[0], survivors=(Survivor(7, ("sh",)),))
    assert ids(story.evidence()) == ["X1"]


def test_x1_a_stale_lock() -> None:
    story = live(Story("deploy it").launch("run", "log:toolStarted#1/after"))
    story.launch("resume").end(5)
    assert broken(story.evidence(REFERENCE)) == [
        "X1: a stale lock: expected a session that opens, found exit code 5, busy, with no other "
        "process alive at launch 2 (resume)"
    ]


@pytest.mark.parametrize("path", [".killpoint-tmp-1", "deep/.killpoint-tmp-1"])
def test_x3_a_temporary_file(path: str) -> None:
    expected = f"X3: a temporary file was left: expected none, found {path} at launch 1 (run)"
    assert left(files_after={path: ""}) == [expected] or left(state_files=(path,)) == [expected]


def test_x3_a_kill_may_leave_a_temporary_file_until_the_next_start() -> None:
    story = Story("deploy it").launch("run", "log:toolResult#1/before").header().prompt().attempt()
    story.request().reply(BASH).intent().exec().effect().change(".killpoint-tmp-1", "x", "write")
    story.result().dead()
    story.launch("resume").change(".killpoint-tmp-1", None, "unlink")
    assert broken(live(story).idle().probe().evidence(REFERENCE)) == []


def test_x3_an_inherited_descriptor() -> None:
    story = Story("deploy it").launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().exec().effect(holds_log=True).result().attempt().request().reply("deployed")
    (message,) = broken(story.finish().end().idle().probe().evidence(REFERENCE))
    assert message.startswith("X3: a tool inherited the session log: expected it closed, found it")


def test_x3_a_file_too_many() -> None:
    assert left(files_after={"out.bak": ""}) == [
        "X3: a file too many: expected the files of the run without a kill, found out.bak at "
        "launch 1 (run)"
    ]


@pytest.mark.parametrize("place", ["stdout", "stderr", "log", "file", "body"])
def test_x4_the_key_leaks(place: str) -> None:
    story = Story("say it").launch("run").header().prompt().attempt()
    body = b"sk-secret" if place == "body" else None
    story.request(body=body).reply("sk-secret" if place == "log" else "said").finish().end()
    secret = story.blobs.put(b"the key is sk-secret.")
    if place in ("stdout", "stderr"):
        story.launches[0] = replace(story.launches[0], **{place: secret})
    if place == "file":
        story.launches[0] = replace(story.launches[0], files_after={"env.txt": secret})
    found = [m for m in broken(story.evidence()) if m.startswith("X4")]
    assert len(found) == 1
    assert "sk-secret" not in found[0]


def test_x4_needs_a_key() -> None:
    assert broken(deploy(secret="").idle().probe().evidence()) == []


@pytest.mark.parametrize(
    ("path", "glob", "matches"),
    [
        (".tmp-1", ".tmp-*", True),
        ("a/b/.tmp-1", ".tmp-*", True),
        ("a/b/.tmp-1", "**/.tmp-*", True),
        (".tmp-1", "**/.tmp-*", True),
        ("a/.tmp-1", "a/.tmp-*", True),
        ("a/.tmp-1", "**/a/.tmp-*", True),
        ("b/a/.tmp-1", "**/a/.tmp-*", True),
        ("a/b/.tmp-1", "**/a/.tmp-*", False),
        ("b/.tmp-1", "a/.tmp-*", False),
        ("x.tmp-1", ".tmp-*", False),
    ],
)
def test_temporary_globs(path: str, glob: str, matches: bool) -> None:
    assert is_temporary(path, [glob]) is matches
