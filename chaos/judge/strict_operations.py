"""Rules of operations: prompt, start, abort, end, and the usage that is counted for them.

Each handler takes the state, the fact's id and its body (shape already checked), refuses or brings
the state up to date, and says which ids the fact uses. Rules L4, L7, L9 and L11. What happens
inside an operation is in `strict_steps`, `strict_calls` and `strict_compaction`.

Source: session contract, sections 2, 4 and 6.
"""

from __future__ import annotations

from chaos.judge.shape_checks import SAFE_INTEGER
from chaos.judge.shapes import COUNTERS
from chaos.judge.strict_state import (
    INVALID_FACT,
    INVALID_REFERENCE,
    INVALID_TRANSCRIPT,
    INVALID_TRANSITION,
    NO_IDS,
    Body,
    Ids,
    Operation,
    State,
    refuse,
    require,
    the_operation,
)


def require_idle(state: State, what: str) -> None:
    """One unfinished operation at most. Raises Refusal."""
    if state.operation is not None:
        refuse(
            "L4",
            INVALID_TRANSITION,
            f"no open operation before {what}",
            f"{state.operation.kind} {state.operation.id} is not finished",
        )


def user_entry(state: State, fact_id: str, body: Body) -> Ids:
    """A prompt, which a runStarted of the same transaction may claim."""
    if state.operation is not None and (calls := state.operation.open_calls()):
        refuse(
            "L6",
            INVALID_TRANSCRIPT,
            "a result for every call before the next message",
            f"a user message while {calls[0].id} is unanswered",
        )
    require_idle(state, "a user message")
    state.prompts.add(fact_id)
    state.add_message(fact_id, body["message"])
    return NO_IDS


def run_started(state: State, _fact_id: str, body: Body) -> Ids:
    """A run begins with the prompt that stands in the same transaction."""
    require_idle(state, "runStarted")
    require(
        body["inputEntryId"] == state.boundary and state.boundary in state.prompts,
        "L4",
        INVALID_REFERENCE,
        "inputEntryId to name the user entry just before it in the same transaction",
        body["inputEntryId"],
    )
    state.operations.add(body["operationId"])
    state.operation = Operation(body["operationId"], "run")
    return Ids(names=(body["operationId"],))


def abort_requested(state: State, _fact_id: str, body: Body) -> Ids:
    """From here on the operation can only end as aborted."""
    the_operation(state, body, "L11").aborted = True
    return NO_IDS


def operation_finished(state: State, _fact_id: str, body: Body) -> Ids:
    """The one terminal fact of an operation, which the facts before it must have earned."""
    operation = the_operation(state, body, "L7")
    attempt, outcome = operation.attempt, body["outcome"]
    if outcome == "aborted":
        require(
            attempt is None or attempt.status != "open",
            "L11",
            INVALID_TRANSITION,
            "no open attempt at the end of an aborted operation",
            "one is open",
        )
    if calls := operation.open_calls():
        refuse(
            "L6",
            INVALID_TRANSITION,
            "a result for every call before the end of the run",
            f"{calls[0].id} is unanswered",
        )
    require(
        operation.aborted == (outcome == "aborted"),
        "L11",
        INVALID_TRANSITION,
        "outcome aborted exactly after abortRequested",
        f"{outcome} {'after' if operation.aborted else 'without'} abortRequested",
    )
    if outcome == "completed":
        _require_completed(operation, body)
    state.operation = None
    return NO_IDS


_ENDING_OF = {"normal": "stop", "truncated": "length", None: "compaction"}


def _require_completed(operation: Operation, body: Body) -> None:
    attempt, ending = operation.attempt, _ENDING_OF[body.get("completion")]
    if attempt is None or attempt.stop != ending:
        found = (
            "no step"
            if attempt is None
            else attempt.stop or f"attempt {attempt.number} is {attempt.status}"
        )
        refuse("L7", INVALID_TRANSITION, f"a step settled by {ending} before its end", found)
    require(
        ending != "stop" or not attempt.blank,
        "L7",
        INVALID_TRANSITION,
        "a final reply with content",
        "a blank one",
    )
    require(
        body["finalEntryId"] == attempt.reply_id,
        "L7",
        INVALID_REFERENCE,
        f"finalEntryId {attempt.reply_id}, the last reply",
        body["finalEntryId"],
    )


def usage(state: State, _fact_id: str, body: Body) -> Ids:
    """Counters belong to one attempt or one tool of the operation they name."""
    operation_id = body["operationId"]
    owner: str | None = None
    if (attempt_id := body.get("attemptId")) is not None:
        what, owner = f"attemptId {attempt_id}", state.attempts.get(attempt_id)
    else:
        what = f"toolStartedId {body['toolStartedId']}"
        if (intent := state.intents.get(body["toolStartedId"])) is not None:
            owner = intent.operation_id
    require(
        owner == operation_id,
        "L9",
        INVALID_REFERENCE,
        f"{what} to belong to operation {operation_id}",
        "no such thing" if owner is None else f"operation {owner}",
    )
    for counter in COUNTERS:
        total = state.usage.get(counter, 0) + body["usage"][counter]
        require(
            total <= SAFE_INTEGER,
            "L9",
            INVALID_FACT,
            f"the sum of {counter} to stay within {SAFE_INTEGER}",
            total,
        )
        state.usage[counter] = total
    return NO_IDS
