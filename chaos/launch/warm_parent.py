"""The warm parent: an interpreter with the target's libraries imported, which forks launches.

Runs inside the target's own Python, started by `chaos.launch.warm`; imports nothing but the
standard library, `child` and `pages`. Forks at each request and gives back the pid; the child waits
for its tracer and then runs the module as `python -m module` would.

Promises: dies with the lane and at EOF of the channel; holds no state of a target; has no threads.
A launch differs from a cold one in what a process inherits: the hash seed, /proc/PID/cmdline, and
what the preloaded libraries computed at import.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from chaos.launch import child
from chaos.launch.pages import join_pages


def main() -> None:
    """`argv` is the descriptor of the channel, and what to do before the first fork, as JSON.
    Returns in the forked launches only, when their module has ended."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    asked = json.loads(sys.argv[2])
    child.die_with_parent()
    del sys.path[0]  # where this module came from
    here = sys.path[:1] == [""]  # the working directory, unless the options forbid it
    if here:
        del sys.path[0]
    failure = _preload(asked["preload"]) or _rehearse(asked["module"], asked["rehearsal"])
    _send(channel, failure.encode())
    if failure:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps what the tracer has seen end
    filter_ = child.Filter(bytes.fromhex(asked["filter"]))
    for name in [name for name in sys.modules if name.split(".")[0] == "chaos"]:
        del sys.modules[name]  # the target may have a package of that name
    gc.collect()
    gc.freeze()  # what exists now is shared with the launches
    join_pages()
    _run(asked["module"], filter_, *_serve(channel), here=here)


def _preload(names: Sequence[str]) -> str:
    """Import each `module`, call each `module:function` once. Returns what went wrong."""
    for name in names:
        module, _, function = name.partition(":")
        try:
            imported = importlib.import_module(module)
            if function:
                getattr(imported, function)()
        except Exception as error:  # noqa: BLE001, RUF100 - any failure is told, none is ours
            return f"preload of {name!r} failed: {type(error).__name__}: {error}"
        if _has_threads():
            return f"preload of {name!r} started a thread, which a forked launch would not have"
    return ""


def _rehearse(module: str, requests: Sequence[Mapping[str, Any]]) -> str:
    """Run the module in this process, once for each request: what it and its libraries compute at
    their first use is then there for every launch. A rehearsal that fails has cost its benefit and
    nothing else; one that leaves a thread is told."""
    environment, argv = dict(os.environ), sys.argv
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    for request in requests:
        os.chdir(request["cwd"])
        _take_over(module, request)
        with contextlib.suppress(BaseException):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        # A program on its way out may ignore what its next start must hear.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
    os.chdir("/")
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = argv
    return "the rehearsal started a thread, which a launch would not have" if _has_threads() else ""


def _take_over(module: str, request: Mapping[str, Any]) -> None:
    """Environment and arguments of a launch."""
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [module, *request["arguments"]]


def _shift_clock(seconds: float) -> None:
    """The wall clock that this interpreter tells, by the same variable as libfaketime's."""
    if seconds:
        now, now_ns = time.time, time.time_ns
        time.time = lambda: now() + seconds
        time.time_ns = lambda: now_ns() + int(seconds * 1e9)


def _has_threads() -> bool:
    return len(list(Path("/proc/self/task").iterdir())) > 1


def _serve(channel: socket.socket) -> tuple[Mapping[str, Any], int, int]:
    """Fork at each request. Returns in the fork: the request, its go-pipe, its report-pipe."""
    parent = os.getpid()
    while True:
        head, pipes, _, _ = socket.recv_fds(channel, 4, 2)
        if not head:
            os._exit(0)
        request = json.loads(_receive(channel, int.from_bytes(head, "big")))
        pid = os.fork()
        if pid == 0:
            channel.detach()  # its number is closed below, and must not be closed again later
            child.die_with_parent()
            if os.getppid() != parent:
                os._exit(0)
            return request, pipes[0], pipes[1]
        for pipe in pipes:
            os.close(pipe)
        _send(channel, str(pid).encode())


def _run(
    module: str,
    filter_: child.Filter,
    request: Mapping[str, Any],
    go: int,
    report: int,
    *,
    here: bool,
) -> None:
    """In the fork: become what a fresh interpreter would be, then run the module. Whatever it
    touches here is a page copied, in each launch: what can be done before the fork is done there.
    """
    stage = "start"
    try:
        child.await_go(go)
        streams = (request["stdin"], request["stdout"], request["stderr"])
        child.settle(streams, request["cwd"], report)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # A lane ignores SIGINT, and an interpreter that starts so leaves it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        stage = "seccomp"
        filter_.arm()
    except OSError as error:
        os.write(report, f"{error.errno} {stage} {error.filename or ''}".encode())
        os._exit(127)
    os.close(report)
    _take_over(module, request)
    _shift_clock(float(os.environ.get("FAKETIME", "0")))
    if here:
        sys.path.insert(0, request["cwd"])
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as exit_:
        _end(exit_)
    _end(SystemExit())


def _end(exit_: SystemExit) -> NoReturn:
    """What an interpreter does at its end, without taking its memory apart object by object: that
    would copy every page it shares with the warm parent, which costs more than a short run."""
    code = exit_.code
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)  # noqa: T201 - as sys.exit("text") does
    status = 0 if code is None else code & 0xFF if isinstance(code, int) else 1
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        status = 120  # as the interpreter says it
    os._exit(status)


def _send(channel: socket.socket, data: bytes) -> None:
    channel.sendall(len(data).to_bytes(4, "big") + data)


def _receive(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            os._exit(0)  # the lane died in the middle of a request
        data += part
    return data
