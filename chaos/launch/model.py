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
from chaos.points import Scope


@dataclass(frozen=True, slots=True)
class Command:
    """What to start. `argv[0]` is looked up in the PATH of `env`; `stdin` is read only.

    `stdout` and `stderr` are files, created or appended to: a pipe that nobody drains would hang
    the target.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdout: str
    stderr: str
    stdin: str = "/dev/null"


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
class Strike:
    """Whom to kill, and when. `victim` None is the process that made the call; where there was
    no call, the root."""

    at: KillAt
    victim: int | None = None
    scope: Scope = Scope.PROCESS


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop the process (SIGSTOP) at the stop of its call, until `rival`, a second start of the
    target, has ended, or for `seconds`. `process` None is the one that made the call; where there
    was no call, the root."""

    rival: Command | None = None
    seconds: float = 0.0
    process: int | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """What to do with a call, at its entry."""

    keep: int | None = None  # bytes of the call that are carried out, 0 < keep < length; None: all
    errno: int = 0  # the call does not happen and returns this error
    strike: Strike | None = None
    pause: Pause | None = None  # this first; then `entering` is asked again about the call


GO = Action()


class Handler(Protocol):
    """Decides. Called in the one thread of the tracer, with the thread that made the call stopped
    and no other watched call in flight. What it raises ends the launch: all is killed, then the
    exception goes on to the caller of `trace`."""

    def classify(self, path: str) -> str | None:
        """Label of the regular file at this absolute path (links resolved), or of the directory,
        whose path ends in a slash; None: not watched.

        Must be a function of the path alone: answers are remembered by path and by inode.
        """

    def entering(self, call: Call) -> Action:
        """A watched call stands at its entry; nothing of it has happened."""

    def left(self, call: Call) -> Pause | None:
        """The call returned (`call.returned`). Not called where the process that made it was
        killed at it (`dead` is), nor where the thread died on its way out (the call may have
        happened). A pause comes before the next instruction."""

    def served(self) -> Strike | Pause | None:
        """The service has worked: is a kill or a pause due, at what happened on the wire?"""

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        """A process other than a root began a program; it stands before its first instruction."""

    def ended(self, pid: int, wait_status: int) -> None:
        """A process other than a root was ended by a signal, which the engine did not send."""

    def rival_ended(self, command: Command, pid: int, wait_status: int) -> None:
        """A root other than the first has ended."""

    def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
        """The victim `pid` is reaped, and nothing else was resumed since: read the file now.
        `call.returned` is None for a kill at entry; `call` is None where none stood."""


class Bystander:
    """A handler that lets everything go: the base of those that want to see one thing."""

    def entering(self, call: Call) -> Action:  # noqa: ARG002 - for those that override it
        """Go."""
        return GO

    def left(self, call: Call) -> Pause | None:
        """No pause."""

    def served(self) -> Strike | Pause | None:
        """Neither."""

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        """Nothing to note."""

    def ended(self, pid: int, wait_status: int) -> None:
        """Nothing to note."""

    def rival_ended(self, command: Command, pid: int, wait_status: int) -> None:
        """Nothing to note."""

    def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
        """Nothing to note."""


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

    pid: int  # of the first root process
    wait_status: int  # of it, as waitpid gives it
    killed: bool  # an action of the handler killed a process
    timed_out: bool  # a root (or what a kill left) still ran at `limit_s` and was killed
    seconds: float
    stops: int  # ptrace stops served: the cost of tracing
    survivors: tuple[Survivor, ...] = ()  # outlived the roots by more than `grace_s`; then killed
    unseen: tuple[str, ...] = ()  # durable changes that may have passed by the engine
    stacks: str = ""  # of a launch that timed out: where its threads stood
