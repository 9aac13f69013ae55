"""Our corpus: small logs, each with what a reader must make of it.

`ACCEPTED` logs reduce to a state (frozen in files, reviewed by eye); `REFUSED` ones give the error
that stands beside them; `PLANS` say what recovery does next. Plans and errors are written by hand,
from the contract. `python -m tests.corpus.generate` writes the files.
"""

from __future__ import annotations

from typing import Any

from tests.corpus.writer import GONE, ONE, SYNTHETIC, ZERO, Log, call, current, uid

JSON = dict[str, Any]

BAD = call("c1", "missing"), call("c2", "read", "[1]")
THREE = call("c0"), call("c1", "bash", '{"command":"x"}'), call("c2")


def two_turns(log: Log | None = None) -> Log:
    """A settled tool turn, then a plain answer, before the finish."""
    return (log or Log()).asked().intent(replay="safe").result().tried().reply("done")


def compacted() -> Log:
    return Log().answered().answered("again").compact(retained=2).tried().used().summary()


ACCEPTED: dict[str, Log] = {
    "header-only": Log(),
    "prompt-accepted": Log().run(),
    "attempt-open": Log().run().tried(),
    "attempt-repeated": Log().run().tried().tried(2),
    "attempt-failed": Log().run().tried().failed(),
    "answer-unfinished": Log().run().tried().reply("done"),
    "blank-answer": Log().run().tried().reply(" \n"),
    "answer-finished": Log().answered(),
    "failed-then-new-prompt": Log().run().tried().failed().finish("failed").run("again"),
    "tool-called": Log().asked(),
    "tool-pending-safe": Log().asked().intent(replay="safe"),
    "tool-pending-never": Log().asked().intent(),
    "tool-pending-elsewhere": Log().asked().intent(environmentIdentity="there"),
    "tool-answered": Log().asked().intent().result(),
    "second-of-three-pending": Log().asked(*THREE).intent(0).result(0).intent(1),
    "later-call-pending-first": Log().asked(*THREE).intent(1),
    "answered-out-of-order": Log().asked(*THREE).intent(2).result(2),
    "only-bad-calls": Log().asked(*BAD),
    "only-bad-calls-answered": Log()
    .asked(*BAD)
    .unstarted("unknownTool", 0)
    .unstarted("invalidArguments", 1),
    "two-turns-then-stop": two_turns(),
    "call-id-used-again-in-a-later-turn": Log()
    .asked()
    .intent()
    .result()
    .tried()
    .reply(None, call("c0"))
    .intent(replay="safe"),
    "truncated-calls": Log().asked(*THREE, stop="length"),
    "truncated-calls-answered": Log().asked(call("c0"), stop="length").unstarted("truncated"),
    "truncated-finished": Log()
    .asked(call("c0"), stop="length")
    .unstarted("truncated")
    .finish(completion="truncated"),
    "usage-late": Log().answered().used(10).run("again").tried().used(5),
    "abort-before-attempt": Log().run().abort(),
    "abort-open-attempt": Log().run().tried().abort(),
    "abort-attempt-closed": Log().run().tried().abort().failed("aborted"),
    "abort-mixed-calls": Log().asked(*THREE).intent(0).abort("tool", toolCallId="c0"),
    "abort-answered": Log()
    .asked(*THREE)
    .intent(0)
    .abort("tool", toolCallId="c0")
    .interrupted(0)
    .unstarted("aborted", 1)
    .unstarted("aborted", 2),
    "abort-finished": Log().run().tried().abort().failed("aborted").finish("aborted"),
    "abort-after-answer": Log().run().tried().reply("done").abort(),
    "compaction-started": Log().answered().compact(),
    "compaction-attempt-open": Log().answered().compact().tried(),
    "compaction-attempt-failed": Log().answered().compact().tried().failed(),
    "compaction-settled": compacted(),
    "compaction-finished": compacted().finish(),
    "compaction-aborted": Log().answered().compact().tried().abort("compact"),
    "compaction-keeps-a-tool-turn": two_turns(Log().answered())
    .finish()
    .compact(4)
    .tried()
    .summary(),
    "compaction-repeated": compacted().finish().answered("more").compact(2).tried().summary("2"),
    "prompt-after-compaction": compacted().finish().run("more").tried(),
}

