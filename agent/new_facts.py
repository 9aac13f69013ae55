"""How the agent writes facts: one builder a fact, so that no other room spells their keys.

Pure. A builder gives a `NewFact`; the store adds `seq`, `id` and `timestamp` with `stamp`. A
builder checks nothing: every candidate goes through the reducer before it is written.
Source: session contract, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from agent.facts import SYNTHETIC_TEXT, VERSION, JSONObject, Message


class NewFact(NamedTuple):
    """A fact not yet written: everything but its place in the log."""

    kind: str
    body: JSONObject

    def stamp(self, seq: int, id: str, timestamp: int) -> JSONObject:  # noqa: A002 - the log's word
        """The JSON object that the log holds. `timestamp` in milliseconds."""
        envelope: JSONObject = {"kind": self.kind, "seq": seq, "id": id, "timestamp": timestamp}
        return envelope | (self.body if self.kind == "usage" else {self.kind: self.body})


def header(
    *,
    id: str,  # noqa: A002 - the log's word
    created_at: int,
    cwd: str,
    provider: str,
    model: str,
    environment_identity: str,
) -> JSONObject:
    """The first line of a log. `created_at` in milliseconds."""
    return {
        "kind": "header",
        "version": VERSION,
        "id": id,
        "createdAt": created_at,
        "cwd": cwd,
        "provider": provider,
        "model": model,
        "environmentIdentity": environment_identity,
    }


def user_message(content: str) -> NewFact:
    return NewFact("entry", {"type": "message", "message": {"role": "user", "content": content}})


def assistant_message(
    *, step_id: str, attempt_id: str, stop_reason: str, message: Message
) -> NewFact:
    """A reply of the model; it closes its attempt. `stop_reason`: stop | toolUse | length."""
    return NewFact(
        "entry",
        {
            "type": "message",
            "stepId": step_id,
            "attemptId": attempt_id,
            "stopReason": stop_reason,
            "message": message,
        },
    )


def _tool_message(tool_call_id: str, content: str) -> Message:
    return {"role": "tool", "content": content, "tool_call_id": tool_call_id}


def tool_result(
    *,
    step_id: str,
    tool_started_id: str,
    tool_call_id: str,
    tool_name: str,
    result: str,
    content: str,
) -> NewFact:
    """What a started tool gave. `result`: success | error. Its id is the intent's reserved one."""
    return NewFact(
        "entry",
        {
            "type": "message",
            "stepId": step_id,
            "message": _tool_message(tool_call_id, content),
            "toolName": tool_name,
            "toolStartedId": tool_started_id,
            "result": {"type": result},
        },
    )


def interrupted_result(
    *, step_id: str, tool_started_id: str, tool_call_id: str, tool_name: str
) -> NewFact:
    """A started tool whose end nobody knows. Its id is the intent's reserved one."""
    return NewFact(
        "entry",
        {
            "type": "message",
            "stepId": step_id,
            "message": _tool_message(tool_call_id, SYNTHETIC_TEXT["interrupted"]),
            "toolName": tool_name,
            "toolStartedId": tool_started_id,
            "result": {"type": "synthetic", "reason": "interrupted"},
        },
    )


def unstarted_result(
    *,
    step_id: str,
    assistant_entry_id: str,
    tool_index: int,
    tool_call_id: str,
    tool_name: str,
    reason: str,
) -> NewFact:
    """A call that never started. `reason`: invalidArguments | unknownTool | truncated | aborted."""
    return NewFact(
        "entry",
        {
            "type": "message",
            "stepId": step_id,
            "assistantEntryId": assistant_entry_id,
            "toolIndex": tool_index,
            "message": _tool_message(tool_call_id, SYNTHETIC_TEXT[reason]),
            "toolName": tool_name,
            "result": {"type": "synthetic", "reason": reason},
        },
    )


def compaction_entry(
    *,
    operation_id: str,
    summary: str,
    compacted_through_entry_id: str,
    retained: Iterable[tuple[str, Message]],
) -> NewFact:
    """A summary in place of older messages. Its id is the one `compactionStarted` reserved."""
    return NewFact(
        "entry",
        {
            "type": "compaction",
            "operationId": operation_id,
            "summary": summary,
            "compactedThroughEntryId": compacted_through_entry_id,
            "retainedTail": source_messages(retained),
        },
    )


def source_messages(sources: Iterable[tuple[str, Message]]) -> list[JSONObject]:
    """`[{sourceEntryId, message}…]`: what `sourceDigest` is taken over, and a retained tail."""
    return [{"sourceEntryId": entry, "message": message} for entry, message in sources]


