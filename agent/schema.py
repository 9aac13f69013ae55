"""The shape of every value in a session log, as a table: one row a kind of line or fact.

Pure. The rows say the same as the session schema of the contract: all shapes are closed. What a
shape cannot say (order, references, transitions) is the reducer's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.facts import VERSION
from agent.shapes import (
    Check,
    Closed,
    an_object,
    array,
    integer,
    non_empty,
    one_of,
    remembering,
    sha256_digest,
    string,
    string_or_null,
    tagged,
    uuid7,
)

SAFE_INTEGER = integer(0)
POSITIVE_SAFE_INTEGER = integer(1)

_HEADER: Mapping[str, Check] = {
    "kind": one_of("header"),
    "id": uuid7,
    "createdAt": SAFE_INTEGER,
    "cwd": non_empty,
    "provider": non_empty,
    "model": non_empty,
    "environmentIdentity": non_empty,
}
HEADER = Closed({**_HEADER, "version": integer(VERSION, VERSION)})
# A header that is right but for its version belongs to another program, not to a broken one.
HEADER_OF_ANY_VERSION = Closed({**_HEADER, "version": SAFE_INTEGER})

# The keys of a fact's outer object: kind -> (needed, allowed besides).
_COMMON = frozenset({"kind", "seq", "id", "timestamp"})
ENVELOPES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "entry": (_COMMON | {"entry"}, frozenset()),
    "record": (_COMMON | {"record"}, frozenset()),
    "usage": (_COMMON | {"operationId", "usage"}, frozenset({"attemptId", "toolStartedId"})),
}
ENVELOPE_KEYS = _COMMON

_TOOL_CALL = Closed(
    {
        "id": non_empty,
        "type": one_of("function"),
        "function": Closed({"name": non_empty, "arguments": string}),
    }
)
_USER = Closed({"role": one_of("user"), "content": non_empty})
_ASSISTANT = Closed(
    {"role": one_of("assistant"), "content": string_or_null},
    {"tool_calls": array(_TOOL_CALL, 1)},
)
_TOOL = Closed({"role": one_of("tool"), "content": string, "tool_call_id": non_empty})
_MESSAGE = tagged("role", {"user": _USER, "assistant": _ASSISTANT, "tool": _TOOL})

CONFIGURATION_SNAPSHOT = remembering(
    Closed(
        {
            "model": non_empty,
            "systemPromptDigest": sha256_digest,
            "tools": array(Closed({"name": non_empty, "definitionDigest": sha256_digest})),
            "adapterIdentity": non_empty,
            "routingIdentity": non_empty,
            "outputOptionsDigest": sha256_digest,
        }
    )
)
_ERROR = Closed({"code": non_empty, "message": non_empty})
_COUNTERS = Closed(dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), SAFE_INTEGER))

_FINISHED: Mapping[str, Check] = {
    "type": one_of("operationFinished"),
    "operationId": uuid7,
    "operationKind": one_of("run", "compaction"),
    "outcome": non_empty,
}
_FINISHED_COMPLETED = tagged(
    "operationKind",
    {
        "run": Closed(
            {
                **_FINISHED,
                "completion": one_of("normal", "truncated"),
                "finalEntryId": uuid7,
            }
        ),
        "compaction": Closed({**_FINISHED, "finalEntryId": uuid7}),
    },
)

_ABORT: Mapping[str, Check] = {
    "type": one_of("abortRequested"),
    "operationId": uuid7,
    "operationKind": one_of("run", "compaction"),
    "phase": one_of("model", "tool", "compact"),
    "reason": one_of("escape"),
}
_ABORT_IN_TOOL = Closed({**_ABORT, "toolCallId": non_empty})
_ABORT_ELSEWHERE = Closed(_ABORT, {"toolCallId": non_empty})


def _usage(value: Any) -> str:
    """The schema allows neither and both ids; the contract (section 2) asks for one."""
    complaint = _USAGE(value)
    if not complaint and ("attemptId" in value) == ("toolStartedId" in value):
        complaint = "expected exactly one of 'attemptId' and 'toolStartedId'"
    return complaint


_USAGE = Closed(
    {"operationId": uuid7, "usage": _COUNTERS}, {"attemptId": uuid7, "toolStartedId": uuid7}
)

# Every variant of a fact's body.
BODIES: Mapping[str, Check] = {
    "user": Closed({"type": one_of("message"), "message": _USER}),
    "assistant": Closed(
        {
            "type": one_of("message"),
            "stepId": uuid7,
            "attemptId": uuid7,
            "stopReason": one_of("stop", "toolUse", "length"),
            "message": _ASSISTANT,
        }
    ),
    "startedResult": Closed(
        {
            "type": one_of("message"),
            "stepId": uuid7,
            "message": _TOOL,
            "toolName": non_empty,
            "toolStartedId": uuid7,
            "result": tagged(
                "type",
                {
                    "success": Closed({"type": string}),
                    "error": Closed({"type": string}),
                    "synthetic": Closed({"type": string, "reason": one_of("interrupted")}),
                },
            ),
        }
    ),
    "unstartedResult": Closed(
        {
            "type": one_of("message"),
            "stepId": uuid7,
            "assistantEntryId": uuid7,
            "toolIndex": SAFE_INTEGER,
            "message": _TOOL,
            "toolName": non_empty,
            "result": Closed(
                {
                    "type": one_of("synthetic"),
                    "reason": one_of("invalidArguments", "unknownTool", "truncated", "aborted"),
                }
            ),
        }
    ),
    "compaction": Closed(
        {
            "type": one_of("compaction"),
            "operationId": uuid7,
            "summary": string,
            "compactedThroughEntryId": uuid7,
            "retainedTail": array(Closed({"sourceEntryId": uuid7, "message": _MESSAGE})),
        }
    ),
    "runStarted": Closed(
        {
            "type": one_of("runStarted"),
            "operationId": uuid7,
            "operationKind": one_of("run"),
            "inputEntryId": uuid7,
        }
    ),
    "compactionStarted": Closed(
        {
            "type": one_of("compactionStarted"),
            "operationId": uuid7,
            "operationKind": one_of("compaction"),
            "inputThroughEntryId": uuid7,
            "resultEntryId": uuid7,
            "compactedEntryIds": array(uuid7, 1),
            "retainedEntryIds": array(uuid7),
            "sourceDigest": sha256_digest,
        }
    ),
    "stepAttempt": Closed(
        {
            "type": one_of("stepAttempt"),
            "operationId": uuid7,
            "stepId": uuid7,
            "attemptId": uuid7,
            "stepKind": one_of("assistant", "compaction"),
            "attempt": integer(1, 2),
            "contextThroughEntryId": uuid7,
            "configurationSnapshot": CONFIGURATION_SNAPSHOT,
            "configurationDigest": sha256_digest,
        }
    ),
    "stepFailed": Closed(
        {
            "type": one_of("stepFailed"),
            "operationId": uuid7,
            "stepId": uuid7,
            "attemptId": uuid7,
            "error": _ERROR,
        }
    ),
    "toolStarted": Closed(
        {
            "type": one_of("toolStarted"),
            "operationId": uuid7,
            "stepId": uuid7,
            "assistantEntryId": uuid7,
            "toolIndex": SAFE_INTEGER,
            "toolCallId": non_empty,
            "toolName": non_empty,
            "arguments": an_object,
            "replay": one_of("safe", "never"),
            "replayKey": non_empty,
            "resultEntryId": uuid7,
            "environmentIdentity": non_empty,
        }
    ),
    "abortRequested": tagged(
        "phase",
        {"tool": _ABORT_IN_TOOL, "model": _ABORT_ELSEWHERE, "compact": _ABORT_ELSEWHERE},
    ),
    "operationFinished": tagged(
        "outcome",
        {
            "completed": _FINISHED_COMPLETED,
            "aborted": Closed(_FINISHED),
            "failed": Closed({**_FINISHED, "error": _ERROR}),
        },
    ),
    "usage": _usage,
}

_RECORDS = tuple(
    name
    for name in BODIES
    if name not in ("user", "assistant", "startedResult", "unstartedResult", "compaction", "usage")
)
_record_type = one_of(*_RECORDS)
_entry_type = one_of("message", "compaction")
_role = one_of("user", "assistant", "tool")


def variant(kind: str, body: Any) -> tuple[str, str]:
    """Which row of BODIES a fact's body belongs to, and "" or why it belongs to none."""
    if kind == "usage":
        return "usage", ""
    if type(body) is not dict:
        return "", f"{kind}: {an_object(body)}"
    type_: Any = body.get("type")
    if kind == "record":
        return type_, _record_type(type_)
    complaint = _entry_type(type_)
    if complaint or type_ == "compaction":
        return type_, complaint
    message = body.get("message")
    role: Any = message.get("role") if type(message) is dict else None
    if role == "tool":
        return ("startedResult" if "toolStartedId" in body else "unstartedResult"), ""
    return role, _role(role)
