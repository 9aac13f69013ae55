"""Rules of tool calls: intents, results, and the texts of those that were never executed.

Handlers as in `strict_operations`. Rules L6 and L8, and the part of L11 that keeps a late success
from being recorded. The order among the calls of one turn is free.

Source: session contract, sections 2, 4 and 6.
"""

from __future__ import annotations

from chaos.judge.strict_state import (
    INVALID_REFERENCE,
    INVALID_TRANSCRIPT,
    INVALID_TRANSITION,
    Body,
    Call,
    Ids,
    Intent,
    Operation,
    State,
    Turn,
    refuse,
    require,
    the_operation,
)

SYNTHETIC_TEXT = {
    "invalidArguments": "Error: Tool arguments were invalid; the tool was not executed.",
    "unknownTool": "Error: Unknown tool; the tool was not executed.",
    "truncated": "Error: Tool call arguments were truncated by the model token limit; "
    "the tool was not executed.",
    "aborted": "Operation aborted before execution.",
    "interrupted": "Operation interrupted after execution status became unknown; "
    "the tool was not replayed.",
}


def tool_started(state: State, fact_id: str, body: Body) -> Ids:
    """An intent: the call, by every name it has, may now be carried out once."""
    operation = the_operation(state, body, "L6")
    turn, call = _the_call(operation, body, "an intent")
    require(
        body["toolCallId"] == call.id,
        "L6",
        INVALID_REFERENCE,
        f"toolCallId {call.id}, that of call {call.index}",
        body["toolCallId"],
    )
    require(
        call.name in turn.tools,
        "L6",
        INVALID_REFERENCE,
        f"a tool that the attempt offered ({', '.join(sorted(turn.tools)) or 'none'})",
        call.name,
    )
    require(
        not operation.aborted, "L11", INVALID_TRANSITION, "no intent after the abort", "toolStarted"
    )
    require(
        turn.stop == "toolUse",
        "L6",
        INVALID_TRANSITION,
        "an intent only for a reply that ended in toolUse",
        turn.stop,
    )
    _require_untouched(call, "an intent")
    call.started = True
    state.intents[fact_id] = Intent(operation.id, turn.step_id, call, body["resultEntryId"])
    return Ids(promises=body["resultEntryId"])


def tool_result(state: State, fact_id: str, body: Body) -> Ids:
    """The one result of a call, executed or not."""
    operation = state.operation
    if operation is None or operation.kind != "run":
        found = "none is open" if operation is None else "a compaction"
        refuse("L6", INVALID_TRANSITION, "an open run before a tool result", found)
    started = "toolStartedId" in body
    call = (_started_call if started else _unstarted_call)(state, operation, fact_id, body)
    message, result = body["message"], body["result"]
    require(
        message["tool_call_id"] == call.id,
        "L6",
        INVALID_TRANSCRIPT,
        f"tool_call_id {call.id}, that of call {call.index}",
        message["tool_call_id"],
    )
    if result["type"] == "synthetic":
        text = SYNTHETIC_TEXT[result["reason"]]
        require(
            message["content"] == text,
            "L8",
            INVALID_TRANSCRIPT,
            f"the text of {result['reason']}, {text!r}",
            repr(message["content"][:80]),
        )
    elif operation.aborted:
        refuse(
            "L11",
            INVALID_TRANSITION,
            "a result that comes after the abort to be interrupted",
            result["type"],
        )
    call.answered = True
    state.add_message(fact_id, message)
    return Ids(keeps_promise=started)


def _started_call(state: State, operation: Operation, fact_id: str, body: Body) -> Call:
    intent = state.intents.get(body["toolStartedId"])
    if intent is None or intent.operation_id != operation.id:
        refuse(
            "L6",
            INVALID_REFERENCE,
            "toolStartedId to name an intent of this run",
            body["toolStartedId"],
        )
    for key, value, found in (
        ("stepId", intent.step_id, body["stepId"]),
        ("toolName", intent.call.name, body["toolName"]),
        ("the result id", intent.result_id, fact_id),
    ):
        require(found == value, "L6", INVALID_REFERENCE, f"{key} {value}, as in its intent", found)
    require(not intent.call.answered, "L6", INVALID_TRANSITION, "one result a call", "a second one")
    return intent.call


def _unstarted_call(_state: State, operation: Operation, _fact_id: str, body: Body) -> Call:
    _, call = _the_call(operation, body, "a result")
    _require_untouched(call, "a result of a call that never started")
    return call


def _the_call(operation: Operation, body: Body, what: str) -> tuple[Turn, Call]:
    """The call that a fact names by entry and index, with the step and tool it repeats."""
    turn = operation.turns.get(body["assistantEntryId"])
    if turn is None:
        refuse(
            "L6",
            INVALID_REFERENCE,
            f"assistantEntryId of {what} to name a reply of this run",
            body["assistantEntryId"],
        )
    index = body["toolIndex"]
    require(
        index < len(turn.calls),
        "L6",
        INVALID_REFERENCE,
        f"toolIndex below {len(turn.calls)}, the calls of that reply",
        index,
    )
    call = turn.calls[index]
    for key, value in (("stepId", turn.step_id), ("toolName", call.name)):
        require(
            body[key] == value,
            "L6",
            INVALID_REFERENCE,
            f"{key} {value}, that of call {index}",
            body[key],
        )
    return turn, call


def _require_untouched(call: Call, what: str) -> None:
    done = "answered" if call.answered else "started"
    require(
        not call.answered and not call.started,
        "L6",
        INVALID_TRANSITION,
        f"{what} only where the call has neither intent nor result",
        f"call {call.index} ({call.id}) is {done} already",
    )
