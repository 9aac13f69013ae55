"""The vocabulary of the kill engine: what to start, what it did, what to do about it.

For the supervisor (which implements `Handler`) and the tracer (which calls it). Plain data and
protocols; nothing here touches a process.

Source: design section 2 (kill points, the engine).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from chaos.evidence import Survivor


@dataclass(frozen=True, slots=True)
class Command:
    """What to start. `argv[0]` is looked up in the PATH of `env`; stdin is /dev/null.

    `stdout` and `stderr` are files, created or appended to: a pipe that nobody drains would hang
    the target.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdout: str
    stderr: str


@dataclass(slots=True)
class Call:
    """A system call that changes a watched file, or its name. Seen at entry, filled at exit."""

    pid: int  # the process (thread group)
    tid: int  # the thread that made the call
    name: str  # write, pwritev2, ftruncate, rename, openat (with O_TRUNC) …
    label: str  # what `Handler.classify` said of the file
    path: str  # absolute, symbolic links resolved; of a rename or link: the old name
    fd: int = -1  # -1 where the call names a path
    offset: int = -1  # where the first byte goes; -1 for calls without a place in the file
    length: int = 0  # bytes asked to be written; 0 for calls without data
    data: bytes = b""  # the bytes handed over, vectors joined, at most CAPTURE_LIMIT_BYTES;
    #                    empty where the kernel copies from another file (sendfile, splice …)
    new_path: str | None = None  # of a rename or link
    size: int | None = None  # the size asked for by truncate, ftruncate, open with O_TRUNC
    returned: int | None = None  # set at exit, negative errno for a failure; None: never returned


class KillAt(Enum):
    """The stop of a call at which its process is killed."""

    ENTRY = "entry"
    EXIT = "exit"


@dataclass(frozen=True, slots=True)
class Action:
    """What to do with a call. Make one with the names and functions below."""

    name: str
    keep: int | None = None  # bytes of the call that are carried out; None: all
    errno: int = 0  # the call does not happen and returns this error
    kill: KillAt | None = None


GO = Action("go")


def kill_before() -> Action:
    """Kill on entry: nothing of the call happens."""
    return Action("before", kill=KillAt.ENTRY)


def kill_after() -> Action:
    """Let the call happen and kill at its exit, before the target's next instruction."""
    return Action("after", kill=KillAt.EXIT)


def tear(keep: int) -> Action:
    """Let exactly `keep` bytes reach the file, then kill. 0 < keep < call.length."""
    return Action("torn", keep=keep, kill=KillAt.EXIT)


def short(keep: int) -> Action:
    """Let the call write `keep` bytes only, and go on. 0 < keep < call.length."""
    return Action("short", keep=keep)


def fail(errno: int) -> Action:
    """The call does nothing and returns -`errno`."""
    return Action("fail", errno=errno)


class Handler(Protocol):
    """Decides. Called in the one thread of the tracer, with the thread that made the call stopped
    and no other watched call in flight. What it raises ends the launch: all is killed, then the
    exception goes on to the caller of `trace`."""

    def classify(self, path: str) -> str | None:
        """Label of the regular file at this absolute path (links resolved); None: not watched.

        Must be a function of the path alone: answers are remembered by path and by inode.
        """

    def entering(self, call: Call) -> Action:
        """A watched call stands at its entry; nothing of it has happened."""

    def left(self, call: Call) -> None:
        """The call returned (`call.returned`). Not called for a call at which the engine killed
        (`dead` is), nor where the thread died on its way out (the call may have happened)."""

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        """A process other than the root began a program; it stands before its first instruction."""

    def ended(self, pid: int, wait_status: int) -> None:
        """A process other than the root was ended by a signal, which the engine did not send."""

    def dead(self, call: Call, action: Action, wait_status: int) -> None:
        """The killed process is reaped and nothing else was resumed since: read the file now.
        `call.returned` is None for a kill at entry."""


class Service(Protocol):
    """Something else that lives in the tracer's event loop: the mock provider."""

    def fileno(self) -> int:
        """A descriptor that polls readable when `serve` has work (an epoll of its own, say)."""

    def serve(self) -> None:
        """Do all work that is ready, without blocking."""


@dataclass(frozen=True, slots=True)
class Started:
    """A child that waits for its tracer: it runs the command at a byte on `go`, exits at EOF."""

    pid: int
    go: int  # write end of the go-pipe, to be closed by the tracer
    report: int  # read end: `errno stage` as text where the program could not be started, else EOF


class Launcher(Protocol):
    """A way to make the root process: a fresh program (exec), a fork of a warm interpreter."""

    def start(self, command: Command) -> Started:
        """Make the waiting child. Raises CannotStart."""

    def owns(self, pid: int) -> bool:
        """Is this child of the tracer a helper of the launcher, and not of the target?"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a launch ended. No process of it is left."""

    wait_status: int  # of the root process, as waitpid gives it
    killed: bool  # an action of the handler killed a process
    timed_out: bool  # the root (or what a kill left) still ran at `limit_s` and was killed
    seconds: float
    stops: int  # ptrace stops served: the cost of tracing
    survivors: tuple[Survivor, ...] = ()  # outlived the root by more than `grace_s`; then killed
    unseen: tuple[str, ...] = ()  # durable changes that may have passed by the engine
    stacks: str = ""  # of a launch that timed out: where its threads stood
