"""The lane of a worker process that belongs to somebody else: what Dask runs on its workers."""

from __future__ import annotations

import threading

from chaos.evidence import Evidence
from chaos.explore.work import Explored, Work
from chaos.supervise.lane_process import LaneProcess

_lane = LaneProcess()
_one_unit = threading.Lock()


def baseline(work: Work) -> tuple[Evidence, ...]:
    """The references of a scenario, by this worker's lane."""
    with _one_unit:
        made: tuple[Evidence, ...] = _lane.call("baseline", work)
        return made


def explore(work: Work) -> list[Explored]:
    """Carry out a unit, by this worker's lane."""
    with _one_unit:
        made: list[Explored] = _lane.call("explore", work)
        return made
