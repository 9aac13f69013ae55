"""Small legal logs to break by hand, one for each kind of course.

Ids are `u(1)`, `u(2)`…; the names below say what each stands for. `log`, `after` and `changed` give
the bytes of a log that differs from a legal one as little as its name says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.loggen.render import Line, digest, render

Body = dict[str, Any]


def u(number: int) -> str:
    """A UUIDv7 that is easy to recognise."""
    return f"018f0000-0000-7000-8000-{number:012x}"


SESSION, RUN, PROMPT, STEP, ATTEMPT, REPLY = (u(n) for n in range(1, 7))
INTENT, RESULT, STEP_2, ATTEMPT_2, REPLY_2 = (u(n) for n in range(7, 12))
COMPACTION, SUMMARY, STEP_3, ATTEMPT_3 = (u(n) for n in range(12, 16))
NAMES = {
    value: name for name, value in globals().items() if name.isupper() and isinstance(value, str)
}
ERROR = {"code": "why", "message": "because"}
SNAPSHOT: Body = {
    "model": "m",
    "systemPromptDigest": "sha256:" + "0" * 64,
    "tools": [{"name": "bash", "definitionDigest": "sha256:" + "0" * 64}],
    "adapterIdentity": "a",
    "routingIdentity": "r",
    "outputOptionsDigest": "sha256:" + "0" * 64,
}


def numbered(*lines: Line) -> list[Line]:
    """The lines with their facts numbered, and ids where a fact has none of its own."""
    seq = 0
    for line in lines[1:]:
        for fact in line if isinstance(line, list) else [line]:
            seq += 1
            fact["seq"] = seq
            fact.setdefault("id", u(0x100 + seq))
    return list(lines)


def header() -> Body:
    return {
        "kind": "header",
        "version": 2,
        "id": SESSION,
        "createdAt": 1,
        "cwd": "/w",
        "provider": "p",
        "model": "m",
        "environmentIdentity": "/w",
    }


def entry(fact_id: str, **body: Any) -> Body:
    return {"kind": "entry", "id": fact_id, "timestamp": 1, "entry": body}


def record(type_: str, operation: str, **body: Any) -> Body:
    return {
        "kind": "record",
        "timestamp": 1,
        "record": {"type": type_, "operationId": operation, **body},
    }


def usage(operation: str = RUN, **named: Any) -> Body:
    """Usage of what `named` says (attemptId or toolStartedId), with counters it may change."""
    counters = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
    counters |= {name: named.pop(name) for name in counters if name in named}
    return {"kind": "usage", "timestamp": 1, "operationId": operation, **named, "usage": counters}


def prompt(run: str = RUN, entry_id: str = PROMPT) -> list[Body]:
    said = entry(entry_id, type="message", message={"role": "user", "content": "do"})
    return [said, record("runStarted", run, operationKind="run", inputEntryId=entry_id)]


def attempt(
    step: str = STEP,
    name: str = ATTEMPT,
    boundary: str = PROMPT,
    number: int = 1,
    operation: str = RUN,
) -> Body:
    return record(
        "stepAttempt",
        operation,
        stepId=step,
        attemptId=name,
        stepKind="compaction" if operation == COMPACTION else "assistant",
        attempt=number,
        contextThroughEntryId=boundary,
        configurationSnapshot={**SNAPSHOT, "tools": [dict(tool) for tool in SNAPSHOT["tools"]]},
        configurationDigest=digest(SNAPSHOT),
    )


def failed(step: str = STEP, name: str = ATTEMPT, operation: str = RUN) -> Body:
    return record("stepFailed", operation, stepId=step, attemptId=name, error=dict(ERROR))


def reply(
    content: str | None = "done",
    *calls: str,
    stop: str = "stop",
    step: str = STEP,
    name: str = ATTEMPT,
    entry_id: str = REPLY,
) -> Body:
    message: Body = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [call(call_id) for call_id in calls]
    return entry(
        entry_id,
        type="message",
        stepId=step,
        attemptId=name,
        stopReason="toolUse" if calls and stop == "stop" else stop,
        message=message,
    )


def call(call_id: str, tool: str = "bash") -> Body:
    return {"id": call_id, "type": "function", "function": {"name": tool, "arguments": "{}"}}


def intent(call_id: str = "c0", index: int = 0) -> Body:
    fact = record(
        "toolStarted",
        RUN,
        stepId=STEP,
        assistantEntryId=REPLY,
        toolIndex=index,
        toolCallId=call_id,
        toolName="bash",
        arguments={},
        replay="never",
        replayKey="builtin:bash:v1",
        resultEntryId=RESULT,
        environmentIdentity="/w",
    )
    return {**fact, "id": INTENT}


def result(content: str = "out", kind: str = "success") -> Body:
    plain = {"type": kind}
    return entry(
        RESULT,
        type="message",
        stepId=STEP,
        message={"role": "tool", "content": content, "tool_call_id": "c0"},
        toolName="bash",
        toolStartedId=INTENT,
        result={"type": "synthetic", "reason": kind} if kind == "interrupted" else plain,
    )


def unstarted(reason: str, content: str, call_id: str = "c0", index: int = 0) -> Body:
    return entry(
        u(0x80 + index),
        type="message",
        stepId=STEP,
        assistantEntryId=REPLY,
        toolIndex=index,
        message={"role": "tool", "content": content, "tool_call_id": call_id},
        toolName="bash",
        result={"type": "synthetic", "reason": reason},
    )


def aborting(phase: str = "model", operation: str = RUN, **more: str) -> Body:
    kind = "compaction" if operation == COMPACTION else "run"
    return record(
        "abortRequested", operation, operationKind=kind, phase=phase, **more, reason="escape"
    )


def finish(outcome: str = "completed", operation: str = RUN, **more: Any) -> Body:
    kind = "compaction" if operation == COMPACTION else "run"
    return record("operationFinished", operation, operationKind=kind, outcome=outcome, **more)


def completed(final: str = REPLY) -> Body:
    return finish(completion="normal", finalEntryId=final)


def answered() -> list[Line]:
    """Prompt, attempt, plain answer with its usage, end. Lines 1 to 5, seqs 1 to 6."""
    return numbered(header(), prompt(), attempt(), [reply(), usage(attemptId=ATTEMPT)], completed())


def tool_run() -> list[Line]:
    """One bash call, then an answer. Line 5 is the intent, line 6 its result."""
    return numbered(
        header(),
        prompt(),
        attempt(),
        reply(None, "c0"),
        intent(),
        result(),
        attempt(STEP_2, ATTEMPT_2, RESULT),
        reply(step=STEP_2, name=ATTEMPT_2, entry_id=REPLY_2),
        completed(REPLY_2),
    )


def without_tools() -> Body:
    """A snapshot that offers no tool, with its digest."""
    snapshot = {**SNAPSHOT, "tools": []}
    return {"configurationSnapshot": snapshot, "configurationDigest": digest(snapshot)}


def compacted() -> list[Line]:
    """The answered run, then a compaction that keeps its reply. Line 6 starts it, 8 settles it."""
    kept = {"role": "assistant", "content": "done"}
    said = {"role": "user", "content": "do"}
    sources = [
        {"sourceEntryId": PROMPT, "message": said},
        {"sourceEntryId": REPLY, "message": kept},
    ]
    return numbered(
        *answered(),
        record(
            "compactionStarted",
            COMPACTION,
            operationKind="compaction",
            inputThroughEntryId=REPLY,
            resultEntryId=SUMMARY,
            compactedEntryIds=[PROMPT],
            retainedEntryIds=[REPLY],
            sourceDigest=digest(sources),
        ),
        attempt(STEP_3, ATTEMPT_3, REPLY, operation=COMPACTION),
        entry(
            SUMMARY,
            type="compaction",
            operationId=COMPACTION,
            summary="so far",
            compactedThroughEntryId=PROMPT,
            retainedTail=sources[1:],
        ),
        finish(operation=COMPACTION, finalEntryId=SUMMARY),
    )


# --- logs as bytes -------------------------------------------------------------------------------


def log(*lines: Line) -> bytes:
    """Header and prompt, then `lines`."""
    return render(numbered(header(), prompt(), *lines))


def after(make: Callable[[], list[Line]], kept: int, *lines: Line) -> bytes:
    """The first `kept` lines of a legal log, then `lines`."""
    return render(numbered(*make()[:kept], *lines))


def changed(make: Callable[[], list[Line]], line: int, *path: str | int, **values: Any) -> bytes:
    """A legal log with other `values` in the object at `path` of one line (1-based)."""
    lines = make()
    target: Any = lines[line - 1]
    for key in path:
        target = target[key]
    target.update(values)
    return render(lines)


def with_names(message: str) -> str:
    """A message with ids as they are called above, and every digest as DIGEST."""

    def name(match: re.Match[str]) -> str:
        return NAMES.get(match[0]) or f"u(0x{int(match[0][-12:], 16):x})"

    named = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}", name, message)
    return re.sub(r"sha256:[0-9a-f]{64}", "DIGEST", named)
