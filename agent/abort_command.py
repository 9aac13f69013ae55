"""The command `abort`: free a session, whether a process works on it, none does, or it is blocked.

What it promises: with no process at work it makes the abort durable and reconciles by itself,
whatever configuration, environment or attempts hold a resume up. A process at work is asked with
SIGTERM, which writes the abort there; the command waits, within a bound, and brings to its end what
that process could not. An operation that ended in any other way first has so ended.
What it does not do: it signals no process but the one that holds the session's lock and has its
file open at that moment, and it kills none.

Source: session contract, section 6 ("Abort"); design, section 7.
"""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

from agent.commands import nothing_to_do
from agent.configuration import Configuration, Settings
from agent.facts import JSONObject
from agent.failures import ExitCode, SessionBusy
from agent.locking import WAIT_S
from agent.loop import Loop
from agent.outcome import Outcome
from agent.output import Output
from agent.reducer import SessionReducer
from agent.signals import AbortSwitch, aborting_signals
from agent.state import Idle
from agent.store import SessionStore
from agent.workspace import Workspace

_OWNER_S = 10.0  # bound on waiting for the process that was asked


def abort(workspace_dir: str, session: str, durability: str, output: Output) -> ExitCode:
    """Abort the unfinished operation of a session."""
    workspace = Workspace.at(workspace_dir)
    path = workspace.known(session)
    with aborting_signals() as switch:
        switch.request()

        def reconcile(wait_s: float) -> Outcome:
            with SessionStore.open(path, wait_s=wait_s, durability=durability) as store:
                return _reconcile(store, workspace, switch, output)

        try:
            outcome = reconcile(wait_s=0)
        except SessionBusy as busy:
            operation_id, _ = _read(path)
            if operation_id is None:
                outcome = Outcome("idle", "no operation is unfinished: nothing to abort")
            else:
                _ask(busy, path)
                outcome = _ended(path, operation_id) or reconcile(WAIT_S)
    output.outcome(outcome)
    return outcome.exit_code


def _reconcile(
    store: SessionStore, workspace: Workspace, switch: AbortSwitch, output: Output
) -> Outcome:
    """Abort what is unfinished in this process, which holds the session."""
    idle = nothing_to_do(store)
    if idle is not None:
        return idle
    output.session(store.state.header.id, store.path)
    settings = Settings.from_environment(os.environ, workspace)
    configuration = Configuration.of(settings)
    return Loop(store, configuration, workspace.root, output.fact, switch).drive()


def _ask(busy: SessionBusy, path: Path) -> None:
    """SIGTERM for the owner of the lock; wait until it has ended, at most _OWNER_S seconds.

    Raises `busy` where nobody can be asked. The pid is held while it is looked at, so that no other
    process can take its place; the owner may be dead already and its guard about to end.
    """
    if busy.owner is None:
        raise busy
    try:
        owner = os.pidfd_open(busy.owner)
    except ProcessLookupError:
        return
    try:
        if _has_open(busy.owner, path):
            signal.pidfd_send_signal(owner, signal.SIGTERM)
            poll = select.poll()
            poll.register(owner, select.POLLIN)
            poll.poll(_OWNER_S * 1000)
    except ProcessLookupError:
        pass  # it has ended meanwhile
    except PermissionError:
        raise busy from None
    finally:
        os.close(owner)


def _has_open(pid: int, path: Path) -> bool:
    """Whether the process has the file open, as far as this one may look."""
    wanted = path.stat()
    try:
        descriptors = list(Path("/proc", str(pid), "fd").iterdir())
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            if os.path.samestat(descriptor.stat(), wanted):
                return True
        except OSError:
            continue  # closed meanwhile
    return False


def _read(path: Path) -> tuple[str | None, dict[str, JSONObject]]:
    """Of a log as far as it goes now: the unfinished operation, and how each other one ended."""
    reducer, endings = SessionReducer(), {}
    lines = path.read_bytes().split(b"\n")[:-1]
    for line in lines:
        for fact in reducer.feed(line):
            if fact.variant == "operationFinished":
                endings[fact.body["operationId"]] = fact.body
    operation = reducer.state.operation if lines else Idle()
    return None if isinstance(operation, Idle) else operation.operation_id, endings


def _ended(path: Path, operation_id: str) -> Outcome | None:
    """How the operation has ended; None if it has not."""
    body = _read(path)[1].get(operation_id)
    if body is None:
        return None
    words = f"the process that worked on it has ended it: {body['outcome']}"
    return Outcome(body["outcome"], words, error=body.get("error"))
