"""Edits of values inside the facts of a log. Each says what it did."""

from __future__ import annotations

from typing import Any

from tests.loggen.histories import TEXT
from tests.loggen.render import Line, raw
from tests.loggen.slots import (
    Rng,
    all_ids,
    facts_of_type,
    fresh_id,
    is_id,
    slots_where,
    some_object,
)

_ENUMS: dict[str, list[Any]] = {
    "kind": ["entry", "record", "usage", "header", "fact"],
    "type": [
        "message", "compaction", "runStarted", "stepAttempt", "stepFailed", "toolStarted",
        "abortRequested", "operationFinished", "success", "error", "synthetic", "function", "x",
    ],
    "role": ["user", "assistant", "tool", "system"],
    "stopReason": ["stop", "toolUse", "length", "content_filter"],
    "operationKind": ["run", "compaction"],
    "stepKind": ["assistant", "compaction"],
    "attempt": [1, 2, 3, 0],
    "outcome": ["completed", "failed", "aborted"],
    "completion": ["normal", "truncated"],
    "phase": ["model", "tool", "compact"],
    "reason": [*TEXT, "escape", "signal"],
    "replay": ["safe", "never"],
    "toolIndex": [0, 1, 2, 9],
    "version": [1, 2, 3, "2"],
    "name": ["read", "bash", "missing"],
    "toolName": ["read", "bash", "missing"],
    "tool_call_id": ["call_0", "call_1", "call_9"],
    "toolCallId": ["call_0", "call_1", "call_9"],
}  # fmt: skip
_ODD_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 2**53 - 1, 2**53, raw("1.0"), raw("1e0"), raw("2.0"), 1.5,
    raw("-0"), raw("1e400"), raw("NaN"), raw("9" * 400), "", " ", "x", [], {}, [[]], {"x": 1},
    raw('"\\ud800"'), raw('"\\udc00\\ud800"'), raw('"\\ud83d\\ude00"'), raw('{"a":1,"a":1}'),
]  # fmt: skip


def delete_key(rng: Rng, lines: list[Line]) -> str:
    target = some_object(rng, lines)
    key = rng.choice(list(target))
    del target[key]
    return f"delete {key}"


def rename_key(rng: Rng, lines: list[Line]) -> str:
    target = some_object(rng, lines)
    key = rng.choice(list(target))
    new = rng.choice([key.upper(), key + "s", "extra", "toolStartedId", "attemptId", "stepId"])
    target[new] = target.pop(key)
    return f"rename {key} to {new}"


def add_key(rng: Rng, lines: list[Line]) -> str:
    target = some_object(rng, lines)
    key = rng.choice(["extra", "operationId", "attemptId", "toolStartedId", "toolCallId", "stepId"])
    target[key] = rng.choice([rng.choice(all_ids(lines) or [""]), "x", 1, None])
    return f"add {key}"


def odd_value(rng: Rng, lines: list[Line]) -> str:
    target = some_object(rng, lines)
    key = rng.choice(list(target))
    target[key] = rng.choice(_ODD_VALUES)
    return f"{key} = {target[key]!r}"


def other_id(rng: Rng, lines: list[Line]) -> str:
    """Let an id name something else: mostly what the same key names elsewhere."""
    slots = slots_where(lines, lambda _, value: is_id(value))
    if not slots:
        return "no id"
    target, key = rng.choice(slots)
    alike = [o[k] for o, k in slots if k == key]
    fate = rng.random()
    if fate < 0.55:
        target[key] = rng.choice(alike)
    elif fate < 0.85:
        target[key] = rng.choice(all_ids(lines))
    elif fate < 0.95:
        target[key] = fresh_id(rng)
    else:
        target[key] = rng.choice([target[key].upper(), target[key].replace("-7", "-4"), "1"])
    return f"{key} = {target[key]}"


def swap_values(rng: Rng, lines: list[Line]) -> str:
    key = rng.choice(["id", "operationId", "stepId", "attemptId", "message", "entry", "record",
                      "toolStartedId", "resultEntryId", "result", "timestamp", "seq", "content",
                      "tool_calls", "contextThroughEntryId", "usage"])  # fmt: skip
    slots = slots_where(lines, lambda name, _: name == key)
    if len(slots) < 2:
        return f"no two {key}"
    (a, _), (b, _) = rng.sample(slots, 2)
    a[key], b[key] = b[key], a[key]
    return f"swap two {key}"


def other_enum(rng: Rng, lines: list[Line]) -> str:
    slots = slots_where(lines, lambda key, _: key in _ENUMS)
    if not slots:
        return "no enum"
    key = rng.choice(sorted({key for _, key in slots}))
    target, _ = rng.choice([slot for slot in slots if slot[1] == key])
    target[key] = rng.choice(_ENUMS[key])
    return f"{key} = {target[key]!r}"


