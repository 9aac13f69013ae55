"""Rule R5: the end equals the end of the run without a kill.

Compared operation by operation: what was said (role, content, calls, type of each result), how the
operation ended, and at last the workspace. From the first result `interrupted` on, the model heard
something else than in the reference, so only the shape is compared: roles and the names of calls;
files are not.

Where the schedule has events there are two references, with and without them: a kill may keep a
fault or a signal from coming again. Each operation is compared with the references in which it
failed, or did not fail, likewise.

An abort that was asked for races with what is going on, so it has two legal ends: that of a
reference, and `aborted` after any beginning of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chaos.evidence import ABSENT, Injected, Sha
from chaos.judge.case import Case, End, Need, Rule, Where, broken, shown
from chaos.judge.history import Operation, Turn, tool_calls
from chaos.judge.log import Fact
from chaos.judge.workspace import is_temporary
from chaos.results import Violation

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class _Difference:
    what: str
    expected: str
    found: str
    fact: Fact | None


def same_end(case: Case) -> Iterator[Violation]:
    """R5. Fails when an unblocked end has other operations, other outcomes, other messages or
    other files than every reference that may be compared with it; and when the outcome is not the
    one that the scenario expects. An operation left open has no end to compare: it is blocked, or
    L7's; nor has a session that was damaged. Surplus files are X3's."""
    end = case.end
    if end is None or case.damaged is not None:
        return
    last = end.history.last_operation
    if last is not None and last.outcome not in (None, *_wanted(case, last)):
        wanted = case.evidence.facts.expect_outcome
        where = Where(end.launch, last.finished[-1])
        yield broken("R5", "the scenario's outcome", wanted, last.outcome, where)
    references = case.reference_ends
    if not references or end.history.open_operation is not None:
        return
    mine = end.history.operations
    aborted = next((n for n, operation in enumerate(mine, 1) if operation.aborted), None)
    if aborted and _befell(case, "signal:"):  # what comes after is another story
        difference = _operations(case, end, mine[:aborted], references)
    elif _befell(case, "errno:", "file:"):  # the model was told so
        difference = _count(mine, references) or _ends(mine, references)
    else:
        difference = _count(mine, references) or _operations(case, end, mine, references)
        if difference is None and not interrupted(end) and not aborted:
            difference = _files(case, end)
    if difference is not None:
        where = Where(end.launch, difference.fact)
        yield broken("R5", difference.what, difference.expected, difference.found, where)


def _wanted(case: Case, last: Operation) -> tuple[str | None, ...]:
    """The outcomes that the last operation may have: the one that the scenario expects; where that
    is an abort which a kill prevented, also that of a reference; and an abort, where the schedule
    sent a signal that the scenario does not know of."""
    wanted = case.evidence.facts.expect_outcome
    if wanted is None:
        return (last.outcome,)
    if last.aborted is not None and _befell(case, "signal:"):
        return (wanted, "aborted")
    prevented = last.aborted is None and any(x.killed for x in case.evidence.launches)
    if wanted != "aborted" or not prevented:
        return (wanted,)
    ends = (end.history.last_operation for end in case.reference_ends)
    return (wanted, *(operation.outcome for operation in ends if operation))


def _befell(case: Case, do: str, at: str = "") -> bool:
    """Did the schedule, and not the scenario, let such an event happen?"""
    said = (what for launch in case.evidence.launches for what in launch.first)
    return any(what.startswith(f"event: {do}") and f" at {at}" in what for what in said)


def interrupted(end: End) -> bool:
    """Does the log say of any call that it may or may not have happened?"""
    return any(turn.outcome == INTERRUPTED for turn in end.history.turns)


def _count(mine: Sequence[Operation], references: Sequence[End]) -> _Difference | None:
    counts = sorted({len(known.history.operations) for known in references})
    if len(mine) in counts:
        return None
    expected = " or ".join(map(str, counts))
    return _Difference("the number of operations", expected, str(len(mine)), None)


def _ends(mine: Sequence[Operation], references: Sequence[End]) -> _Difference | None:
    """The first operation that ended otherwise."""
    for operation in mine:
        known = {_outcome(_twin(operation, r)) for r in _there(operation, references)}
        if (found := _outcome(operation)) not in known:
            what = f"the end of operation {operation.ordinal}"
            return _Difference(what, " or ".join(sorted(known)), found, operation.finished[-1])
    return None


def _operations(
    case: Case, end: End, mine: Sequence[Operation], references: Sequence[End]
) -> _Difference | None:
    """The first difference; of references that may be compared, one without a difference does. Of
    several injected errors, a kill may keep only some from coming again: each message is then
    that of any of them."""
    errors = any(isinstance(e, Injected) for e in case.evidence.events)
    for operation in mine:
        if case.abort_asked and operation.aborted is not None:
            there = _there(operation, references)
            differences = [_beginning(end, operation, known) for known in there]
        else:
            there = _alike(operation, references)
            differences = [_operation(end, operation, known) for known in there]
        mixed = errors and _mixed(end, operation, there)
        if differences and None not in differences and not mixed:
            return differences[0]
    return None


def _mixed(end: End, operation: Operation, references: Sequence[End]) -> bool:
    """Is each message that of a reference, and the end?"""
    mine = _turns(end, operation)
    known = [_turns(reference, operation) for reference in references]
    return (
        _outcome(operation) in {_outcome(_twin(operation, r)) for r in references}
        and len(mine) in {len(turns) for turns in known}
        and all(
            any(
                index < len(turns)
                and _said(turn, end, shape=False) == _said(turns[index], reference, shape=False)
                for turns, reference in zip(known, references, strict=True)
            )
            for index, turn in enumerate(mine)
        )
    )


def _alike(operation: Operation, references: Sequence[End]) -> list[End]:
    """References in which this operation met a provider fault, or none, as it did here."""
    there = _there(operation, references)
    alike = [r for r in there if _twin(operation, r).step_failed == operation.step_failed]
    return alike or there


def _there(operation: Operation, references: Sequence[End]) -> list[End]:
    """References that came to this operation."""
    return [r for r in references if len(r.history.operations) >= operation.ordinal]


def _twin(operation: Operation, reference: End) -> Operation:
    return reference.history.operations[operation.ordinal - 1]


def _operation(end: End, operation: Operation, reference: End) -> _Difference | None:
    expected, found = _outcome(_twin(operation, reference)), _outcome(operation)
    if expected != found:  # said first: it tells more than the messages that it cost
        what = f"the end of operation {operation.ordinal}"
        return _Difference(what, expected, found, operation.finished[-1])
    summary = _twin(operation, reference).summary
    if operation.summary != summary:
        what = f"the summary of operation {operation.ordinal}"
        return _Difference(what, str(summary), str(operation.summary), operation.started)
    return _messages(end, operation, reference, _turns(end, operation))


def _beginning(end: End, operation: Operation, reference: End) -> _Difference | None:
    """An aborted operation is, up to its abort, the beginning of the reference's. What follows the
    abort is L11's."""
    aborted = operation.aborted.seq or 0 if operation.aborted else 0
    turns = [turn for turn in _turns(end, operation) if (turn.fact.seq or 0) < aborted]
    return _messages(end, operation, reference, turns, whole=False)


