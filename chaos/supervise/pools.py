"""Where lanes run: processes of this machine, or of a cluster that somebody has.

A pool is any `concurrent.futures.Executor` of processes, and the two functions it is given to run
there. Results do not depend on which it is.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.errors import HarnessError, UsageError
from chaos.evidence import Evidence
from chaos.explore.work import Explored, Work
from chaos.supervise import lane, remote

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
    that `executor` names (`dask://HOST:PORT`). Raises UsageError, HarnessError."""
    made = _local(root, jobs) if executor is None else _dask(executor)
    with made as lanes:
        try:
            yield lanes
        except BaseException:
            lanes.end()
            raise
        finally:
            lanes.executor.shutdown(wait=True)


def answer(future: Future[Any]) -> Any:
    """What a lane gave. Raises what it raised, and HarnessError where it died."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise HarnessError(
            f"a worker process of the harness died ({error}); its schedules were not judged. "
            "Look for the out-of-memory killer in the kernel log, or try fewer --jobs"
        ) from None


@contextmanager
def _local(root: Path, jobs: int) -> Iterator[Pool]:
    """Spawned, not forked: a lane must start with nothing of its parent."""
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, context, lane.start, (str(root), os.getpid()))
    yield Pool(executor, lane.baseline, lane.explore, _end_children)


def _end_children() -> None:
    for process in multiprocessing.active_children():
        process.kill()


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
