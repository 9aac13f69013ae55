"""Run one tool program so that its whole process tree dies with the agent.

The tree:

    agent ── guard (a fork, no exec) ── tool (own session) ── whatever it starts

The guard is parent and subreaper of the tool's tree. It watches a pipe whose other end only the
agent has: at EOF the agent is dead, however it died, and the guard kills every descendant. It
holds `lock_fd`, the session's lock, until they are gone, so that a resume cannot overtake an
effect. When the tool's own process ends, what it left behind is killed too: a call is over when its
tree is over. A byte in the pipe says that the operation is aborted: the tree is asked to end
(SIGTERM), and killed where it has not ended after a short grace.

What it promises: after `run_guarded` returned or the agent died, no process of the tree lives, and
the tool inherits no descriptor but its standard streams. If the guard itself is killed, the kernel
kills the tool (PDEATHSIG) and the agent, a subreaper while a call lasts, the rest.
What it does not do: it neither limits nor interprets output, and it is no sandbox.

`PR_SET_PDEATHSIG` alone would not do: grandchildren live on. A process group would not do either:
tools start sessions of their own.

Source: session contract, section 6 ("Children").
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Never

from agent.abort import Abort
from agent.descriptors import keep_only
from agent.process_tree import (
    die_with_parent,
    kill_descendants,
    set_subreaper,
    terminate_descendants,
)

_CHUNK = 1 << 16
_PIPE_CHUNKS = 16  # the most that the default limits let a pipe hold (1 MiB)
_CANNOT_START = 127  # what shells say
_GRACE_S = 1.0  # from SIGTERM to SIGKILL
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
_ALL = signal.valid_signals()
# An ignored signal stays ignored across exec; Python itself ignores SIGPIPE and SIGXFSZ.
_RESETTABLE = tuple(_ALL - {signal.SIGKILL, signal.SIGSTOP})


@dataclass(frozen=True, slots=True)
class ToolProgram:
    """What to start. `argv[0]` is an absolute path; `timeout_s` bounds the call."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended: `how` is exit | signal | timeout | aborted | lost.

    `code` is exit code or signal. `lost` means that the guard was killed; nothing of the tree lives
    any more either.
    """

    how: str
    code: int = 0


@dataclass(frozen=True, slots=True)
class _Pipes:
    """Descriptors of one call. The agent reads output and report and keeps alive_w open."""

    output_r: int
    output_w: int
    alive_r: int
    alive_w: int
    report_r: int
    report_w: int

    @classmethod
    def open(cls) -> _Pipes:
        return cls(*os.pipe(), *os.pipe(), *os.pipe())


def run_guarded(
    program: ToolProgram, lock_fd: int | None, sink: Callable[[bytes], None], abort: Abort
) -> Ending:
    """Run `program` to its end, giving its merged stdout and stderr to `sink` as it comes.

    Once `abort` is durable the tree is ended. `lock_fd` stays open in the guard for as long as a
    process of the tree lives. Raises OSError where the machine has no room for another process;
    nothing was started then.
    """
    set_subreaper(True)
    try:
        report = _run(program, lock_fd, sink, abort)
        if not report:
            kill_descendants()
            return Ending("lost")
        how, _, code = report.decode("ascii").partition(" ")
        return Ending(how, int(code))
    finally:
        set_subreaper(False)


def _run(
    program: ToolProgram, lock_fd: int | None, sink: Callable[[bytes], None], abort: Abort
) -> bytes:
    """The guard's report; empty if the guard was killed."""
    pipes = _Pipes.open()
    guard = _start(program, lock_fd, pipes)
    try:
        return _listen(pipes, sink, abort)
    finally:
        # Closing alive_w tells the guard to end whatever still runs (Ctrl-C, an error in `sink`).
        for fd in (pipes.alive_w, pipes.report_r, pipes.output_r):
            os.close(fd)
        with contextlib.suppress(ChildProcessError):  # who ignores SIGCHLD has nobody to reap
            os.waitpid(guard, 0)


