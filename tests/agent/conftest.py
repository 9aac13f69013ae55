"""Fixtures of the tests that sit at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.support import ModelServer
from tests.agent.terminal import Person, Sit


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
