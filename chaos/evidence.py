"""Evidence: what one schedule left behind, as plain data that can be judged again later.

Pure. The supervisor writes it, the judge reads it, and nobody else adds meaning. Bulk bytes (log
states, request bodies, streams) are **blobs**, named by their SHA-256, so that a log state seen
ten times is kept once. `events` is one merged timeline over all launches; `order` counts up by
one and decides what came first, whatever the clock says.

The bytes that an event calls `log` are the session log **at that very moment**: the engine holds
the target (or has drained the wire) while they are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

BLOB = "the name of a blob"
Sha = Annotated[str, BLOB]  # lower-case hex SHA-256 of a blob; ABSENT where there was no file
ABSENT: Sha = ""

# System calls by what they do to a file: bring bytes to a place in it; change no byte.
WRITES = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range", "splice"}
)
COPIES = frozenset({"sendfile", "copy_file_range", "splice"})  # of bytes that are nowhere shown
SYNCS = frozenset({"fsync", "fdatasync"})

LOG_NAME = "LOG"  # of the session log, where its own name is a matter of chance

# Launches that carry out steps of the scenario: kills are tried in them. Idle and probe follow.
STEP_ROLES = ("run", "resume", "compact", "abort")


def sha(data: bytes) -> Sha:
    """Name of a blob."""
    return hashlib.sha256(data).hexdigest()


@dataclass(slots=True)
class Blobs:
    """Bytes by name. `put` gives the name; `get` of ABSENT is empty bytes."""

    data: dict[Sha, bytes] = field(default_factory=dict)

    def put(self, data: bytes) -> Sha:
        name = sha(data)
        self.data.setdefault(name, data)
        return name

    def get(self, name: Sha) -> bytes:
        return b"" if name == ABSENT else self.data[name]

    def text(self, name: Sha) -> str:
        """The bytes as text for a person: a stream, a body."""
        return self.get(name).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class LogWrite:
    """A system call that changed the session log (or tried to), seen at its exit."""

    order: int
    launch: int
    at_ms: float
    pid: int
    call: str  # write, pwrite64, writev, ftruncate, fsync, rename, unlink …
    point: str  # the kill point's name without phase, e.g. "log:toolStarted[bash]#1"
    position: int  # 1-based count of log calls in this launch
    offset: int  # byte offset in the file; -1 where it has none
    length: int  # bytes the target asked to write; 0 for calls without data
    returned: int | None  # the call's return value; None: the target was killed on entry
    log: Sha  # the log after the call


@dataclass(frozen=True, slots=True)
class StateWrite:
    """A system call that changed a file which holds the session (or tried to), of a target whose
    session is not read. Its bytes are kept at a kill only: a database may be large."""

    order: int
    launch: int
    at_ms: float
    pid: int
    call: str
    path: str  # relative to the workspace, or `~/…` below the HOME; for a rename, the new name
    glob: str  # of the target file, by which it is watched
    point: str  # the kill point's name without phase: "state:pwrite64[~/.mine/*.db-wal]#3"
    offset: int  # byte offset in the file; -1 where it has none
    length: int  # bytes the target asked to write; 0 for calls without data
    returned: int | None  # the call's return value; None: the target was killed on entry
    tears: bool = True  # can a kill leave a part of it, and is what it leaves then known?


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the target at the mock provider, seen when its first byte arrived."""

    order: int
    launch: int
    at_ms: float
    ordinal: int  # 1-based among the turns of the launch; 0: it is no turn of the conversation
    method: str
    path: str  # below the provider's root
    body: Sha
    log: Sha  # the log when the first byte arrived
    status: int  # what the mock decided to answer; 0: nothing (cut, killed while reading)
    reason: str  # why not 200, else ""
    answer: Sha  # the bytes of the answer body that were sent
    usage: Mapping[str, int] | None = None  # the raw usage object that the answer reported
    injected: bool = False  # the status comes from an event of the schedule


@dataclass(frozen=True, slots=True)
class Answered:
    """The last byte of the answer to a request was handed to the kernel."""

    order: int
    launch: int
    at_ms: float
    ordinal: int
    complete: bool  # False: the connection went away first


@dataclass(frozen=True, slots=True)
class Effect:
    """An append to the effect journal outside the workspace: one line an effect."""

    order: int
    launch: int
    at_ms: float
    pid: int
    argv: tuple[str, ...]  # of the process that did it
    name: str  # the line appended, without LF
    log: Sha  # the log at the entry of the system call, before the effect
    holds_log: bool  # that process had the session log (or its lock) open
    point: str = ""  # the kill point's name without phase, e.g. "effect:deploy#1"


