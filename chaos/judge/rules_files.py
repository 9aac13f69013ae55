"""Rule E5: a file that a tool of the agent writes holds the old bytes or the new bytes.

Which contents are whole: what the path held at the start; what it held after each whole call, here
and in the references; what processes that the agent started (a shell command, say) wrote, which
are no concern of the agent. A call is whole when its own result is durable, when it ran in a run
without a kill, or when its last act was to rename a finished file into place.

Only paths that the agent's own process writes are judged: it is the process that writes the log.
Temporary files are not judged (X3 is).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaos.evidence import ABSENT, FileChange, LogWrite, Sha, StateWrite
from chaos.judge.case import Case, Need, Rule, Where, broken
from chaos.judge.workspace import is_temporary, replaces
from chaos.results import Violation


@dataclass(slots=True)
class _Path:
    """What may stand under a path, and how it was changed in the run that is judged."""

    whole: set[Sha] = field(default_factory=set)
    changes: list[FileChange] = field(default_factory=list)
    own: list[FileChange] = field(default_factory=list)  # of these, by the agent itself


def never_a_mixture(case: Case) -> Iterator[Violation]:
    """E5. Fails when the agent's own process leaves other bytes than whole ones under a path that
    it writes, be it between two system calls; and when a launch ends with other bytes there. Where
    a process of a tool changed the path last, the end of the launch is not judged: a command that
    dies half way may leave half a file."""
    for name, path in _paths(case).items():
        said: set[Sha] = set()
        for change in path.own:
            if change.after not in path.whole and change.after not in said:
                said.add(change.after)
                launch = case.launch_of(change)
                found = f"{_size(case, change.after)} after {change.call}"
                where = Where(launch, event=change)
                yield broken("E5", f"{name} is half written", _sizes(case, path), found, where)
        for launch in case.evidence.launches:
            before = [change for change in path.changes if change.launch <= launch.index]
            held = launch.files_after.get(name, ABSENT)
            judged = not before or before[-1] in path.own
            if judged and held not in path.whole and held not in said:
                said.add(held)
                found = f"{_size(case, held)} at the end"
                yield broken(
                    "E5", f"{name} is half written", _sizes(case, path), found, Where(launch)
                )


def _paths(case: Case) -> dict[str, _Path]:
    """Paths that the agent itself writes, here or in a reference."""
    paths: defaultdict[str, _Path] = defaultdict(_Path)
    judged: set[str] = set()
    for known in (case, *case.references):
        whole_run = known is not case
        last_of_call: dict[tuple[str, int, object], FileChange] = {}
        for change in _changes(known):
            path = paths[change.path]
            if known is case:
                path.changes.append(change)
            if change.pid in _log_writers(known, change.launch):
                judged.add(change.path)
                last_of_call[change.path, change.launch, _intent(known, change)] = change
                if known is case:
                    path.own.append(change)
            else:
                path.whole.add(change.after)
        for (name, _, intent), change in last_of_call.items():
            if whole_run or replaces(change) or intent in _answered(known):
                paths[name].whole.add(change.after)
        for launch in known.evidence.launches[:1]:
            for name, path in paths.items():
                path.whole.add(launch.files_before.get(name, ABSENT))
    return {name: path for name, path in paths.items() if name in judged}


def _changes(case: Case) -> Iterator[FileChange]:
    for event in case.evidence.events:
        if (
            isinstance(event, FileChange)
            and event.before != event.after
            and not is_temporary(event.path, case.evidence.facts.temporary)
        ):
            yield event


def _log_writers(case: Case, launch: int) -> frozenset[int]:
    """The processes that wrote the log (or whatever holds the session) in a launch: the agent, not
    its wrapper, not its tools."""
    events = case.evidence.of_launch(launch)
    return frozenset(e.pid for e in events if isinstance(e, LogWrite | StateWrite))


def _intent(case: Case, change: FileChange) -> str | None:
    """Id of the intent that is pending when a file changes."""
    call = case.owner(change)
    return call.intent.id if call and call.intent else None


def _answered(case: Case) -> frozenset[str | None]:
    """Ids of intents whose tool came to its end: the log holds a result that is not made up."""
    ended = (call for call in case.final.calls if call.outcome in ("success", "error"))
    return frozenset(call.intent.id for call in ended if call.intent)


def _size(case: Case, name: Sha) -> str:
    if not name:
        return "no file"
    return f"{len(case.evidence.blobs.get(name))} bytes (sha256 {name[:8]})"


def _sizes(case: Case, path: _Path) -> str:
    """The contents that are whole, for a message. Those of a reference may not be at hand."""
    known = case.evidence.blobs.data
    named = (
        _size(case, n) if not n or n in known else f"sha256 {n[:8]}" for n in sorted(path.whole)
    )
    return " or ".join(named)


RULES: tuple[Rule, ...] = (
    Rule(
        "E5",
        "a file that a tool writes holds the old bytes or the new bytes, never a mixture",
        frozenset({Need.OPENS}),
        never_a_mixture,
    ),
)