def synthetic_reason(rng: Rng, lines: list[Line]) -> str:
    """Another reason, with its own text or the old one."""
    slots = slots_where(lines, lambda key, value: key == "result" and isinstance(value, dict))
    if not slots:
        return "no result"
    entry, _ = rng.choice(slots)
    reason = rng.choice(list(TEXT))
    entry["result"] = {"type": "synthetic", "reason": reason}
    if rng.random() < 0.7 and isinstance(entry.get("message"), dict):
        entry["message"]["content"] = TEXT[reason]
    return f"result becomes synthetic {reason}"


def plain_result(rng: Rng, lines: list[Line]) -> str:
    slots = slots_where(lines, lambda key, value: key == "result" and isinstance(value, dict))
    if slots:
        rng.choice(slots)[0]["result"] = {"type": rng.choice(["success", "error"])}
    return "result becomes plain"


def edit_text(rng: Rng, lines: list[Line]) -> str:
    slots = slots_where(lines, lambda key, v: key in {"content", "summary"} and isinstance(v, str))
    if not slots:
        return "no text"
    target, key = rng.choice(slots)
    target[key] = rng.choice([target[key] + ".", target[key][1:], " ", "", "\u3000", None, "x"])
    return f"{key} = {target[key]!r}"


def edit_calls(rng: Rng, lines: list[Line]) -> str:
    slots = slots_where(lines, lambda key, value: key == "message" and isinstance(value, dict))
    messages = [o[k] for o, k in slots if o[k].get("role") == "assistant"]
    if not messages:
        return "no reply"
    message = rng.choice(messages)
    calls = message.get("tool_calls")
    call = {"id": "call_0", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    if not isinstance(calls, list) or not calls:
        message["tool_calls"] = [call]
        return "add the first call"
    what = rng.choice(["drop all", "drop one", "add", "reverse", "same id"])
    if what == "drop all":
        del message["tool_calls"]
    elif what == "drop one":
        calls.pop(rng.randrange(len(calls)))
    elif what == "add":
        calls.append({**call, "id": f"call_{rng.choice([0, 5])}"})
    elif what == "reverse":
        calls.reverse()
    else:
        calls[-1]["id"] = calls[0]["id"]
    return f"{what} of the calls"


def edit_ids_of_compaction(rng: Rng, lines: list[Line]) -> str:
    started = facts_of_type(lines, "compactionStarted")
    if not started:
        return "no compaction"
    record = rng.choice(started)["record"]
    compacted, retained = record.get("compactedEntryIds"), record.get("retainedEntryIds")
    if not isinstance(compacted, list) or not isinstance(retained, list) or not compacted:
        return "no lists"
    what = rng.choice(["shift", "unshift", "drop", "reverse", "repeat"])
    if what == "shift":
        retained.insert(0, compacted.pop())
    elif what == "unshift" and retained:
        compacted.append(retained.pop(0))
    elif what == "drop":
        rng.choice([compacted, retained or compacted]).pop()
    elif what == "reverse":
        compacted.reverse()
    else:
        retained.append(compacted[0])
    return f"{what} the ids of a compaction"


def edit_tail(rng: Rng, lines: list[Line]) -> str:
    entries = [f["entry"] for f in facts_of_type(lines, "compaction") if "entry" in f]
    tails = [e["retainedTail"] for e in entries if isinstance(e.get("retainedTail"), list)]
    if not tails or not (tail := rng.choice(tails)):
        return "no tail"
    what = rng.choice(["drop first", "drop last", "repeat", "reverse"])
    if what == "drop first":
        tail.pop(0)
    elif what == "drop last":
        tail.pop()
    elif what == "repeat":
        tail.append(tail[0])
    else:
        tail.reverse()
    return f"{what} in a retained tail"


def edit_snapshot(rng: Rng, lines: list[Line]) -> str:
    attempts = facts_of_type(lines, "stepAttempt")
    snapshots = [f["record"].get("configurationSnapshot") for f in attempts if "record" in f]
    snapshots = [s for s in snapshots if isinstance(s, dict)]
    if not snapshots:
        return "no snapshot"
    snapshot = rng.choice(snapshots)
    tools = snapshot.get("tools")
    if isinstance(tools, list) and tools and rng.random() < 0.6:
        tools.pop(rng.randrange(len(tools)))
        return "a snapshot loses a tool"
    snapshot["model"] = rng.choice(["other", "m", "", "é\u2028"])
    return "a snapshot changes its model"