TORN = {"torn-tail-that-parses": ("prompt-accepted", b'{"parseable":true}')}


def _error(code: str, line: int, seq: int | None = None) -> JSON:
    return {"code": code, "line": line} | ({} if seq is None else {"seq": seq})


REFUSED: dict[str, tuple[Log, JSON]] = {
    "header-is-a-fact": (Log().raw(b"{}"), _error("INVALID_FACT", 2)),
    "header-with-an-unknown-key": (Log(extra=1), _error("INVALID_HEADER", 1)),
    "header-without-model": (Log(model=GONE), _error("INVALID_HEADER", 1)),
    "header-of-version-3": (Log(version=3), _error("UNSUPPORTED_VERSION", 1)),
    "header-of-version-3-and-wrong": (Log(version=3, cwd=""), _error("INVALID_HEADER", 1)),
    "line-not-utf8": (Log().raw(b'{"a":"\xff"}'), _error("INVALID_UTF8", 2)),
    "line-of-spaces": (Log().raw(b" \t "), _error("BLANK_LINE", 2)),
    "line-with-cr": (Log().raw(b"[]\r"), _error("CRLF_NOT_ALLOWED", 2)),
    "line-with-a-key-twice": (Log().raw(b'{"seq":1,"seq":1}'), _error("MALFORMED_JSON", 2)),
    "line-is-an-empty-array": (Log().raw(b"[]"), _error("EMPTY_TRANSACTION", 2)),
    "line-is-a-number": (Log().raw(b"1"), _error("INVALID_FACT", 2)),
    "seq-skipped-in-the-middle": (
        Log().together().user().fact("record", {}, seq=3).end(),
        _error("SEQ_MISMATCH", 2, 3),
    ),
    "seq-not-an-integer": (
        Log().fact("entry", {}, seq=True),
        _error("INVALID_FACT", 2),
    ),
    "fact-with-an-unknown-key": (
        Log().fact("entry", {}, note="x"),
        _error("INVALID_FACT", 2, 1),
    ),
    "id-of-the-header-again": (
        Log().fact("entry", {}, uid(1)),
        _error("DUPLICATE_ID", 2, 1),
    ),
    "operation-id-for-a-step": (
        (log := Log().run()).tried(stepId=log.operation),
        _error("DUPLICATE_ID", 3, 3),
    ),
    "prompt-in-another-transaction": (
        Log().user().started(),
        _error("INVALID_REFERENCE", 3, 2),
    ),
    "two-runs": (
        Log().run().together().user().started().end(),
        _error("INVALID_TRANSITION", 3, 3),
    ),
    "snapshot-under-another-digest": (
        Log().run().tried(configurationDigest=ZERO),
        _error("INVALID_FACT", 3, 3),
    ),
    "steps-overlap": (Log().run().tried().tried(), _error("INVALID_TRANSITION", 4, 4)),
    "third-attempt": (
        Log().run().tried().tried(2).tried(2),
        _error("INVALID_TRANSITION", 5, 5),
    ),
    "retry-of-a-failed-attempt": (
        Log().run().tried().failed().tried(2),
        _error("INVALID_TRANSITION", 5, 5),
    ),
    "next-step-at-an-old-boundary": (
        (log := Log().asked().intent().result()).tried(contextThroughEntryId=log.messages[1][0]),
        _error("INVALID_TRANSITION", 7, 7),
    ),
    "next-step-with-a-call-open": (Log().asked().tried(), _error("INVALID_TRANSITION", 5, 5)),
    "prompt-with-a-call-open": (Log().asked().user(), _error("INVALID_TRANSCRIPT", 5, 5)),
    "two-calls-of-one-id": (
        Log().asked(call("c0"), call("c0")),
        _error("INVALID_TRANSCRIPT", 4, 4),
    ),
    "stop-with-calls": (
        Log().asked(call("c0"), stop="stop"),
        _error("INVALID_TRANSITION", 4, 4),
    ),
    "intent-for-a-tool-not-offered": (
        Log().asked(call("c0", "missing")).intent(),
        _error("INVALID_REFERENCE", 5, 5),
    ),
    "two-intents-for-one-call": (
        Log().asked().intent().intent(),
        _error("INVALID_TRANSITION", 6, 6),
    ),
    "intent-of-a-truncated-call": (
        Log().asked(call("c0"), stop="length").intent(),
        _error("INVALID_TRANSITION", 5, 5),
    ),
    "result-under-another-id": (
        Log().asked().intent().result(id_=uid(99)),
        _error("INVALID_REFERENCE", 6, 6),
    ),
    "result-twice": (
        Log().asked().intent().result().result(id_=uid(99)),
        _error("INVALID_TRANSITION", 7, 7),
    ),
    "started-call-answered-as-unstarted": (
        Log().asked().intent().unstarted("aborted"),
        _error("INVALID_TRANSITION", 6, 6),
    ),
    "text-of-interrupted-changed": (
        Log().asked().intent().interrupted(content=SYNTHETIC["interrupted"] + " "),
        _error("INVALID_TRANSCRIPT", 6, 6),
    ),
    "text-of-truncated-changed": (
        Log().asked(call("c0"), stop="length").unstarted("truncated", content="cut"),
        _error("INVALID_TRANSCRIPT", 5, 5),
    ),
    "finished-with-a-call-open": (
        Log().asked().finish("failed"),
        _error("INVALID_TRANSITION", 5, 5),
    ),
    "blank-answer-completed": (
        Log().run().tried().reply("  ").finish(),
        _error("INVALID_TRANSITION", 5, 5),
    ),
    "completed-after-an-abort": (
        Log().run().tried().reply().abort().finish(),
        _error("INVALID_TRANSITION", 6, 6),
    ),
    "aborted-without-an-abort": (
        Log().run().finish("aborted"),
        _error("INVALID_TRANSITION", 3, 3),
    ),
    "usage-of-another-operation": (
        (log := Log().answered()).run().used(attemptId=log.attempt),
        _error("INVALID_REFERENCE", 7, 8),
    ),
    "usage-of-nothing": (
        Log().run().tried().used(attemptId=GONE),
        _error("INVALID_FACT", 4, 4),
    ),
    "usage-beyond-the-safe-sum": (
        Log().run().tried().used(2**53 - 1).used(1),
        _error("INVALID_FACT", 5, 5),
    ),
    "compaction-of-a-part": (
        (log := Log().answered().answered()).compact(
            compactedEntryIds=[log.messages[0][0]], retainedEntryIds=[log.messages[3][0]]
        ),
        _error("INVALID_REFERENCE", 10, 11),
    ),
    "compaction-under-another-digest": (
        Log().answered().compact(sourceDigest=ONE),
        _error("INVALID_REFERENCE", 6, 6),
    ),
    "compaction-tail-changed": (
        Log().answered().compact(1).tried().summary(retainedTail=[]),
        _error("INVALID_REFERENCE", 8, 8),
    ),
    "compaction-splits-a-call-from-its-result": (
        two_turns().finish().compact(2).tried().summary(),
        _error("INVALID_TRANSCRIPT", 12, 12),
    ),
}