def run_started(*, operation_id: str, input_entry_id: str) -> NewFact:
    return NewFact(
        "record",
        {
            "type": "runStarted",
            "operationId": operation_id,
            "operationKind": "run",
            "inputEntryId": input_entry_id,
        },
    )


def compaction_started(
    *,
    operation_id: str,
    input_through_entry_id: str,
    result_entry_id: str,
    compacted_entry_ids: list[str],
    retained_entry_ids: list[str],
    source_digest: str,
) -> NewFact:
    return NewFact(
        "record",
        {
            "type": "compactionStarted",
            "operationId": operation_id,
            "operationKind": "compaction",
            "inputThroughEntryId": input_through_entry_id,
            "resultEntryId": result_entry_id,
            "compactedEntryIds": compacted_entry_ids,
            "retainedEntryIds": retained_entry_ids,
            "sourceDigest": source_digest,
        },
    )


def step_attempt(
    *,
    operation_id: str,
    step_id: str,
    attempt_id: str,
    step_kind: str,
    attempt: int,
    context_through_entry_id: str,
    configuration_snapshot: JSONObject,
    configuration_digest: str,
) -> NewFact:
    """A request that is about to be sent. `step_kind`: assistant | compaction."""
    return NewFact(
        "record",
        {
            "type": "stepAttempt",
            "operationId": operation_id,
            "stepId": step_id,
            "attemptId": attempt_id,
            "stepKind": step_kind,
            "attempt": attempt,
            "contextThroughEntryId": context_through_entry_id,
            "configurationSnapshot": configuration_snapshot,
            "configurationDigest": configuration_digest,
        },
    )


def step_failed(
    *, operation_id: str, step_id: str, attempt_id: str, error: Mapping[str, str]
) -> NewFact:
    """An attempt that gave no usable reply. `error`: {"code", "message"}, both not empty."""
    return NewFact(
        "record",
        {
            "type": "stepFailed",
            "operationId": operation_id,
            "stepId": step_id,
            "attemptId": attempt_id,
            "error": dict(error),
        },
    )


def tool_started(  # noqa: PLR0913 - an intent names everything that recovery must know
    *,
    operation_id: str,
    step_id: str,
    assistant_entry_id: str,
    tool_index: int,
    tool_call_id: str,
    tool_name: str,
    arguments: JSONObject,
    replay: str,
    replay_key: str,
    result_entry_id: str,
    environment_identity: str,
) -> NewFact:
    """The intent of an effect. `replay`: safe | never."""
    return NewFact(
        "record",
        {
            "type": "toolStarted",
            "operationId": operation_id,
            "stepId": step_id,
            "assistantEntryId": assistant_entry_id,
            "toolIndex": tool_index,
            "toolCallId": tool_call_id,
            "toolName": tool_name,
            "arguments": arguments,
            "replay": replay,
            "replayKey": replay_key,
            "resultEntryId": result_entry_id,
            "environmentIdentity": environment_identity,
        },
    )


def abort_requested(
    *, operation_id: str, operation_kind: str, phase: str, tool_call_id: str | None = None
) -> NewFact:
    """`phase`: model | tool (with its call id) | compact."""
    body: JSONObject = {
        "type": "abortRequested",
        "operationId": operation_id,
        "operationKind": operation_kind,
        "phase": phase,
        "reason": "escape",
    }
    if tool_call_id is not None:
        body["toolCallId"] = tool_call_id
    return NewFact("record", body)


def operation_finished(
    *,
    operation_id: str,
    operation_kind: str,
    outcome: str,
    completion: str | None = None,
    final_entry_id: str | None = None,
    error: Mapping[str, str] | None = None,
) -> NewFact:
    """The end of an operation. `outcome`: completed | failed (with error) | aborted."""
    body: JSONObject = {
        "type": "operationFinished",
        "operationId": operation_id,
        "operationKind": operation_kind,
        "outcome": outcome,
    }
    if completion is not None:
        body["completion"] = completion
    if final_entry_id is not None:
        body["finalEntryId"] = final_entry_id
    if error is not None:
        body["error"] = dict(error)
    return NewFact("record", body)


def usage(
    *,
    operation_id: str,
    input_tokens: int,
    output_tokens: int,
    cache_read: int = 0,
    cache_write: int = 0,
    attempt_id: str | None = None,
    tool_started_id: str | None = None,
) -> NewFact:
    """Tokens that one attempt or one tool used: exactly one of the two ids is given."""
    body: JSONObject = {
        "operationId": operation_id,
        "usage": {
            "input": input_tokens,
            "output": output_tokens,
            "cacheRead": cache_read,
            "cacheWrite": cache_write,
        },
    }
    if attempt_id is not None:
        body["attemptId"] = attempt_id
    if tool_started_id is not None:
        body["toolStartedId"] = tool_started_id
    return NewFact("usage", body)
