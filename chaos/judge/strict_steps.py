"""Rules of steps: attempts, the replies that settle them, and their failure.

Handlers as in `strict_operations`. Rules L5 and the part of L6 that concerns replies.

Source: session contract, sections 2, 4 and 6.
"""

from __future__ import annotations

from chaos.judge.strict_digest import digest_of
from chaos.judge.strict_state import (
    INVALID_FACT,
    INVALID_REFERENCE,
    INVALID_TRANSCRIPT,
    INVALID_TRANSITION,
    NO_IDS,
    Attempt,
    Body,
    Call,
    Ids,
    Operation,
    State,
    Turn,
    refuse,
    require,
    require_known,
    the_operation,
)

STEP_KIND = {"run": "assistant", "compaction": "compaction"}


def step_attempt(state: State, _fact_id: str, body: Body) -> Ids:
    """Attempt 1 of a new step at the boundary, or attempt 2 of the step that is open."""
    digest = digest_of(body["configurationSnapshot"])
    require(
        digest == body["configurationDigest"],
        "L5",
        INVALID_FACT,
        f"configurationDigest {digest}, that of the snapshot",
        body["configurationDigest"],
    )
    operation = the_operation(state, body, "L5")
    require(
        body["stepKind"] == STEP_KIND[operation.kind],
        "L5",
        INVALID_TRANSITION,
        f"stepKind {STEP_KIND[operation.kind]} in a {operation.kind}",
        body["stepKind"],
    )
    require(
        not operation.aborted,
        "L11",
        INVALID_TRANSITION,
        "no new attempt after the abort",
        "a stepAttempt",
    )
    require_known("L5", body, "contextThroughEntryId", state.messages, "a message entry")
    if body["attempt"] == 2:
        require_known("L5", body, "stepId", state.steps, "a step that began")
    if body["attempt"] == 1:
        _require_new_step(state, operation, body)
    else:
        _require_second_attempt(operation.attempt, body)
    operation.attempt = Attempt(
        step_id=body["stepId"],
        id=body["attemptId"],
        number=body["attempt"],
        boundary=body["contextThroughEntryId"],
        digest=digest,
        tools=frozenset(tool["name"] for tool in body["configurationSnapshot"]["tools"]),
    )
    state.attempts[body["attemptId"]] = operation.id
    state.steps.add(body["stepId"])
    new_step = (body["stepId"],) if body["attempt"] == 1 else ()
    return Ids(names=(*new_step, body["attemptId"]))


def _require_new_step(state: State, operation: Operation, body: Body) -> None:
    last = operation.attempt
    if last is not None:
        ended = last.status if last.status != "settled" else f"settled by {last.stop}"
        require(
            last.stop == "toolUse",
            "L5",
            INVALID_TRANSITION,
            "a new step only after a reply with tool calls",
            f"the step before is {ended}",
        )
    if calls := operation.open_calls():
        refuse(
            "L6",
            INVALID_TRANSITION,
            "a result for every call before the next step",
            f"{calls[0].id} is unanswered",
        )
    require(
        body["contextThroughEntryId"] == state.boundary,
        "L5",
        INVALID_TRANSITION,
        f"contextThroughEntryId {state.boundary}, the last message",
        body["contextThroughEntryId"],
    )


def _require_second_attempt(first: Attempt | None, body: Body) -> None:
    if first is None or first.status != "open" or first.number != 1:
        found = "no attempt" if first is None else f"attempt {first.number}, {first.status}"
        refuse("L5", INVALID_TRANSITION, "an open attempt 1 before attempt 2", found)
    for key, value in (
        ("stepId", first.step_id),
        ("contextThroughEntryId", first.boundary),
        ("configurationDigest", first.digest),
    ):
        require(
            body[key] == value,
            "L5",
            INVALID_TRANSITION,
            f"{key} {value}, as in attempt 1",
            body[key],
        )


def _the_open_attempt(state: State, body: Body, what: str) -> tuple[Operation, Attempt]:
    """The open attempt, which `body` must name, and its operation. Raises Refusal."""
    require_known("L5", body, "attemptId", state.attempts, "an attempt that began")
    operation = state.operation
    attempt = None if operation is None else operation.attempt
    if operation is None or attempt is None or attempt.id != body["attemptId"]:
        latest = "none is open" if attempt is None else f"the latest is {attempt.id}"
        refuse("L5", INVALID_TRANSITION, f"{body['attemptId']} to be the latest attempt", latest)
    require(
        attempt.status == "open",
        "L5",
        INVALID_TRANSITION,
        f"an open attempt before {what}",
        f"attempt {attempt.number} is {attempt.status}",
    )
    require(
        body["stepId"] == attempt.step_id,
        "L5",
        INVALID_REFERENCE,
        f"stepId {attempt.step_id}, that of the attempt",
        body["stepId"],
    )
    return operation, attempt


def assistant_entry(state: State, fact_id: str, body: Body) -> Ids:
    """A reply closes the open attempt of its own step."""
    operation, attempt = _the_open_attempt(state, body, "an assistant message")
    require(
        operation.kind == "run",
        "L4",
        INVALID_TRANSITION,
        "an assistant message in a run only",
        f"one in a {operation.kind}",
    )
    message, stop = body["message"], body["stopReason"]
    calls = tuple(
        Call(index, call["id"], call["function"]["name"])
        for index, call in enumerate(message.get("tool_calls", ()))
    )
    require(
        bool(calls) == (stop != "stop"),
        "L6",
        INVALID_TRANSITION,
        "tool calls with toolUse and length, none with stop",
        f"{stop} with {len(calls)} calls",
    )
    require(
        len({call.id for call in calls}) == len(calls),
        "L6",
        INVALID_TRANSCRIPT,
        "call ids to differ within one turn",
        [call.id for call in calls],
    )
    attempt.status, attempt.stop, attempt.reply_id = "settled", stop, fact_id
    attempt.blank = not (message["content"] or "").strip()
    operation.last_turn = Turn(fact_id, attempt.step_id, stop, attempt.tools, calls)
    state.add_message(fact_id, message)
    return NO_IDS


def step_failed(state: State, _fact_id: str, body: Body) -> Ids:
    """A failure closes the open attempt."""
    the_operation(state, body, "L5")
    _, attempt = _the_open_attempt(state, body, "stepFailed")
    attempt.status = "failed"
    return NO_IDS
