"""Plausible facts put where they may not belong: right shape, ids taken from the log by role."""

from __future__ import annotations

from typing import Any

from tests.loggen.histories import TEXT
from tests.loggen.render import Line
from tests.loggen.slots import Rng, all_ids, copy_of, facts_of_type, fresh_id, is_id, slots_where

Body = dict[str, Any]


class _Ids:
    """Ids of one log, asked for by the role they play in it."""

    def __init__(self, rng: Rng, lines: list[Line]) -> None:
        self.rng = rng
        self.lines = lines
        self.all = all_ids(lines) or [fresh_id(rng)]

    def some(self, key: str) -> str:
        known = slots_where(self.lines, lambda name, value: name == key and is_id(value))
        return str(self.rng.choice([o[k] for o, k in known] or self.all))


def _abort(ids: _Ids) -> Body:
    phase = ids.rng.choice(["model", "model", "tool", "tool", "compact"])
    call = {"toolCallId": ids.rng.choice(["call_0", "call_1"])}
    targeted = phase == "tool" or ids.rng.random() < 0.1
    kind = "compaction" if phase == "compact" else ids.rng.choice(["run", "run", "compaction"])
    return {
        "type": "abortRequested",
        "operationId": ids.some("operationId"),
        "operationKind": kind,
        "phase": phase,
        **(call if targeted else {}),
        "reason": "escape",
    }


def _finish(ids: _Ids) -> Body:
    rng = ids.rng
    kind, outcome = rng.choice(["run", "run", "compaction"]), rng.choice(["completed", "failed"])
    body: Body = {
        "type": "operationFinished",
        "operationId": ids.some("operationId"),
        "operationKind": kind,
        "outcome": rng.choice([outcome, "aborted"]),
    }
    if body["outcome"] == "failed":
        body["error"] = {"code": "e", "message": "m"}
    if body["outcome"] == "completed":
        body["finalEntryId"] = ids.some(rng.choice(["finalEntryId", "contextThroughEntryId", "id"]))
        if kind == "run":
            body["completion"] = rng.choice(["normal", "truncated"])
    return body


def _step_failed(ids: _Ids) -> Body:
    return {
        "type": "stepFailed",
        "operationId": ids.some("operationId"),
        "stepId": ids.some("stepId"),
        "attemptId": ids.some("attemptId"),
        "error": {"code": "e", "message": "m"},
    }


def _run_started(ids: _Ids) -> Body:
    return {
        "type": "runStarted",
        "operationId": fresh_id(ids.rng),
        "operationKind": "run",
        "inputEntryId": ids.some(ids.rng.choice(["inputEntryId", "id"])),
    }


def _prompt(_ids: _Ids) -> Body:
    return {"type": "message", "message": {"role": "user", "content": "more"}}


def _reply(ids: _Ids) -> Body:
    return {
        "type": "message",
        "stepId": ids.some("stepId"),
        "attemptId": ids.some("attemptId"),
        "stopReason": "stop",
        "message": {"role": "assistant", "content": "x"},
    }


def _unstarted_result(ids: _Ids) -> Body:
    rng, reason = ids.rng, ids.rng.choice(["aborted", "unknownTool", "truncated"])
    call_id = f"call_{(index := rng.choice([0, 1]))}"
    return {
        "type": "message",
        "stepId": ids.some("stepId"),
        "assistantEntryId": ids.some("assistantEntryId"),
        "toolIndex": index,
        "message": {"role": "tool", "content": TEXT[reason], "tool_call_id": call_id},
        "toolName": rng.choice(["read", "bash", "missing"]),
        "result": {"type": "synthetic", "reason": reason},
    }


def _usage(ids: _Ids) -> Body:
    key = ids.rng.choice(["attemptId", "toolStartedId"])
    counters = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 1)
    counters["input"] = ids.rng.choice([1, 2**53 - 1])
    return {"operationId": ids.some("operationId"), key: ids.some(key), "usage": counters}


_PLAUSIBLE = [
    ("record", _abort),
    ("record", _abort),
    ("record", _finish),
    ("record", _finish),
    ("record", _step_failed),
    ("record", _run_started),
    ("entry", _prompt),
    ("entry", _reply),
    ("entry", _unstarted_result),
    ("usage", _usage),
]


def insert_fact(rng: Rng, lines: list[Line]) -> str:
    kind, make = rng.choice(_PLAUSIBLE)
    body = make(_Ids(rng, lines))
    fact: Body = {"kind": kind, "seq": 1, "id": fresh_id(rng), "timestamp": 1}
    fact = {**fact, **body} if kind == "usage" else {**fact, kind: body}
    to = rng.randrange(min(1, len(lines)), len(lines) + 1)
    lines.insert(to, fact)
    return f"insert {make.__name__[1:]} as line {to + 1}"


def insert_attempt(rng: Rng, lines: list[Line]) -> str:
    """An attempt like one that is there, at its own or another boundary, first or second."""
    attempts = [fact for fact in facts_of_type(lines, "stepAttempt") if "record" in fact]
    if not attempts:
        return "no attempt"
    fact = copy_of(rng.choice(attempts))
    record = fact["record"]
    fact["id"], record["attemptId"] = fresh_id(rng), fresh_id(rng)
    record["attempt"] = rng.choice([1, 2, 2])
    if rng.random() < 0.5:
        record["stepId"] = fresh_id(rng)
    if rng.random() < 0.5:
        record["contextThroughEntryId"] = rng.choice(all_ids(lines))
    to = rng.randrange(1, len(lines) + 1)
    lines.insert(to, fact)
    return f"insert an attempt {record['attempt']} as line {to + 1}"
