"""Fixtures: somebody at a terminal; signals that are as they were after each test."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.support import ModelServer
from tests.agent.terminal import Person, Sit


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """A command leaves its handlers in place, because its process is about to end; ours is not."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(name="sit")
def _sit(tmp_path: Path) -> Iterator[Sit]:
    people: list[Person] = []

    def sit(server: ModelServer | str, *arguments: str, **env: str) -> Person:
        url = server if isinstance(server, str) else server.base_url
        people.append(Person(tmp_path, url, *arguments, **env))
        return people[-1]

    yield sit
    for person in people:
        person.close()
