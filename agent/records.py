"""The rules for records and usage: what recovery sees (session contract, sections 2 to 4).

Pure. Each rule checks its fact against the ledger, then applies it; refusals follow the principle
stated in `entries`. Ids that a record reserves are checked last.
"""

from __future__ import annotations

from agent.canonical import digest
from agent.entries import open_attempt, open_call
from agent.facts import MAX_SAFE_INTEGER, Fact, JSONObject, is_blank
from agent.ledger import MESSAGE, OPERATION, STEP, Ledger, Refusal
from agent.new_facts import source_messages
from agent.state import COUNTERS, Compaction, Idle, Run, Step, ToolIntent


def run_started(ledger: Ledger, fact: Fact) -> None:
    """A prompt is accepted: its user message is the last entry, in the same transaction."""
    body, state = fact.body, ledger.state
    _require_idle(ledger)
    input_id = body["inputEntryId"]
    ledger.known("inputEntryId", input_id, MESSAGE)
    last = state.transcript[-1]
    if input_id != state.boundary or last["role"] != "user" or not ledger.is_new(input_id):
        raise Refusal(
            "INVALID_REFERENCE",
            f"inputEntryId {input_id} is not the user message before it in the same transaction",
        )
    ledger.reserve(operation=body["operationId"])
    ledger.journal.assign(state, "operation", Run(body["operationId"], input_id))


def compaction_started(ledger: Ledger, fact: Fact) -> None:
    """The sources are every message entry so far, cut in two, in order."""
    body, state = fact.body, ledger.state
    _require_idle(ledger)
    through = body["inputThroughEntryId"]
    ledger.known("inputThroughEntryId", through, MESSAGE)
    compacted, retained = body["compactedEntryIds"], body["retainedEntryIds"]
    if through != state.boundary or compacted + retained != state.entry_ids:
        raise Refusal(
            "INVALID_REFERENCE",
            "compactedEntryIds and retainedEntryIds: expected every message entry, in order, "
            f"through the last one, {state.boundary}",
        )
    actual = digest(source_messages(zip(state.entry_ids, state.transcript, strict=True)))
    if body["sourceDigest"] != actual:
        raise Refusal("INVALID_REFERENCE", f"sourceDigest: the digest of the sources is {actual}")
    ledger.reserve(operation=body["operationId"], result=body["resultEntryId"])
    ledger.journal.assign(
        state,
        "operation",
        Compaction(
            operation_id=body["operationId"],
            input_through_entry_id=through,
            result_entry_id=body["resultEntryId"],
            compacted_through_entry_id=compacted[-1],
            retained=len(retained),
        ),
    )


def step_attempt(ledger: Ledger, fact: Fact) -> None:
    """A request is about to be sent: the first of a new step, or the one repetition."""
    body = fact.body
    snapshot = ledger.checked_configuration(
        body["configurationSnapshot"], body["configurationDigest"]
    )
    operation = ledger.current(body["operationId"])
    _require_no_abort(operation)
    if body["stepKind"] != operation.step_kind:
        raise Refusal(
            "INVALID_TRANSITION", f"stepKind: this operation has {operation.step_kind} steps"
        )
    ledger.known("contextThroughEntryId", body["contextThroughEntryId"], MESSAGE)
    if body["attempt"] == 1:
        _require_first_attempt(ledger, operation, body)
        ledger.reserve(step=body["stepId"], attempt=body["attemptId"])
    else:
        _require_second_attempt(ledger, operation.step, body)
        ledger.reserve(attempt=body["attemptId"])
    ledger.journal.put(ledger.attempts, body["attemptId"], operation.operation_id)
    step = Step(
        operation_id=operation.operation_id,
        step_id=body["stepId"],
        attempt_id=body["attemptId"],
        attempt=body["attempt"],
        step_kind=body["stepKind"],
        context_through_entry_id=body["contextThroughEntryId"],
        configuration_snapshot=snapshot,
        configuration_digest=body["configurationDigest"],
    )
    ledger.journal.assign(operation, "step", step)


def step_failed(ledger: Ledger, fact: Fact) -> None:
    """An attempt ended without a usable reply."""
    ledger.current(fact.body["operationId"])
    step = open_attempt(ledger, fact.body)
    ledger.journal.assign(step, "status", "failed")
    ledger.journal.assign(step, "error", fact.body["error"])


def tool_started(ledger: Ledger, fact: Fact) -> None:
    """The intent of an effect: an unanswered, unstarted call of the settled reply."""
    body = fact.body
    run = ledger.current(body["operationId"])
    _require_no_abort(run)
    turn, call = open_call(ledger, body)
    if body["toolCallId"] != call.id:
        raise Refusal("INVALID_REFERENCE", f"toolCallId: expected {call.id!a}")
    if call.index in turn.intents:
        raise Refusal("INVALID_TRANSITION", f"call {call.index} is started already")
    if turn.stop_reason != "toolUse":
        raise Refusal(
            "INVALID_TRANSITION", f"a call of a reply that ended with {turn.stop_reason!r}"
        )
    assert isinstance(run, Run)  # noqa: S101 - only a run has a turn
    assert run.step is not None  # noqa: S101 - a turn has its step
    if all(t["name"] != call.name for t in run.step.configuration_snapshot["tools"]):
        raise Refusal("INVALID_REFERENCE", f"toolName: the attempt offered no tool {call.name!a}")
    ledger.reserve(result=body["resultEntryId"])
    intent = ToolIntent(
        operation_id=run.operation_id,
        tool_started_id=fact.id,
        step_id=body["stepId"],
        assistant_entry_id=body["assistantEntryId"],
        tool_index=call.index,
        tool_call_id=call.id,
        tool_name=call.name,
        arguments=body["arguments"],
        replay=body["replay"],
        replay_key=body["replayKey"],
        result_entry_id=body["resultEntryId"],
        environment_identity=body["environmentIdentity"],
    )
    ledger.journal.append(run.tool_calls, intent)
    ledger.journal.put(turn.intents, call.index, intent)
    ledger.journal.put(ledger.intents, fact.id, run.operation_id)


