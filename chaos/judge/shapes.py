"""The closed shapes of headers, entries, records and usage: what each key may hold.

Tables, a row each. Promises that exactly the keys and values of the contract pass; says nothing
about what they refer to.

Source: session contract, section 2, and its session schema.
"""

from __future__ import annotations

from chaos.judge.shape_checks import (
    Check,
    Mismatch,
    array,
    by,
    closed,
    integer,
    one_of,
    pattern,
    scalar,
    shown,
)

# --- leaves --------------------------------------------------------------------------------------

text = scalar("a string", lambda v: isinstance(v, str))
filled = scalar("a non-empty string", lambda v: isinstance(v, str) and v != "")
text_or_null = scalar("a string or null", lambda v: v is None or isinstance(v, str))
any_object = scalar("an object", lambda v: isinstance(v, dict))
natural = integer(0)
positive = integer(1)
uuid7 = pattern(
    "a lower-case UUIDv7", r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
digest = pattern("sha256: and 64 hex digits", r"sha256:[0-9a-f]{64}")
operation_kind = one_of("run", "compaction")
error = closed({"code": filled, "message": filled})

# --- header --------------------------------------------------------------------------------------

VERSION = 2


def _header(version: Check) -> Check:
    return closed(
        {
            "kind": one_of("header"),
            "version": version,
            "id": uuid7,
            "createdAt": natural,
            "cwd": filled,
            "provider": filled,
            "model": filled,
            "environmentIdentity": filled,
        }
    )


header = _header(one_of(VERSION))
header_of_any_version = _header(natural)

# --- entries -------------------------------------------------------------------------------------

_tool_call = closed(
    {
        "id": filled,
        "type": one_of("function"),
        "function": closed({"name": filled, "arguments": text}),
    }
)
_message = {
    "user": closed({"role": one_of("user"), "content": filled}),
    "assistant": closed(
        {"role": one_of("assistant"), "content": text_or_null},
        {"tool_calls": array(_tool_call, least=1)},
    ),
    "tool": closed({"role": one_of("tool"), "content": text, "tool_call_id": filled}),
}
_plain_result = closed({"type": one_of("success", "error")})
_started_result = by(
    "type",
    {
        "success": _plain_result,
        "error": _plain_result,
        "synthetic": closed({"type": text, "reason": one_of("interrupted")}),
    },
)
_unstarted_result = closed(
    {
        "type": one_of("synthetic"),
        "reason": one_of("invalidArguments", "unknownTool", "truncated", "aborted"),
    }
)
_user_entry = closed({"type": text, "message": _message["user"]})
_assistant_entry = closed(
    {
        "type": text,
        "stepId": uuid7,
        "attemptId": uuid7,
        "stopReason": one_of("stop", "toolUse", "length"),
        "message": _message["assistant"],
    }
)
_started_tool_entry = closed(
    {
        "type": text,
        "stepId": uuid7,
        "message": _message["tool"],
        "toolName": filled,
        "toolStartedId": uuid7,
        "result": _started_result,
    }
)
_unstarted_tool_entry = closed(
    {
        "type": text,
        "stepId": uuid7,
        "assistantEntryId": uuid7,
        "toolIndex": natural,
        "message": _message["tool"],
        "toolName": filled,
        "result": _unstarted_result,
    }
)


def _tool_entry(value: object) -> Mismatch | None:
    started = isinstance(value, dict) and "toolStartedId" in value
    return (_started_tool_entry if started else _unstarted_tool_entry)(value)


ENTRY_OF_ROLE = {"user": _user_entry, "assistant": _assistant_entry, "tool": _tool_entry}


def _message_entry(value: object) -> Mismatch | None:
    message = value.get("message") if isinstance(value, dict) else None
    role = message.get("role") if isinstance(message, dict) else None
    shape = ENTRY_OF_ROLE.get(role) if isinstance(role, str) else None
    expected = " or ".join(map(shown, ENTRY_OF_ROLE))
    return shape(value) if shape else Mismatch("message.role", expected, shown(role))


ENTRIES = {
    "message": _message_entry,
    "compaction": closed(
        {
            "type": text,
            "operationId": uuid7,
            "summary": text,
            "compactedThroughEntryId": uuid7,
            "retainedTail": array(
                closed({"sourceEntryId": uuid7, "message": by("role", _message)})
            ),
        }
    ),
}
entry = by("type", ENTRIES)

# --- records -------------------------------------------------------------------------------------

_snapshot = closed(
    {
        "model": filled,
        "systemPromptDigest": digest,
        "tools": array(closed({"name": filled, "definitionDigest": digest})),
        "adapterIdentity": filled,
        "routingIdentity": filled,
        "outputOptionsDigest": digest,
    }
)
_operation = {"type": text, "operationId": uuid7}
_finished = {**_operation, "operationKind": operation_kind, "outcome": text}
_completed_run = closed(
    {**_finished, "completion": one_of("normal", "truncated"), "finalEntryId": uuid7}
)
_completed_compaction = closed({**_finished, "finalEntryId": uuid7})
_abort = {**_operation, "operationKind": operation_kind, "reason": one_of("escape")}
_untargeted_abort = closed({**_abort, "phase": text}, {"toolCallId": filled})

RECORDS = {
    "runStarted": closed({**_operation, "operationKind": one_of("run"), "inputEntryId": uuid7}),
    "compactionStarted": closed(
        {
            **_operation,
            "operationKind": one_of("compaction"),
            "inputThroughEntryId": uuid7,
            "resultEntryId": uuid7,
            "compactedEntryIds": array(uuid7, least=1),
            "retainedEntryIds": array(uuid7),
            "sourceDigest": digest,
        }
    ),
    "stepAttempt": closed(
        {
            **_operation,
            "stepId": uuid7,
            "attemptId": uuid7,
            "stepKind": one_of("assistant", "compaction"),
            "attempt": integer(1, 2),
            "contextThroughEntryId": uuid7,
            "configurationSnapshot": _snapshot,
            "configurationDigest": digest,
        }
    ),
    "stepFailed": closed({**_operation, "stepId": uuid7, "attemptId": uuid7, "error": error}),
    "toolStarted": closed(
        {
            **_operation,
            "stepId": uuid7,
            "assistantEntryId": uuid7,
            "toolIndex": natural,
            "toolCallId": filled,
            "toolName": filled,
            "arguments": any_object,
            "replay": one_of("safe", "never"),
            "replayKey": filled,
            "resultEntryId": uuid7,
            "environmentIdentity": filled,
        }
    ),
    "abortRequested": by(
        "phase",
        {
            "model": _untargeted_abort,
            "compact": _untargeted_abort,
            "tool": closed({**_abort, "phase": text, "toolCallId": filled}),
        },
    ),
    "operationFinished": by(
        "outcome",
        {
            "completed": by(
                "operationKind", {"run": _completed_run, "compaction": _completed_compaction}
            ),
            "aborted": closed(_finished),
            "failed": closed({**_finished, "error": error}),
        },
    ),
}
record = by("type", RECORDS)

# --- usage ---------------------------------------------------------------------------------------

COUNTERS = ("input", "output", "cacheRead", "cacheWrite")
usage_counters = closed(dict.fromkeys(COUNTERS, natural))
