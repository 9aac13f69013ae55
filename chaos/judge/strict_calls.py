"""Rules of tool calls: intents, results, and the texts of those that were never executed.

Handlers as in `strict_operations`. Rules L6 and L8 (texts). The order among the calls of one turn
is free, and the contract does not tie the reason of a synthetic result to what came before it.

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
    State,
    Turn,
    refuse,
    require,
    require_known,
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
    require(
        not operation.aborted, "L11", INVALID_TRANSITION, "no intent after the abort", "toolStarted"
    )
    turn, call = _the_call(state, body)
    _require_untouched(call, "an intent")
    _require_same(body["toolCallId"], call.id, "toolCallId", call)
    require(
        call.name in turn.tools,
        "L6",
        INVALID_REFERENCE,
        f"a tool that the attempt offered ({', '.join(sorted(turn.tools)) or 'none'})",
        call.name,
    )
    require(
        turn.stop == "toolUse",
        "L6",
        INVALID_TRANSITION,
        "an intent only for a reply that ended in toolUse",
        turn.stop,
    )
    call.started = True
    state.intents[fact_id] = Intent(operation.id, turn, call, body["resultEntryId"])
    return Ids(promises=body["resultEntryId"])


def tool_result(state: State, fact_id: str, body: Body) -> Ids:
    """The one result of a call, executed or not."""
    started = "toolStartedId" in body
    call = _the_started_call(state, fact_id, body) if started else _the_call(state, body)[1]
    message = body["message"]
    if not started:
        _require_untouched(call, "a result of a call that never started")
    _require_same(message["tool_call_id"], call.id, "tool_call_id", call)
    if body["result"]["type"] == "synthetic":
        _require_text(message["content"], body["result"]["reason"])
    call.answered = True
    state.add_message(fact_id, message)
    return Ids(keeps_promise=started)


def _the_call(state: State, body: Body) -> tuple[Turn, Call]:
    """The call that a fact names by entry and index, with the step and tool it repeats."""
    require_known("L6", body, "assistantEntryId", state.messages, "a message of this log")
    turn, index = _the_last_turn(state, body["assistantEntryId"]), body["toolIndex"]
    require(
        index < len(turn.calls),
        "L6",
        INVALID_REFERENCE,
        f"toolIndex below {len(turn.calls)}, the calls of that reply",
        index,
    )
    call = turn.calls[index]
    _require_same(body["stepId"], turn.step_id, "stepId", call)
    _require_same(body["toolName"], call.name, "toolName", call)
    return turn, call


def _the_started_call(state: State, fact_id: str, body: Body) -> Call:
    """The call whose intent a result names, and which the result repeats."""
    require_known("L6", body, "toolStartedId", state.intents, "an intent in this log")
    intent = state.intents[body["toolStartedId"]]
    _the_last_turn(state, intent.turn.entry_id)
    call = intent.call
    require(not call.answered, "L6", INVALID_TRANSITION, "one result a call", "a second one")
    _require_same(fact_id, intent.result_id, "the reserved result id", call)
    _require_same(body["stepId"], intent.turn.step_id, "stepId", call)
    _require_same(body["toolName"], call.name, "toolName", call)
    return call


def _the_last_turn(state: State, entry_id: str) -> Turn:
    """Only calls of the open run's last reply can be started or answered."""
    turn = None if state.operation is None else state.operation.last_turn
    if turn is None or turn.entry_id != entry_id:
        found = "there is none" if turn is None else turn.entry_id
        refuse("L6", INVALID_TRANSITION, f"{entry_id} to be the last reply of an open run", found)
    return turn


def _require_same(found: str, value: str, what: str, call: Call) -> None:
    require(
        found == value,
        "L6",
        INVALID_REFERENCE,
        f"{what} {value}, that of call {call.index}",
        found,
    )


def _require_untouched(call: Call, what: str) -> None:
    done = "answered" if call.answered else "started"
    require(
        not call.answered and not call.started,
        "L6",
        INVALID_TRANSITION,
        f"{what} only where the call has neither intent nor result",
        f"call {call.index} ({call.id}) is {done} already",
    )


def _require_text(found: str, reason: str) -> None:
    text = SYNTHETIC_TEXT[reason]
    require(
        found == text,
        "L8",
        INVALID_TRANSCRIPT,
        f"the text of {reason}, {text!r}",
        repr(found[:80]),
    )