def _answer(log: Log, index: int, reason: str) -> JSON:
    """One synthetic result as a plan holds it."""
    made, intent = log.calls[index], log.intents.get(index)
    ids = {"toolStartedId": intent["id"], "resultEntryId": intent["result"]} if intent else {}
    return {
        "assistantEntryId": log.reply_id,
        "toolIndex": index,
        "toolCallId": made["id"],
        "toolName": made["function"]["name"],
        "reason": reason,
        "content": SYNTHETIC[reason],
    } | ids


def _answers(name: str, *answers: tuple[int, str]) -> JSON:
    log = ACCEPTED[name]
    return {"type": "appendSynthetic", "results": [_answer(log, *each) for each in answers]}


def _step(name: str, attempt: int = 1, kind: str = "assistant") -> JSON:
    log = ACCEPTED[name]
    again = {"stepId": log.step} if attempt == 2 else {}
    step = {"type": "startStep", "stepKind": kind, "attempt": attempt}
    return step | again | {"contextThroughEntryId": log.boundary}


def _tool(name: str, index: int, mode: str, arguments: JSON) -> JSON:
    log = ACCEPTED[name]
    again = {"toolStartedId": log.intents[index]["id"]} if mode == "replay" else {}
    return {
        "type": "startTool",
        "mode": mode,
        "assistantEntryId": log.reply_id,
        "toolIndex": index,
        **again,
        "toolName": log.calls[index]["function"]["name"],
        "arguments": arguments,
    }


