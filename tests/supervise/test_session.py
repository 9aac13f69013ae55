"""Without a log, the wire and the exit codes tell what comes next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos.evidence import ABSENT, Launch, Request
from chaos.scenario import Step
from chaos.supervise.notebook import Notebook
from chaos.supervise.room import Room
from chaos.supervise.session import ByWire
from chaos.target import parse_target
from tests.test_target_session import OPAQUE

STEPS = (Step("run", "begin"), Step("run", "begin"), Step("resume", ""))
SIDE = 'side = ["a title"]\n'


class Past:
    """Launches and requests, one after the other."""

    def __init__(self, tmp_path: Path, keys: str = "") -> None:
        self.launches: list[Launch] = []
        self.notebook = Notebook(Room(tmp_path / "room", "", ()))
        target = parse_target(OPAQUE.replace("[commands]", f"{keys}[commands]"), "t.toml")
        self.session = ByWire(STEPS, target, self.launches, self.notebook)

    def launch(self, step: int, role: str = "run", code: int | None = None) -> Past:
        index = len(self.launches)
        self.notebook.launch = index
        killed = code is None
        end = (code, None if code is not None else 9, killed, False, 0.1)
        found = ((), ABSENT, ABSENT, {}, {}, (), ABSENT, ABSENT)
        self.launches.append(Launch(index, role, step, found[0], None, *end, *found[1:]))
        return self

    def asks(self, *said: str, system: str = "") -> Past:
        users = [{"role": "user", "content": text} for text in said]
        first = [{"role": "system", "content": system}] if system else []
        body = json.dumps({"model": "m", "messages": [*first, *users]}).encode()
        self.notebook.note(
            Request,
            ordinal=1,
            method="POST",
            path="/v1/chat/completions",
            body=self.notebook.blobs.put(body),
            log=ABSENT,
            status=0,  # it is held where a kill is planned at its arrival
            reason="",
            answer=ABSENT,
        )
        return self


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def test_a_prompt_that_reached_nobody_is_said_again(past: Past) -> None:
    assert past.launch(0).session.next(0, b"") == (0, "run")
    assert past.session.accepted(b"") == 0


def test_one_that_arrived_is_for_resume(past: Past) -> None:
    past.launch(0).asks("begin, in words around it")
    assert past.session.next(0, b"") == (0, "resume")
    assert past.session.accepted(b"") == 1


def test_the_same_words_of_a_later_step_must_be_there_once_more(past: Past) -> None:
    past.launch(0).asks("begin").launch(0, "resume", 0).launch(1).asks("begin")
    assert past.session.next(1, b"") == (1, "run")
    assert past.asks("begin", "begin").session.next(1, b"") == (1, "resume")


def test_a_title_is_no_turn(tmp_path: Path) -> None:
    past = Past(tmp_path, SIDE).launch(0)
    assert past.asks("begin", system="say a title for this").session.accepted(b"") == 0
    assert past.asks("begin").session.accepted(b"") == 1


def test_where_the_exit_acknowledges_a_request_is_not_enough(tmp_path: Path) -> None:
    past = Past(tmp_path, 'acknowledged = "exit"\n').launch(0).asks("begin")
    assert past.session.next(0, b"") == (0, "run")
    assert past.launch(0, code=1).session.next(0, b"") == (0, "run")
    assert past.launch(0, code=0).session.accepted(b"") == 1


def test_past_the_steps_nothing_is_left_to_do(past: Past) -> None:
    assert past.session.next(3, b"") == (3, "idle")
    assert past.session.next(2, b"") == (2, "resume")
