"""The closure over a real process has exactly the crash images of the abstract model.

Projected on the log: images that differ only in effects or in a torn tail count once, and a log
with no more than a header is the empty image. No more, no fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chaos.evidence import Evidence
from chaos.judge.log import read_log
from chaos.report.counts import count
from chaos.results import Verdict
from chaos.scenario import load_scenario
from tests.explore.model import Log, Turns, closure
from tests.library import scenario_file
from tests.planted.support import run

COUNTED: list[Any] = [
    ("plain-answer", ((),), 8),
    ("safe-read-is-replayed", (("read",), ()), 22),
    ("deploy-is-never-repeated", (("bash",), ()), 36),
    # A write is to the log what a bash call is: its result is real or interrupted.
    pytest.param(
        "three-calls-in-one-turn", (("read", "bash", "bash"), ()), 76, marks=pytest.mark.slow
    ),
    pytest.param(
        "settled-turns-stay-settled", (("read",), ("bash",), ()), 78, marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("name", "turns", "images"), COUNTED)
def test_it_has_exactly_the_images_of_the_model(name: str, turns: Turns, images: int) -> None:
    result = run(load_scenario(scenario_file(name)), depth=None, keep=True)
    (scenario,) = result.scenarios
    assert scenario.error == ""
    assert {r.verdict for r in scenario.schedules} == {Verdict.PASS}
    assert (scenario.closure.complete, scenario.closure.left) == (True, 0)
    # Each made one kill itself, at the image that others led to.
    ends_in_a_kill = sum(r.kills > 0 for r in scenario.schedules)
    counts = count(scenario.schedules)
    assert (counts.kills, counts.exact) == (ends_in_a_kill, ends_in_a_kill)
    assert sum(r.kills for r in scenario.schedules) > counts.kills

    found = {image for r in scenario.schedules if r.kills for image in [image_of(r.evidence)]}
    expected, _ = closure(turns)
    assert len(expected) == images
    assert found - expected == set()
    assert expected - found == set()


def image_of(evidence: Evidence | None) -> Log:
    """The log that the last kill left, as facts of the model."""
    assert evidence is not None
    last = [launch for launch in evidence.launches if launch.killed][-1]
    return tuple(facts_of(evidence.blobs.get(last.log_after)))


def facts_of(log: bytes) -> Iterator[tuple[object, ...]]:
    step = attempt = 0
    calls: dict[object, int] = {}
    for fact in read_log(log).facts:
        body = fact.body
        if fact.type == "runStarted":
            yield ("run",)
        elif fact.type == "stepAttempt":
            attempt = body["attempt"]
            yield ("attempt", step, attempt)
        elif fact.type == "assistant":
            yield ("reply", step)
            step += 1
        elif fact.type == "toolStarted":
            calls[fact.id] = body["toolIndex"]
            yield ("intent", step - 1, body["toolIndex"])
        elif fact.type == "toolResult":
            lost = body["result"].get("reason") == "interrupted"
            index = calls[body["toolStartedId"]]
            yield ("result", step - 1, index, "interrupted" if lost else "real")
        elif fact.type == "operationFinished":
            yield ("finish",)
        else:
            assert fact.type in ("user", "usage"), fact.type