def abort_requested(ledger: Ledger, fact: Fact) -> None:
    """The user asked for the end. A second request changes nothing."""
    operation = ledger.current(fact.body["operationId"])
    _require_kind(operation, fact.body)
    ledger.journal.assign(operation, "abort_requested", True)


def operation_finished(ledger: Ledger, fact: Fact) -> None:
    """The end of an operation, which its outcome must deserve."""
    body = fact.body
    operation = ledger.current(body["operationId"])
    _require_kind(operation, body)
    turn = ledger.turn()
    if turn is not None and not turn.settled:
        raise Refusal("INVALID_TRANSITION", "a tool call is unanswered")
    if body["outcome"] == "aborted":
        _require_abortable(operation)
    elif operation.abort_requested:
        raise Refusal("INVALID_TRANSITION", "an abort was durable first; only 'aborted' may follow")
    elif body["outcome"] == "completed":
        _require_complete(operation, body)
    ledger.journal.assign(ledger.state, "operation", Idle())


def usage(ledger: Ledger, fact: Fact) -> None:
    """Tokens of an attempt or a tool of the named operation, finished or not."""
    body, state = fact.body, ledger.state
    ledger.known("operationId", body["operationId"], OPERATION)
    for name, known in (("attemptId", ledger.attempts), ("toolStartedId", ledger.intents)):
        if name in body and known.get(body[name]) != body["operationId"]:
            raise Refusal(
                "INVALID_REFERENCE", f"{name} {body[name]} does not belong to the operation"
            )
    sums = {counter: state.usage[counter] + body["usage"][counter] for counter in COUNTERS}
    for counter, total in sums.items():
        if total > MAX_SAFE_INTEGER:
            raise Refusal("INVALID_FACT", f"usage: the sum of {counter} exceeds {MAX_SAFE_INTEGER}")
    ledger.journal.assign(state, "usage", sums)


def _require_idle(ledger: Ledger) -> None:
    operation = ledger.state.operation
    if not isinstance(operation, Idle):
        raise Refusal("INVALID_TRANSITION", f"operation {operation.operation_id} is unfinished")


def _require_no_abort(operation: Run | Compaction) -> None:
    if operation.abort_requested:
        raise Refusal("INVALID_TRANSITION", "an abort was requested; nothing new may start")


def _require_kind(operation: Run | Compaction, body: JSONObject) -> None:
    if body["operationKind"] != operation.kind:
        raise Refusal("INVALID_REFERENCE", f"operationKind: the operation is a {operation.kind}")


def _require_first_attempt(ledger: Ledger, operation: Run | Compaction, body: JSONObject) -> None:
    """Attempt 1 begins a run or compaction, or follows a turn whose calls are all answered."""
    if operation.step is not None:
        turn = ledger.turn()
        over = (
            operation.step.status == "settled"
            and turn is not None
            and turn.stop_reason == "toolUse"
            and turn.settled
        )
        if not over:
            raise Refusal("INVALID_TRANSITION", "the step before is not over, or was the last one")
    if body["contextThroughEntryId"] != ledger.state.boundary:
        raise Refusal(
            "INVALID_TRANSITION", f"contextThroughEntryId: expected {ledger.state.boundary}"
        )


def _require_second_attempt(ledger: Ledger, step: Step | None, body: JSONObject) -> None:
    """Attempt 2 repeats an open attempt 1 of the same step, and nothing about it changes."""
    ledger.known("stepId", body["stepId"], STEP)
    if step is None or step.step_id != body["stepId"] or step.attempt != 1 or not step.open:
        raise Refusal("INVALID_TRANSITION", "attempt 2 needs an open attempt 1 of the same step")
    if step.context_through_entry_id != body["contextThroughEntryId"]:
        raise Refusal("INVALID_TRANSITION", "contextThroughEntryId: attempt 1 had another one")
    if step.configuration_digest != body["configurationDigest"]:
        raise Refusal("INVALID_TRANSITION", "configurationDigest: attempt 1 had another one")


def _require_abortable(operation: Run | Compaction) -> None:
    if not operation.abort_requested:
        raise Refusal("INVALID_TRANSITION", "outcome 'aborted' without an abort request")
    if operation.step is not None and operation.step.open:
        raise Refusal("INVALID_TRANSITION", "an attempt is open")


def _require_complete(operation: Run | Compaction, body: JSONObject) -> None:
    """`completed` needs the reply that its completion claims; `finalEntryId` names that reply."""
    step = operation.step
    if step is None or step.status != "settled":
        raise Refusal("INVALID_TRANSITION", "outcome 'completed' without a settled step")
    if isinstance(operation, Run):
        needed = "stop" if body["completion"] == "normal" else "length"
        if step.stop_reason != needed:
            raise Refusal(
                "INVALID_TRANSITION",
                f"completion {body['completion']!r} needs a reply that ended with {needed!r}",
            )
        if needed == "stop" and (operation.turn is None or is_blank(operation.turn.content)):
            raise Refusal("INVALID_TRANSITION", "completion 'normal' needs a reply with content")
    if body["finalEntryId"] != step.settled_entry_id:
        raise Refusal("INVALID_REFERENCE", f"finalEntryId: expected {step.settled_entry_id}")
