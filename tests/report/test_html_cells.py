"""Where schedules of every family stand on the kill map."""

from __future__ import annotations

import pytest

from chaos.points import Schedule
from chaos.report.page.cells import COLUMNS, cell_of

ROWS = [
    # schedule, heading, place, column, label
    ("run: none", "", "no kill", "after", "to its end"),
    ("run: log:a#1/before", "launch 1 (run)", "log:a#1", "before", "before"),
    ("run: log:a#1/torn@17", "launch 1 (run)", "log:a#1", "within", "torn@17"),
    ("run: provider:2/request", "launch 1 (run)", "provider:2", "before", "request"),
    ("run: provider:2/chunk@3", "launch 1 (run)", "provider:2", "within", "chunk@3"),
    ("run: provider:2/response", "launch 1 (run)", "provider:2", "after", "response"),
    ("run: none; run: effect:x#1/after", "launch 2 (run)", "effect:x#1", "after", "after"),
    (
        "run: log:a#1/after; resume: log:b#2/after",
        "launch 2 (resume), after 1 kill",
        "log:b#2",
        "after",
        "after",
    ),
    (
        "run: log:a#1/after; resume: log:b#1/after; resume: log:c#1/torn@1",
        "launch 3 (resume), after 2 kills",
        "log:c#1",
        "within",
        "torn@1",
    ),
    (
        "; ".join(["run: log:a#1/after"] + 4 * ["resume: log:b#1/after"]),
        "after 3 kills or more",
        "log:b#1",
        "after",
        "after",
    ),
    (
        "event: errno:EIO* at log:a#1/before; run: none",
        "launch 1 (run)",
        "log:a#1",
        "before",
        "before errno:EIO*",
    ),
    ("event: set:A=b at start; run: none", "launch 1 (run)", "start", "before", "set:A=b"),
    (
        "run: log:a#1/after; power-loss: data=0 names=0; resume: none",
        "launch 1 (run)",
        "log:a#1",
        "after",
        "after power-loss data=0 names=0",
    ),
    (
        "run: log:a#1/before; resume*8: none",
        "launch 1 (run)",
        "log:a#1",
        "before",
        "before then 8 starts at once",
    ),
    (
        "run: none; damage: cut@812; resume: none",
        "launch 2 (resume)",
        "damage: cut",
        "within",
        "@812",
    ),
    (
        "run: log:a#1/after; damage: crlf; resume: none",
        "launch 2 (resume), after 1 kill",
        "damage: crlf",
        "within",
        "crlf, after log:a#1/after",
    ),
    ("run*2: none", "launch 1 (run)", "from the start", "before", "run*2: none"),
]


@pytest.mark.parametrize(("schedule", "heading", "place", "column", "label"), ROWS)
def test_the_place_of_a_schedule(
    schedule: str, heading: str, place: str, column: str, label: str
) -> None:
    cell = cell_of(Schedule.parse(schedule))
    assert (cell.row.heading, cell.row.place) == (heading, place)
    assert (COLUMNS[cell.column], cell.label) == (column, label)


def test_several_starts_without_a_kill_differ_from_the_baseline() -> None:
    assert cell_of(Schedule.parse("run*2: none")).row != cell_of(Schedule()).row
