"""The rules for entries: what the model sees and has said (session contract, sections 2 to 4).

Pure. Each rule checks its fact against the ledger, then applies it. Refusals follow one principle:
what does not exist, or is named wrongly, is INVALID_REFERENCE; what exists but is not in a state
that allows this is INVALID_TRANSITION; what no provider would accept is INVALID_TRANSCRIPT.
"""

from __future__ import annotations

from agent import transcript
from agent.facts import COMPACTED_HISTORY, SYNTHETIC_TEXT, Fact, JSONObject
from agent.ledger import ATTEMPT, INTENT, MESSAGE, Ledger, Refusal
from agent.state import Compaction, Idle, Run, Step, ToolCall, ToolIntent, Turn

# stopReason -> whether the reply has tool calls.
_HAS_CALLS = {"stop": False, "toolUse": True, "length": True}


def user(ledger: Ledger, fact: Fact) -> None:
    """The input of a run; `runStarted` follows."""
    turn = ledger.turn()
    if turn is not None and not turn.settled:
        raise Refusal("INVALID_TRANSCRIPT", "a user message while a tool call is unanswered")
    if not isinstance(ledger.state.operation, Idle):
        raise Refusal("INVALID_TRANSITION", "a user message while an operation is unfinished")
    ledger.append_message(fact.body["message"], fact.id)


def assistant(ledger: Ledger, fact: Fact) -> None:
    """A reply closes the open attempt of its own step."""
    body, journal = fact.body, ledger.journal
    step = open_attempt(ledger, body)
    run = ledger.state.operation
    if not isinstance(run, Run):
        raise Refusal(
            "INVALID_TRANSITION", "an assistant message in a compaction; expected its summary"
        )
    message, reason = body["message"], body["stopReason"]
    calls = message.get("tool_calls", [])
    if bool(calls) != _HAS_CALLS[reason]:
        wanted = "tool calls" if _HAS_CALLS[reason] else "no tool calls"
        raise Refusal(
            "INVALID_TRANSITION", f"stopReason {reason!r} needs {wanted}, found {len(calls)}"
        )
    if len(transcript.call_ids(message)) != len(calls):
        raise Refusal("INVALID_TRANSCRIPT", "two calls of one turn have the same id")
    turn = Turn(
        entry_id=fact.id,
        step_id=step.step_id,
        stop_reason=reason,
        content=message["content"],
        calls=tuple(
            ToolCall(i, c["id"], c["function"]["name"], c["function"]["arguments"])
            for i, c in enumerate(calls)
        ),
    )
    settle(ledger, step, fact.id)
    journal.assign(step, "stop_reason", reason)
    journal.assign(run, "turn", turn)
    ledger.append_message(message, fact.id)


def started_result(ledger: Ledger, fact: Fact) -> None:
    """The result of a started tool has the id that the intent reserved."""
    body = fact.body
    turn, intent = _pending_intent(ledger, body["toolStartedId"])
    _same(body, "stepId", intent.step_id)
    _same(body, "toolName", intent.tool_name)
    _same(body["message"], "tool_call_id", intent.tool_call_id)
    if fact.id != intent.result_entry_id:
        raise Refusal("INVALID_REFERENCE", f"id: the intent reserved {intent.result_entry_id}")
    _exact_text(body)
    ledger.journal.assign(intent, "status", "completed")
    ledger.fulfil(fact.id, MESSAGE)
    ledger.journal.add(turn.answered, intent.tool_index)
    ledger.append_message(body["message"], fact.id)


def unstarted_result(ledger: Ledger, fact: Fact) -> None:
    """The result of a call that was never started."""
    body = fact.body
    turn, call = open_call(ledger, body)
    _same(body["message"], "tool_call_id", call.id)
    if call.index in turn.intents:
        raise Refusal(
            "INVALID_TRANSITION", f"call {call.index} was started; its intent needs the result"
        )
    _exact_text(body)
    ledger.journal.add(turn.answered, call.index)
    ledger.append_message(body["message"], fact.id)


