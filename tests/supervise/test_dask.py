"""The same sweep on a Dask cluster: a real scheduler, two worker processes, one of them killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from chaos.errors import HarnessError
from chaos.options import Silent
from chaos.points import Schedule
from chaos.results import ScheduleResult, SweepResult, Verdict
from chaos.scenario import load_scenario
from chaos.supervise.progress import Progress
from chaos.supervise.sweep import sweep
from tests.library import scenario_file
from tests.planted.support import options

distributed = pytest.importorskip("distributed")
SCENARIO = Path(scenario_file("calls/plain-answer"))

# Dask's own processes and sockets end when they end; what they say on the way is not ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as made:
        yield made


def on(
    cluster: Any, listener: Silent | None = None, path: Path = SCENARIO, **more: Any
) -> SweepResult:
    url = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
    scenario = load_scenario(str(path))
    return sweep([scenario], options(executor=url, **more), listener or Silent())


def verdicts(result: SweepResult) -> list[tuple[str, str]]:
    return [(r.id, str(r.verdict)) for s in result.scenarios for r in s.schedules]


def test_the_results_are_those_of_this_machine(cluster: Any) -> None:
    here = sweep([load_scenario(str(SCENARIO))], options(), Silent())
    assert verdicts(on(cluster)) == verdicts(here)


@pytest.mark.parametrize("victim", ["worker", "lane"])
def test_a_process_killed_in_mid_sweep_changes_nothing(cluster: Any, victim: str) -> None:
    class Killer(Silent):
        killed = False

        def schedule_done(self, name: str, result: ScheduleResult) -> None:
            if not self.killed:
                self.killed = True
                worker = psutil.Process(next(iter(cluster.workers.values())).pid)
                (lane,) = worker.children()
                os.kill({"worker": worker, "lane": lane}[victim].pid, signal.SIGKILL)

    killer = Killer()
    result = on(cluster, killer)
    assert killer.killed
    assert {verdict for _, verdict in verdicts(result)} == {"PASS"}
    assert len(verdicts(result)) == 30


def test_a_level_that_is_cut_gives_up_what_has_begun(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done counts, and the rest is told as left."""
    path = Path(scenario_file("safe-read-is-replayed"))
    (whole,) = on(cluster, None, path, depth=2).scenarios
    first = sum(Schedule.parse(r.schedule).kills[1:] == () for r in whole.schedules)

    def out_of_time(self: Progress) -> bool:
        return sum(map(len, self._results.values())) > first

    monkeypatch.setattr(Progress, "out_of_time", out_of_time)
    (cut,) = on(cluster, None, path, depth=2).scenarios
    assert cut.closure.cut
    assert cut.closure.left > 0
    assert cut.closure.depth == 2
    assert first < len(cut.schedules) < len(whole.schedules)
    assert {r.verdict for r in cut.schedules} == {Verdict.PASS}


def test_no_scheduler_is_a_clear_error() -> None:
    with pytest.raises(HarnessError, match="no Dask scheduler answers at tcp://127"):
        sweep([load_scenario(str(SCENARIO))], options(executor="dask://127.0.0.1:1"), Silent())
