"""What comes next, from the steps and the log."""

from __future__ import annotations

import pytest

from chaos.scenario import Step
from chaos.supervise.steps import compacts, next_launch
from tests.judge.build import Story, plain

RUN, RESUME = Step("run", "say it"), Step("resume", "")
COMPACT, ABORT = Step("compact", ""), Step("abort", "")

NOTHING = b""
BORN = Story("say it").launch("run").header().log
ACCEPTED = Story("say it").launch("run").header().prompt().log
OVER = plain().log
COMPACTING = plain().launch("compact").compact(1).log
ABORTING = Story("say it").launch("run").header().prompt().abort().log


@pytest.mark.parametrize(
    ("steps", "number", "begun", "log", "expected"),
    [
        # A step is launched as it is written until it has begun, then resumed.
        ([RUN], 0, NOTHING, NOTHING, (0, "run")),
        ([RUN], 0, NOTHING, BORN, (0, "run")),
        ([RUN], 0, NOTHING, ACCEPTED, (0, "resume")),
        ([RUN], 0, NOTHING, ACCEPTED[:-1], (0, "run")),  # a torn prompt is none
        ([RUN, COMPACT], 1, OVER, OVER, (1, "compact")),
        ([RUN, COMPACT], 1, OVER, COMPACTING, (1, "resume")),
        ([RUN, ABORT], 1, ACCEPTED, ACCEPTED, (1, "abort")),
        ([RUN, ABORT], 1, ACCEPTED, ABORTING, (1, "resume")),
        # An earlier step's fact does not begin this one.
        ([RUN, RUN], 1, OVER, OVER, (1, "run")),
        # A resume begins nothing: killed, it comes again.
        ([RUN, RESUME], 1, ACCEPTED, ACCEPTED, (1, "resume")),
        # An abort takes over what a kill left of the step before, once it has begun.
        ([RUN, ABORT], 0, NOTHING, BORN, (0, "run")),
        ([RUN, ABORT], 0, NOTHING, ACCEPTED, (1, "abort")),
        ([RUN, COMPACT, ABORT], 1, OVER, COMPACTING, (2, "abort")),
        ([RUN, COMPACT, ABORT], 0, NOTHING, ACCEPTED, (0, "resume")),
        ([RUN], 1, OVER, OVER, (1, "idle")),
    ],
)
def test_what_comes_next(
    steps: list[Step], number: int, begun: bytes, log: bytes, expected: tuple[int, str]
) -> None:
    assert next_launch(steps, number, begun, log) == expected


def test_who_asks_for_a_summary() -> None:
    assert compacts("compact", OVER)
    assert compacts("resume", COMPACTING)
    assert not compacts("resume", ACCEPTED)
    assert not compacts("run", OVER)
