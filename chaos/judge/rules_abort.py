"""Rule L11 beyond a single log: an abort is durable before anything is cancelled, and it wins.

An abort is asked for by a signal of the schedule (`Signal`) or by an `abort` launch. What the log
alone shows as illegal is in `chaos.judge.strict`; here are the order of log, wire and processes,
and facts that a reader accepts but an agent that keeps to the contract never writes.

Source: session contract, section 6 ("Abort") and section 5 (question 2).
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.evidence import Answered, Ended, Event, Launch, LogWrite, Request, Signal
from chaos.judge.case import Case, Where, broken, carries, ended_from_outside
from chaos.judge.history import Call, History, Operation
from chaos.judge.log import Fact
from chaos.results import Violation

_NEW_WORK = ("log:stepAttempt", "log:toolStarted")  # points of the facts that announce work
# What may still become durable of an operation after its abort: what closes it.
_CLOSING = frozenset({"stepFailed", "toolResult", "operationFinished", "abortRequested", "usage"})
_MADE_UP = frozenset({"interrupted", "aborted"})  # results that close a call after an abort


def asked(case: Case) -> Iterator[tuple[Signal, Operation]]:
    """The signals that found an operation open, and no abort of it durable."""
    for event in case.evidence.events:
        if isinstance(event, Signal):
            operation = case.log(event.log).open_operation
            if operation is not None and operation.aborted is None:
                yield event, operation


def durable_first(case: Case) -> Iterator[Violation]:
    """L11. Fails when, after a signal, the request on its way is cancelled or a process of the tree
    ended by a signal, and the log has no abort yet. What the death of the target itself cancels is
    not its doing, nor its end because it could not write the abort down."""
    for signal, operation in asked(case):
        launch = case.launch_of(signal)
        since = [e for e in case.evidence.of_launch(launch.index) if e.order > signal.order]
        durable = next((e.order for e in since if _aborted(case, e, operation)), None)
        if durable is None and (ended_from_outside(launch) or case.log_errors(launch)):
            continue
        for event in since:
            early = durable is None or event.order < durable
            cancelled = _cancelled(case, signal, event) if early else ""
            if cancelled:
                where = Where(launch, operation.started, event)
                what = "something was cancelled before the abort was durable"
                yield broken("L11", what, "abortRequested first", cancelled, where)
                break


def _aborted(case: Case, event: Event, operation: Operation) -> bool:
    """Does the log show the abort of the operation after this event?"""
    if not isinstance(event, LogWrite):
        return False
    known = (o for o in case.log(event.log).operations if o.id == operation.id)
    return any(found.aborted is not None for found in known)


def _cancelled(case: Case, signal: Signal, event: Event) -> str:
    """What an event after a signal shows to be cancelled, in words; empty if nothing is."""
    if isinstance(event, Ended) and _left_behind(case, event):
        return ""
    if isinstance(event, Ended):
        return f"{' '.join(event.argv) or 'a process'!r} ended by signal {event.signal}"
    if not isinstance(event, Answered) or event.complete:
        return ""
    for request in case.evidence.of_launch(event.launch):
        if isinstance(request, Request) and request.ordinal == event.ordinal:
            # The mock cuts its answer itself for every other fault than `hold`.
            by_the_mock = request.injected and not request.reason.endswith(":hold")
            if request.order < signal.order and not by_the_mock:
                return f"request {request.ordinal} cut off"
    return ""


def _left_behind(case: Case, event: Ended) -> bool:
    """Does the end of the call kill it, without an abort too? In a run without one, processes that
    a tool left behind were ended by a signal; which program each had begun by then is chance."""
    quiet = (known for known in case.references if not known.abort_asked)
    ends = [e for known in quiet for e in known.evidence.events if isinstance(e, Ended)]
    own = any(carries(event.argv, text) for text in case.argument_texts)
    return any(e.argv == event.argv or not own for e in ends)


def heeded(case: Case) -> Iterator[Violation]:
    """L11. Fails when an operation announces new work after a signal and before its abort is
    durable (the write at which the signal came is not new); and when an `abort` launch writes
    anything before the abort, or leaves the operation with another end."""
    for signal, operation in asked(case):
        in_flight = signal.at.startswith("log") and signal.at.endswith("/before")
        for event in case.evidence.of_launch(signal.launch):
            if event.order <= signal.order or not isinstance(event, LogWrite):
                continue
            if _aborted(case, event, operation):
                break
            if event.point.startswith(_NEW_WORK) and not in_flight:
                where = Where(case.launch_of(signal), operation.started, event)
                what = "new work began although an abort was asked for"
                yield broken("L11", what, "abortRequested first", event.point, where)
                break
            in_flight = False
    for launch in case.evidence.launches:
        if launch.role == "abort":
            yield from _abort_launch(case, launch)


def _abort_launch(case: Case, launch: Launch) -> Iterator[Violation]:
    before, after = case.log(launch.log_before), case.log(launch.log_after)
    operation = before.open_operation
    if operation is None:
        return
    written = after.view.facts[len(before.view.facts) :]
    if operation.aborted is None and written and written[0].type != "abortRequested":
        where = Where(launch, written[0])
        what = "an abort began with something else"
        yield broken("L11", what, "abortRequested first", written[0].type, where)
        return
    refused = any(case.exited(launch, outcome) for outcome in ("corrupt", "busy"))
    if ended_from_outside(launch) or refused:
        return
    ends = [o.outcome for o in after.operations if o.id == operation.id]
    if ends != ["aborted"]:
        found = f"{ends[0] or 'open' if ends else 'gone'}"
        where = Where(launch, operation.started)
        yield broken("L11", "an abort did not end its operation", "aborted", found, where)


def wins(case: Case) -> Iterator[Violation]:
    """L11. Fails when anything but what closes an operation is written after its abort: a late
    reply, a late summary, a late result of a tool; and when an attempt is closed as aborted before
    any abort."""
    history = case.final
    for operation in history.operations:
        for fact in _facts_of(history, operation):
            after = operation.aborted is not None and _after(fact, operation.aborted)
            late = after and _is_late(history, fact)
            if late or (not after and _error_code(fact) == "aborted"):
                what = (
                    "a late success was recorded after the abort"
                    if late
                    else "an attempt was closed as aborted before the abort was durable"
                )
                expected = "only what closes it" if late else "abortRequested first"
                yield broken("L11", what, expected, _words(history, fact), Where(fact=fact))
                break


def _facts_of(history: History, operation: Operation) -> Iterator[Fact]:
    """From the start of an operation to its end, or to the start of the next one."""
    inside = False
    for fact in history.view.facts:
        if fact is operation.started:
            inside = True
        elif fact.type in ("runStarted", "compactionStarted"):
            inside = False
        if inside:
            yield fact
        if operation.finished and fact is operation.finished[-1]:
            return


def _is_late(history: History, fact: Fact) -> bool:
    if fact.type == "toolResult":
        return _result(history, fact) not in _MADE_UP
    return fact.type not in _CLOSING


def _result(history: History, fact: Fact) -> str:
    return next((turn.outcome for turn in history.turns if turn.fact is fact), "")


def _words(history: History, fact: Fact) -> str:
    return f"{fact.type} {_result(history, fact)}".strip()


def _error_code(fact: Fact) -> object:
    error = fact.body.get("error") if fact.type == "stepFailed" else None
    return error.get("code") if isinstance(error, dict) else None


def names_its_phase(case: Case) -> Iterator[Violation]:
    """L11. The abort names the phase that it meets: `compact` in a compaction, `tool` with the id
    of an unanswered call, else `model`. Fails when the log says otherwise."""
    for operation in case.final.operations:
        fact = operation.aborted
        if fact is None:
            continue
        phase = fact.body.get("phase")
        found = phase, fact.body.get("toolCallId") if phase == "tool" else None
        legal: list[tuple[object, object]] = [("model", None)]
        if operation.kind == "compaction":
            legal = [("compact", None)]
        elif calls := _unanswered(case.final, operation, fact):
            legal = [("tool", call.id) for call in calls]
        if found not in legal:
            expected = " or ".join(_phase(*known) for known in legal)
            where = Where(fact=fact)
            yield broken("L11", "an abort names another phase", expected, _phase(*found), where)


def _phase(phase: object, call: object) -> str:
    return f"{phase} {call}" if call is not None else f"{phase}"


def _unanswered(history: History, operation: Operation, abort: Fact) -> list[Call]:
    calls = (call for call in history.calls if call.operation is operation)
    return [call for call in calls if call.result is None or _after(call.result, abort)]


def _after(fact: Fact, other: Fact) -> bool:
    return (fact.seq or 0) > (other.seq or 0)