def _start(program: ToolProgram, lock_fd: int | None, pipes: _Pipes) -> int:
    """Fork the guard; the agent keeps its own ends of the pipes."""
    # A signal between fork and the guard's own settings must not raise in the guard.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL)
    try:
        guard = os.fork()
        if guard == 0:
            _guard(program, lock_fd, pipes)
    except OSError:
        for fd in (pipes.output_r, pipes.alive_w, pipes.report_r):
            os.close(fd)
        raise
    finally:
        for fd in (pipes.output_w, pipes.alive_r, pipes.report_w):
            os.close(fd)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return guard


def _listen(pipes: _Pipes, sink: Callable[[bytes], None], abort: Abort) -> bytes:
    """Pass on output until the guard has reported; then what is still in the pipe."""
    os.set_blocking(pipes.output_r, False)
    awaited = dict.fromkeys((pipes.output_r, pipes.report_r), select.POLLIN)
    told = False
    while True:
        ready = abort.wait(awaited)
        if pipes.report_r in ready:
            report = os.read(pipes.report_r, 64)
            # The tree is dead, so only what the pipe still holds can be left.
            _drain(pipes.output_r, sink, chunks=_PIPE_CHUNKS)
            return report
        if abort.durable and not told:
            told = True
            with contextlib.suppress(BrokenPipeError):  # a killed guard; its report will be empty
                os.write(pipes.alive_w, b"T")
        if pipes.output_r in ready and not _drain(pipes.output_r, sink, chunks=1):
            del awaited[pipes.output_r]


def _drain(fd: int, sink: Callable[[bytes], None], chunks: int) -> bool:
    """Read what is there, at most `chunks` times. False at the end of the stream."""
    for _ in range(chunks):
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return True
        if not data:
            return False
        sink(data)
    return True


def _guard(program: ToolProgram, lock_fd: int | None, pipes: _Pipes) -> Never:
    """The guard process. Nothing leaves it but its report; it never returns to the caller."""
    try:
        os.setsid()
        set_subreaper(True)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored SIGCHLD would eat exit statuses
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGCHLD})
        guard = os.getpid()
        tool = os.fork()
        if tool == 0:
            _tool(program, pipes.output_w, guard)
        keep_only(pipes.alive_r, pipes.report_w, lock_fd)
        report = _watch(tool, pipes.alive_r, program.timeout_s)
        kill_descendants()
        os.write(pipes.report_w, report.encode("ascii"))
    except BaseException:  # a fork must not run the agent's handlers
        with contextlib.suppress(BaseException):
            kill_descendants()
    finally:
        os._exit(0)


def _watch(tool: int, alive_r: int, timeout_s: float) -> str:
    """Wait for the tool's end, an abort, the agent's end or the time limit; report which it was."""
    ended = os.pidfd_open(tool)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(alive_r, select.POLLIN)
    deadline = time.monotonic() + timeout_s
    ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
    if ended not in {fd for fd, _ in ready}:
        if not ready:
            return "timeout 0"
        if os.read(alive_r, 1):
            poll.unregister(ended)
            terminate_descendants(_GRACE_S, hurried=lambda: bool(poll.poll(0)))
        return "aborted 0"  # or the agent is gone, and nobody reads this
    _, status = os.waitpid(tool, 0)
    code = os.waitstatus_to_exitcode(status)
    return f"exit {code}" if code >= 0 else f"signal {-code}"


def _tool(program: ToolProgram, output_w: int, guard: int) -> Never:
    """Between fork and exec of the tool: default signals, own session, nothing inherited."""
    try:
        os.setsid()
        die_with_parent()
        if os.getppid() != guard:
            os._exit(_CANNOT_START)  # the guard died before the kernel could be asked
        for number in _RESETTABLE:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output_w, 1)
        os.dup2(output_w, 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(program.cwd)
        os.execve(program.argv[0], list(program.argv), dict(program.env))  # noqa: S606 - argv, no string
    except BaseException as error:  # as in the guard
        with contextlib.suppress(BaseException):
            os.write(2, f"{program.argv[0]} could not be started: {error}\n".encode())
    finally:
        os._exit(_CANNOT_START)
