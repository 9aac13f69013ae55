"""A lane for a worker process that belongs to somebody else (Dask's, for instance).

Such a worker has threads, signal handlers and children of its own, which the kill engine cannot
live with. So it keeps a lane as a process of its own and speaks pickles with it over pipes: one
lane a worker, made at the first unit, one unit at a time.

Promises: the lane dies with its worker (EOF, and the kernel's word), its directory goes with it.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from typing import IO, Any

from chaos.errors import ChaosError, HarnessError
from chaos.evidence import Evidence
from chaos.explore.work import Explored, Work

_SERVE = "from chaos.supervise.remote import serve; serve()"
_HEAD_BYTES = 8
_one_unit = threading.Lock()
_process: subprocess.Popen[bytes] | None = None


def baseline(work: Work) -> tuple[Evidence, ...]:
    """The references of a scenario, by this worker's lane."""
    made: tuple[Evidence, ...] = _call("baseline", work)
    return made


def explore(work: Work) -> list[Explored]:
    """Carry out a unit, by this worker's lane."""
    made: list[Explored] = _call("explore", work)
    return made


def _call(name: str, work: Work) -> Any:
    with _one_unit:
        try:
            answer = _ask(name, work)
        except (OSError, EOFError):
            # Somebody killed the lane. A unit names everything it needs, so it begins anew; a
            # second death is no accident.
            try:
                answer = _ask(name, work)
            except (OSError, EOFError) as error:
                raise HarnessError(f"the lane of this worker died twice ({error})") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _ask(name: str, work: Work) -> Any:
    """Have the lane carry it out. Raises OSError and EOFError where the lane dies."""
    global _process  # noqa: PLW0603 - a worker process keeps one lane
    if _process is None or _process.poll() is not None:
        _process = subprocess.Popen(
            [sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    assert _process.stdin is not None  # noqa: S101 - PIPE was asked for
    assert _process.stdout is not None  # noqa: S101 - as above
    try:
        _send(_process.stdin, (name, work))
        return _receive(_process.stdout)
    except (OSError, EOFError):
        _process.kill()
        _process.wait()
        raise


def serve() -> None:
    """Be a lane: carry out what comes on stdin until it ends."""
    import os

    from chaos.supervise import lane
    from chaos.supervise.workshop import workshop

    asked, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints may get between the answers
    functions = {"baseline": lane.baseline, "explore": lane.explore}
    with workshop() as root:
        lane.start(str(root), os.getppid())
        while True:
            try:
                name, work = _receive(asked)
            except EOFError:
                return
            try:
                answer: Any = functions[name](work)
            except ChaosError as error:
                answer = error
            _send(told, answer)


def _send(stream: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    stream.write(len(data).to_bytes(_HEAD_BYTES, "big") + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    head = stream.read(_HEAD_BYTES)
    data = stream.read(int.from_bytes(head, "big")) if len(head) == _HEAD_BYTES else b""
    if not data:
        raise EOFError("the other side has gone")
    return pickle.loads(data)  # noqa: S301 - from the process at the other end of our own pipe