def compaction(ledger: Ledger, fact: Fact) -> None:
    """A summary and a retained tail become the active context."""
    body, state = fact.body, ledger.state
    operation = ledger.current(body["operationId"])
    if not isinstance(operation, Compaction) or operation.step is None or not operation.step.open:
        raise Refusal("INVALID_TRANSITION", "a compaction entry without an open compaction attempt")
    if fact.id != operation.result_entry_id:
        raise Refusal(
            "INVALID_REFERENCE", f"id: compactionStarted reserved {operation.result_entry_id}"
        )
    _same(body, "compactedThroughEntryId", operation.compacted_through_entry_id)
    first = len(state.transcript) - operation.retained
    ids, messages = state.entry_ids[first:], state.transcript[first:]
    tail = body["retainedTail"]
    if [item["sourceEntryId"] for item in tail] != ids:
        raise Refusal("INVALID_REFERENCE", "retainedTail: not the retainedEntryIds, in order")
    if [item["message"] for item in tail] != messages:
        raise Refusal("INVALID_REFERENCE", "retainedTail: a message differs from its source")
    wrong = transcript.complaint(messages)
    if wrong:
        raise Refusal("INVALID_TRANSCRIPT", f"retainedTail: {wrong}")
    summary = {"role": "user", "content": COMPACTED_HISTORY + body["summary"]}
    ledger.journal.assign(state, "active_context", [summary, *messages])
    ledger.fulfil(fact.id, "compaction")
    settle(ledger, operation.step, fact.id)


def settle(ledger: Ledger, step: Step, entry_id: str) -> None:
    """A step has its reply."""
    ledger.journal.assign(step, "status", "settled")
    ledger.journal.assign(step, "settled_entry_id", entry_id)


def open_attempt(ledger: Ledger, body: JSONObject) -> Step:
    """The open attempt that a fact closes, named by `attemptId` and `stepId`."""
    operation, attempt_id = ledger.state.operation, body["attemptId"]
    step = None if isinstance(operation, Idle) else operation.step
    if step is not None and step.open and step.attempt_id == attempt_id:
        _same(body, "stepId", step.step_id)
        return step
    ledger.known("attemptId", attempt_id, ATTEMPT)
    raise Refusal("INVALID_TRANSITION", f"attempt {attempt_id} is closed already")


def open_call(ledger: Ledger, body: JSONObject) -> tuple[Turn, ToolCall]:
    """The unanswered call that a fact names by entry, step, index and tool name."""
    entry_id, index = body["assistantEntryId"], body["toolIndex"]
    ledger.known("assistantEntryId", entry_id, MESSAGE)
    turn = ledger.turn()
    if turn is None or turn.entry_id != entry_id:
        raise Refusal(
            "INVALID_TRANSITION", f"{entry_id} is not the last reply of an unfinished run"
        )
    _same(body, "stepId", turn.step_id)
    if index >= len(turn.calls):
        raise Refusal(
            "INVALID_REFERENCE", f"toolIndex {index}: the reply has {len(turn.calls)} calls"
        )
    call = turn.calls[index]
    _same(body, "toolName", call.name)
    if index in turn.answered:
        raise Refusal("INVALID_TRANSITION", f"call {index} is answered already")
    return turn, call


def _pending_intent(ledger: Ledger, tool_started_id: str) -> tuple[Turn, ToolIntent]:
    turn = ledger.turn()
    if turn is not None:
        for intent in turn.intents.values():
            if intent.tool_started_id == tool_started_id and intent.status == "pending":
                return turn, intent
    ledger.known("toolStartedId", tool_started_id, INTENT)
    raise Refusal("INVALID_TRANSITION", f"the intent {tool_started_id} has its result already")


def _exact_text(body: JSONObject) -> None:
    reason = body["result"].get("reason")
    if reason is not None and body["message"]["content"] != SYNTHETIC_TEXT[reason]:
        raise Refusal(
            "INVALID_TRANSCRIPT", f"{reason}: expected the text {SYNTHETIC_TEXT[reason]!r}"
        )


def _same(body: JSONObject, name: str, expected: str) -> None:
    if body[name] != expected:
        raise Refusal("INVALID_REFERENCE", f"{name}: expected {expected!a}, found {body[name]!a}")