def _finish(name: str, completion: str | None = "normal") -> JSON:
    extra = {"completion": completion} if completion else {}
    done = {"type": "finish", "outcome": "completed", "finalEntryId": ACCEPTED[name].reply_id}
    return done | extra


def _blocked(what: str) -> JSON:
    return {"type": "blocked", "reason": what}


IDLE: JSON = {"type": "finish", "outcome": "completed", "completion": "normal"}
ABORTED: JSON = {"type": "finish", "outcome": "aborted"}
CLOSE: JSON = {
    "type": "closeAttempt",
    "error": {"code": "aborted", "message": "Operation aborted"},
}
PROVIDER_ERROR = {"code": "http_500", "message": "the provider said so"}
EMPTY = {"code": "empty_response", "message": "The model returned an empty response"}


def _tools(name: str, **changes: Any) -> list[JSON]:
    """Today's tools with one of them changed, or `gone=True`."""
    tools = [t | changes if t["name"] == name else t for t in current()["tools"]]
    return [t for t in tools if not t.pop("gone", False)]


SAME = current()
OTHER_DIGEST = current(configurationDigest=ZERO)
ELSEWHERE = current(environmentIdentity="there")
NO_READ = current(tools=_tools("read", gone=True))
READ_REDEFINED = current(tools=_tools("read", definitionDigest=ONE))
READ_UNSAFE = current(tools=_tools("read", replay="never"))
READ_V2 = current(tools=_tools("read", replayKey="builtin:read:v2"))
MISSING_DECLARED = current(
    tools=[*SAME["tools"], SAME["tools"][1] | {"name": "missing"}],
)
FAILED: JSON = {"type": "finish", "outcome": "failed", "error": PROVIDER_ERROR}
CHANGED, MOVED = _blocked("configuration_changed"), _blocked("environment_changed")