def _turns(end: End, operation: Operation) -> list[Turn]:
    return [turn for turn in end.history.turns if turn.operation == operation.ordinal]


def _messages(
    end: End, operation: Operation, reference: End, turns: list[Turn], *, whole: bool = True
) -> _Difference | None:
    """The first message that differs. `whole`: also one that is missing."""
    others = _turns(reference, operation)
    unknown = next((t.fact.seq or 0 for t in end.history.turns if t.outcome == INTERRUPTED), None)
    for index in range(max(len(turns), len(others)) if whole else len(turns)):
        turn = turns[index] if index < len(turns) else None
        other = others[index] if index < len(others) else None
        shape = unknown is not None and (turn is None or (turn.fact.seq or 0) >= unknown)
        expected = _said(other, reference, shape=shape)
        found = _said(turn, end, shape=shape)
        if expected != found:
            what = f"message {index + 1} of operation {operation.ordinal}"
            return _Difference(what, expected, found, turn.fact if turn else None)
    return None


def _said(turn: Turn | None, end: End, *, shape: bool) -> str:
    """What counts of a message, as text: paths and ids that differ from run to run are named."""
    if turn is None:
        return "no message"
    message = turn.message
    calls = [(c.get("id"), c.get("function")) for c in tool_calls(message)]
    if shape:
        names = [f.get("name") for _, f in calls if isinstance(f, dict)]
        return f"{message.get('role')} calling {names}"
    said = {
        "role": message.get("role"),
        "content": message.get("content"),
        "calls": calls,
        "answers": message.get("tool_call_id"),
        "result": turn.outcome,
    }
    return _neutral(json.dumps({k: v for k, v in said.items() if v}, ensure_ascii=False), end)


def _neutral(text: str, end: End) -> str:
    """Runs differ in their workspace (and what lies beside it) and in their ids."""
    cwd = end.history.cwd.rstrip("/")
    for path, name in ((cwd, "CWD"), (cwd.rpartition("/")[0], "ROOM")):
        if path:
            text = text.replace(path, name)
    return _UUID.sub("UUID", text)


def _outcome(operation: Operation) -> str:
    """completed normal | completed truncated | failed CODE | aborted | nothing."""
    if not operation.finished:
        return "nothing"
    body = operation.finished[-1].body
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return " ".join(str(x) for x in (body.get("outcome"), body.get("completion"), code) if x)


def _files(case: Case, end: End) -> _Difference | None:
    """The first file of a reference that is gone or holds other bytes."""
    faults = _faults(end)
    alike = [known for known in case.reference_ends if _faults(known) == faults]
    ends = alike or case.reference_ends
    for path in sorted({path for known in ends for path in known.files}):
        held = end.files.get(path, ABSENT)
        wanted = {known.files.get(path, ABSENT): known for known in ends}
        if held not in wanted and not is_temporary(path, case.evidence.facts.temporary):
            expected, reference = next(iter(wanted.items()))
            what = f"the content of {path}"
            return _Difference(what, _bytes(reference, expected), _bytes(end, held), None)
    return None


def _faults(end: End) -> list[bool]:
    return [operation.step_failed for operation in end.history.operations]


def _bytes(end: End, name: Sha) -> str:
    return shown(repr(end.blobs.get(name))) if name else "no such file"


RULES: tuple[Rule, ...] = (
    Rule(
        "R5",
        "an unblocked end equals the end of the run without a kill; once interrupted, by shape",
        frozenset({Need.FACTS, Need.END}),
        same_end,
    ),
)