@dataclass(frozen=True, slots=True)
class Exec:
    """A process of the target's tree, other than the first, began a program: a tool starts."""

    order: int
    launch: int
    at_ms: float
    pid: int
    argv: tuple[str, ...]
    log: Sha


@dataclass(frozen=True, slots=True)
class FileChange:
    """A system call that changed a workspace file outside the target's own state."""

    order: int
    launch: int
    at_ms: float
    pid: int
    call: str
    path: str  # relative to the workspace; for a rename, the new name
    before: Sha  # visible content under `path` at entry; ABSENT: no such file
    after: Sha  # at exit
    log: Sha  # the log at entry
    point: str = ""  # the kill point's name without phase, e.g. "file:rename[notes.txt]#1"
    offset: int = -1  # byte offset in the file; -1 where it has none
    length: int = 0  # bytes the target asked to write; 0 for calls without data
    old: str = ""  # of a rename or link: the old name, relative to the workspace


@dataclass(frozen=True, slots=True)
class Sync:
    """A system call that made a file or a directory durable against a loss of power."""

    order: int
    launch: int
    at_ms: float
    pid: int
    call: str
    path: str  # relative to the workspace; that of a directory ends in a slash
    log: Sha  # the log at that moment
    names: tuple[str, ...] = ()  # of a directory: the files in it; the log's is LOG_NAME


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the target's tree, as it stood when the target was held to be killed."""

    pid: int
    ppid: int
    argv: tuple[str, ...]
    status: str  # as psutil names it: running, sleeping, tracing-stop, zombie …
    threads: int
    descriptors: int
    memory_bytes: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Kill:
    """The proof of a kill: what was promised and what was found (design section 2).

    What the point promised follows from `before`, `payload`, `offset`, `kept` and `size`; the
    judge recomputes it. The file meant is the one that the point is about: the log, the workspace
    file `path`, the effect journal; a point of the provider is about none.
    """

    order: int
    launch: int
    at_ms: float
    point: str  # the full kill point, e.g. "log:assistant#2/torn@17"
    call: str  # empty where no call stood
    pid: int  # the process killed
    tid: int  # the thread that made the call; 0 where no call stood
    offset: int
    length: int  # bytes the target asked to write
    kept: int  # bytes that the point lets reach the file: 0, k or length
    returned: int | None  # None for `before`
    before: Sha  # the file at entry
    payload: Sha  # the bytes that the target handed over
    after: Sha  # the file found when the killed process was reaped, nothing else having run
    wait_status: int  # raw status of waitpid; its low 7 bits are the signal, which must be 9
    size: int | None = None  # the size asked for by a truncate; None for other calls
    tree: tuple[Process, ...] = ()  # the process killed, and its descendants, just before
    log: Sha = ABSENT  # the log found then; of a point of the log, that is `after`
    caller: int = 0  # the process that made the call; 0 where no call stood
    scope: str = "process"  # who died with it: process, group, tree
    path: str = ""  # of a workspace file, or one that holds the session

    @property
    def log_after(self) -> Sha:
        """The log found when the killed process was reaped."""
        return self.after if self.point.startswith("log") else self.log


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that an event of the schedule sent to the process that writes the log, while the
    one who made the moment (the writer itself, a tool, the provider) was held."""

    order: int
    launch: int
    at_ms: float
    pid: int
    name: str  # INT, TERM
    at: str  # the instant, as the scenario names it: "effect:deploy#1/before"
    log: Sha  # the log when it was sent

    @property
    def do(self) -> str:
        """The event, as a scenario writes it."""
        return f"signal:{self.name}"


@dataclass(frozen=True, slots=True)
class Ended:
    """A process of the target's tree, other than the first, was ended by a signal: somebody
    cancelled it. The log at that moment is that of the event before."""

    order: int
    launch: int
    at_ms: float
    pid: int
    argv: tuple[str, ...]  # of the program it ran; empty if it began none
    signal: int


@dataclass(frozen=True, slots=True)
class Injected:
    """An event of the scenario was carried out on a call of the target: an error, a short write, a
    stop."""

    order: int
    launch: int
    at_ms: float
    pid: int
    do: str  # "errno:ENOSPC", "short:7", "stop:2s", "resume"
    call: str
    log: Sha  # the log at that moment
    at: str = ""  # the instant, by its fullest name: "log:toolStarted[bash]#1"


@dataclass(frozen=True, slots=True)
class Rival:
    """Another start of the target in the same launch has ended."""

    order: int
    launch: int
    at_ms: float
    pid: int
    argv: tuple[str, ...]
    exit_code: int | None  # None: ended by a signal
    signal: int | None
    held: int | None  # the process that was stopped all the while; None: all ran at once
    log_before: Sha  # when it was started
    log: Sha  # when it had ended
    stdout: Sha
    stderr: Sha
    since: int = 0  # what has a greater order came after its start


Event = (
    LogWrite
    | Request
    | Answered
    | Effect
    | Exec
    | FileChange
    | Sync
    | Kill
    | Signal
    | Ended
    | Injected
    | Rival
    | StateWrite
)


@dataclass(frozen=True, slots=True)
class Survivor:
    """A descendant that outlived the target beyond its grace time (and was then killed)."""

    pid: int
    argv: tuple[str, ...]


Tree = Mapping[str, Sha]  # workspace-relative path -> content, regular files only


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of the target, from start until no process of its tree was left."""

    index: int  # 0-based
    role: str  # one of STEP_ROLES, or idle (the resume that must do nothing), or probe
    step: int  # index of the scenario step it serves; idle and probe: number of steps
    argv: tuple[str, ...]
    prompt: str | None  # of a run or probe; of a resume that must be told to go on, these words
    exit_code: int | None  # None: ended by a signal
    signal: int | None
    killed: bool  # the schedule's kill ended it
    timed_out: bool  # the harness ended it at its limit
    seconds: float
    log_before: Sha
    log_after: Sha
    files_before: Tree  # workspace outside the target's own state
    files_after: Tree
    state_files: tuple[str, ...]  # names below the target's state directories, at the end
    stdout: Sha
    stderr: Sha
    survivors: tuple[Survivor, ...] = ()
    unseen: tuple[str, ...] = ()  # durable changes that passed by the engine: not judged
    stacks: str = ""  # of a launch that timed out: where its threads stood
    first: tuple[str, ...] = ()  # what was done to the session before it: "damage: cut@812"
    pid: int = 0  # of the process whose exit code this is
    changed: tuple[str, ...] = ()  # what the scenario changed for it: "set:AGENT_MODEL=other"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules must know of scenario and target, resolved to plain values."""

    scenario: str
    dialect: str  # "session-v2": L and the rules over facts apply; "transcript", "opaque"
    prompts: tuple[str, ...]  # of the run steps, in order
    probe_prompt: str
    exit_codes: Mapping[str, int]  # completed, failed, blocked, corrupt, busy, aborted
    expect_outcome: str | None  # completed | failed | aborted | None
    expect_effects: Mapping[str, str]  # effect name -> never | once | at-most-once | per-intent
    temporary: tuple[str, ...]  # globs, workspace-relative: the target's temporary files
    secret: str  # the API key the target was given: must be found nowhere
    steps: tuple[str, ...] = ()  # what each step does, one of STEP_ROLES; empty: all are runs
    expect_blocked: str | None = None  # the reason that holds up a launch that finds a change
    acknowledged: str = "request"  # when a prompt counts as accepted, if no fact tells: or "exit"
    goes_on: str = ""  # the prompt that `resume` is given; empty: it is given none
    side: tuple[str, ...] = ()  # texts that tell a request which is no turn of the conversation
    side_without_tools: bool = False  # and so does a request that offers no tool
    shell: str = "bash"  # the tool that the model runs commands with; empty: there is none
    durable: tuple[str, ...] = ()  # globs of the files that hold the session
    transcript: Mapping[str, str] = field(
        default_factory=dict
    )  # paths in a line (chaos.transcript)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that one schedule left. `references` are the runs without a kill (design R5)."""

    schedule: str
    facts: Facts
    launches: tuple[Launch, ...]
    events: tuple[Event, ...]
    blobs: Blobs
    references: tuple[Evidence, ...] = ()
    merged_into: str | None = None  # the image was judged to the end by that schedule

    def of_launch(self, index: int) -> Iterator[Event]:
        """The events of one launch, in order."""
        return (e for e in self.events if e.launch == index)

    @property
    def kills(self) -> tuple[Kill, ...]:
        """The kills that were made, in order."""
        return tuple(e for e in self.events if isinstance(e, Kill))