# (log, current configuration, plan), in the order of the planner's questions.
PLANS: tuple[tuple[str, JSON, JSON], ...] = (
    ("header-only", SAME, IDLE),
    ("answer-finished", ELSEWHERE, IDLE),
    ("compaction-finished", OTHER_DIGEST, IDLE),
    ("abort-before-attempt", ELSEWHERE, ABORTED),
    ("abort-open-attempt", OTHER_DIGEST, CLOSE),
    ("abort-attempt-closed", SAME, ABORTED),
    (
        "abort-mixed-calls",
        ELSEWHERE,
        _answers("abort-mixed-calls", (0, "interrupted"), (1, "aborted"), (2, "aborted")),
    ),
    ("abort-answered", SAME, ABORTED),
    ("abort-after-answer", SAME, ABORTED),
    ("compaction-aborted", SAME, CLOSE),
    ("prompt-accepted", ELSEWHERE, _step("prompt-accepted")),
    ("compaction-started", SAME, _step("compaction-started", 1, "compaction")),
    ("attempt-open", current(configurationDigest=ZERO, environmentIdentity="there"), CHANGED),
    ("attempt-open", ELSEWHERE, MOVED),
    ("attempt-failed", OTHER_DIGEST, CHANGED),
    ("attempt-failed", ELSEWHERE, MOVED),
    ("attempt-open", SAME, _step("attempt-open", 2)),
    ("compaction-attempt-open", SAME, _step("compaction-attempt-open", 2, "compaction")),
    ("attempt-repeated", SAME, _blocked("attempts_exhausted")),
    ("attempt-repeated", OTHER_DIGEST, CHANGED),
    ("attempt-failed", SAME, FAILED),
    ("compaction-attempt-failed", SAME, FAILED),
    ("compaction-settled", OTHER_DIGEST, _finish("compaction-settled", None)),
    (
        "truncated-calls",
        ELSEWHERE,
        _answers("truncated-calls", (0, "truncated"), (1, "truncated"), (2, "truncated")),
    ),
    ("truncated-calls-answered", SAME, _finish("truncated-calls-answered", "truncated")),
    ("two-turns-then-stop", OTHER_DIGEST, _finish("two-turns-then-stop")),
    ("answer-unfinished", ELSEWHERE, _finish("answer-unfinished")),
    ("blank-answer", SAME, {"type": "finish", "outcome": "failed", "error": EMPTY}),
    ("tool-pending-safe", current(environmentIdentity="there", tools=[]), MOVED),
    ("tool-pending-safe", NO_READ, CHANGED),
    ("tool-pending-safe", READ_REDEFINED, CHANGED),
    ("tool-pending-safe", READ_UNSAFE, _blocked("replay_declaration_changed")),
    ("tool-pending-safe", READ_V2, _blocked("replay_declaration_changed")),
    (
        "tool-pending-safe",
        OTHER_DIGEST,
        _tool("tool-pending-safe", 0, "replay", {"path": "a"}),
    ),
    ("tool-pending-never", SAME, _answers("tool-pending-never", (0, "interrupted"))),
    ("tool-pending-never", NO_READ, CHANGED),
    ("tool-pending-elsewhere", SAME, MOVED),
    (
        "tool-pending-elsewhere",
        ELSEWHERE,
        _answers("tool-pending-elsewhere", (0, "interrupted")),
    ),
    (
        "second-of-three-pending",
        SAME,
        _answers("second-of-three-pending", (1, "interrupted")),
    ),
    (
        "later-call-pending-first",
        SAME,
        _tool("later-call-pending-first", 0, "start", {"path": "a"}),
    ),
    ("answered-out-of-order", SAME, _tool("answered-out-of-order", 0, "start", {"path": "a"})),
    ("tool-called", ELSEWHERE, MOVED),
    ("tool-called", NO_READ, CHANGED),
    ("tool-called", SAME, _tool("tool-called", 0, "start", {"path": "a"})),
    ("only-bad-calls", SAME, _answers("only-bad-calls", (0, "unknownTool"))),
    (
        "only-bad-calls",
        MISSING_DECLARED,
        _tool("only-bad-calls", 0, "start", {"path": "a"}),
    ),
    ("only-bad-calls-answered", SAME, _step("only-bad-calls-answered")),
    ("only-bad-calls-answered", ELSEWHERE, MOVED),
    ("tool-answered", OTHER_DIGEST, _step("tool-answered")),
    (
        "call-id-used-again-in-a-later-turn",
        SAME,
        _tool("call-id-used-again-in-a-later-turn", 0, "replay", {"path": "a"}),
    ),
    ("prompt-after-compaction", SAME, _step("prompt-after-compaction", 2)),
)
