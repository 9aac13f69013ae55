"""Where lanes run: processes of this machine, or of a cluster that somebody has.

A pool is any `concurrent.futures.Executor` of processes, and the two functions it is given to run
there. Results do not depend on which it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from chaos.errors import HarnessError, UsageError
from chaos.evidence import Evidence
from chaos.explore.work import Explored, Work
from chaos.launch.spawn import supported
from chaos.supervise import remote
from chaos.supervise.lane_process import LaneProcess

DASK = "dask://"
_CONNECT_LIMIT = "10s"


@dataclass(frozen=True, slots=True)
class Pool:
    """Lanes behind an executor."""

    executor: Executor
    run_baseline: Callable[[Work], tuple[Evidence, ...]]
    run_unit: Callable[[Work], list[Explored]]
    end: Callable[[], None]  # end the lanes at once: their tracees die with them

    def baseline(self, work: Work) -> Future[tuple[Evidence, ...]]:
        """Have the references of a scenario made."""
        return self.executor.submit(self.run_baseline, work)

    def unit(self, work: Work) -> Future[list[Explored]]:
        """Have a unit carried out."""
        return self.executor.submit(self.run_unit, work)


@contextmanager
def pool(root: Path, jobs: int, executor: str | None = None) -> Iterator[Pool]:
    """`jobs` lanes of this machine, which keep their files below `root`; or those of the cluster
    that `executor` names (`dask://HOST:PORT`). Raises UsageError, HarnessError, and Unsupported
    where this machine cannot have lanes."""
    made = _local(root, jobs) if executor is None else _dask(executor)
    with made as lanes:
        try:
            yield lanes
        except BaseException:
            lanes.end()
            raise


def answer(future: Future[Any]) -> Any:
    """What a lane gave. Raises ChaosError: what the lane raised, or that it died."""
    try:
        return future.result()
    except OSError as error:  # the lane could not be started, or spoken to
        raise HarnessError(f"the system refused a lane: {error}") from None


@contextmanager
def _local(root: Path, jobs: int) -> Iterator[Pool]:
    """A thread for each lane, which does nothing but wait for it."""
    supported()  # here, where the reason can be told: a lane elsewhere dies of its imports
    free: SimpleQueue[LaneProcess] = SimpleQueue()
    lanes = [LaneProcess(root) for _ in range(jobs)]
    for each in lanes:
        free.put(each)

    def call(name: str, work: Work) -> Any:
        lane = free.get()
        try:
            return lane.call(name, work)
        finally:
            free.put(lane)

    def end() -> None:
        for each in lanes:
            each.end()

    executor = ThreadPoolExecutor(jobs)
    try:
        yield Pool(executor, partial(call, "baseline"), partial(call, "explore"), end)
    finally:
        # While the threads live: the kernel ends a lane whose thread has ended.
        for each in lanes:
            each.close()
        executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _dask(url: str) -> Iterator[Pool]:
    """Dask's own executor; each of its worker processes keeps one lane."""
    try:
        # An optional extra without types, and slow to import.
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise UsageError(
            f"--executor {url} needs Dask: pip install 'killpoint[dask]' here and on the workers"
        ) from None
    address = f"tcp://{url.removeprefix(DASK)}"
    try:
        client = distributed.Client(address, timeout=_CONNECT_LIMIT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise HarnessError(
            f"no Dask scheduler answers at {address} ({error}); start one with `dask scheduler`, "
            f"and workers with `dask worker {address}`"
        ) from None
    with client:
        executor = client.get_executor(pure=False)
        yield Pool(executor, remote.baseline, remote.explore, client.close)
        executor.shutdown(wait=True)
