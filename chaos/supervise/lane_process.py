"""A lane as a process, spoken to with pickles over its pipes: one unit of work at a time.

Whoever keeps it may be a thread of the supervisor, or a worker process of somebody else's (Dask's)
that has threads, signal handlers and children of its own, which the kill engine cannot live with.

Promises: the lane dies with its keeper (EOF, and the kernel's word), its directory goes with it; a
unit whose lane is killed is carried out once more, since a unit names everything it needs.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from chaos.errors import ChaosError, HarnessError
from chaos.explore.work import Work
from chaos.launch.child import die_with_parent

_SERVE = "from chaos.supervise.lane_process import serve; serve()"
_HEAD_BYTES = 8


class LaneProcess:
    """One lane, made at its first unit. Its files are below `root`; None: in a directory of its
    own, which it removes."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._starting = threading.Lock()  # a lane that was ended is never started

    def call(self, name: str, work: Work) -> Any:
        """Have the lane carry out `baseline` or `explore`. Raises what that raises, and
        HarnessError where the lane dies twice over the same unit."""
        try:
            answer = self._ask(name, work)
        except (OSError, EOFError):
            try:
                answer = self._ask(name, work)
            except (OSError, EOFError):
                raise HarnessError(
                    f"{work.scenario.name}: a worker process of the harness died twice over the "
                    "same schedules, which were not judged. Look for the out-of-memory killer in "
                    "the kernel log, and for a target that kills its parent; or try fewer --jobs"
                ) from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> None:
        """Kill the lane at once: its tracees die with it. No unit is carried out any more."""
        with self._starting:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Let the lane go; it takes its directory with it."""
        if self._process is None:
            return
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()

    def _ask(self, name: str, work: Work) -> Any:
        process = self._started()
        assert process.stdin is not None  # noqa: S101 - PIPE was asked for
        assert process.stdout is not None  # noqa: S101 - as above
        try:
            _send(process.stdin, (name, work))
            return _receive(process.stdout)
        except (OSError, EOFError):
            process.kill()
            process.wait()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._ended:
                raise EOFError("the lane was ended")
            if self._process is None or self._process.poll() is not None:
                self.close()
                # A session of its own: Ctrl-C is the keeper's business.
                root = [str(self._root)] if self._root else []
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _SERVE, str(os.getpid()), *root],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                )
            return self._process


def serve() -> None:
    """Be a lane: carry out what comes on stdin until it ends."""
    from chaos.supervise import lane
    from chaos.supervise.workshop import hold, workshop

    keeper = int(sys.argv[1])  # not asked for here: it may have died before this line
    die_with_parent()
    if os.getppid() != keeper:
        os._exit(1)
    asked, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints may get between the answers
    functions = {"baseline": lane.baseline, "explore": lane.explore}
    given = [contextlib.nullcontext(Path(root)) for root in sys.argv[2:]]
    with given[0] if given else workshop() as root, closing(lane.Lane(root)) as here:
        try:
            hold(root)
        except FileNotFoundError:
            return  # the supervisor has gone already, and the workshop with it
        while True:
            try:
                name, work = _receive(asked)
            except EOFError:
                return
            try:
                answer: Any = functions[name](here, work)
            except ChaosError as error:
                answer = error
            except OSError as error:
                answer = HarnessError(f"{work.scenario.name}: the system refused: {error}")
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
