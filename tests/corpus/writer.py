"""Writes small session logs that read like the story they tell.

`Log` numbers facts, hands out ids and remembers what the next fact has to name, so that a test
says only what matters to it. It imports nothing of the agent: a log written here is a second
opinion on the format. Every fact method takes `**changes` to spoil the fact's own body; the value
`GONE` takes a key out.
"""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

JSON = dict[str, Any]

ZERO = "sha256:" + "0" * 64
ONE = "sha256:" + "1" * 64
SYNTHETIC = {
    "invalidArguments": "Error: Tool arguments were invalid; the tool was not executed.",
    "unknownTool": "Error: Unknown tool; the tool was not executed.",
    "truncated": "Error: Tool call arguments were truncated by the model token limit; "
    "the tool was not executed.",
    "aborted": "Operation aborted before execution.",
    "interrupted": "Operation interrupted after execution status became unknown; "
    "the tool was not replayed.",
}
SNAPSHOT: JSON = {
    "model": "test/model",
    "systemPromptDigest": ZERO,
    "tools": [
        {"name": "read", "definitionDigest": ZERO},
        {"name": "bash", "definitionDigest": ONE},
    ],
    "adapterIdentity": "test:v1",
    "routingIdentity": "test/model",
    "outputOptionsDigest": ZERO,
}
GONE = object()  # a change that takes the key out


def canonical(value: Any) -> bytes:
    """RFC 8785 for what logs hold under a digest: ASCII keys, no numbers."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def digest(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


DIGEST = digest(SNAPSHOT)


def uid(number: int) -> str:
    """The UUIDv7 of that number."""
    return f"01900000-0000-7000-8000-{number:012x}"


def call(id_: str, name: str = "read", arguments: str = '{"path":"a"}') -> JSON:
    """A tool call as a model makes it."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def current(**changes: Any) -> JSON:
    """A current configuration under which nothing has changed since the logs were written."""
    return {
        "configurationDigest": DIGEST,
        "environmentIdentity": "here",
        "tools": [
            {
                "name": "read",
                "definitionDigest": ZERO,
                "replay": "safe",
                "replayKey": "builtin:read:v1",
            },
            {
                "name": "bash",
                "definitionDigest": ONE,
                "replay": "never",
                "replayKey": "builtin:bash:v1",
            },
        ],
    } | changes


def _changed(body: JSON, changes: JSON) -> JSON:
    return {k: v for k, v in (body | changes).items() if v is not GONE}


class Log:
    """A log under construction. Fact methods return the log, so that they chain."""

    def __init__(self, **changes: Any) -> None:
        self.last = 1  # number of the last id handed out
        self.seq = 0
        header = {
            "kind": "header",
            "version": 2,
            "id": uid(1),
            "createdAt": 1_700_000_000_000,
            "cwd": "/home/me/project",
            "provider": "test",
            "model": "test/model",
            "environmentIdentity": "here",
        }
        self.lines: list[bytes] = [json.dumps(_changed(header, changes)).encode()]
        self.messages: list[tuple[str, JSON]] = []
        self.operation = self.step = self.attempt = self.reply_id = ""
        self.kind = "run"
        self.calls: list[JSON] = []
        self.intents: dict[int, JSON] = {}
        self.compaction: JSON = {}
        self._open: list[JSON] | None = None

    # -- writing -----------------------------------------------------------------------------

    def new(self) -> str:
        """A fresh id."""
        self.last += 1
        return uid(self.last)

    def together(self) -> Log:
        """The facts up to `end` are one transaction."""
        self._open = []
        return self

    def end(self) -> Log:
        facts, self._open = self._open, None
        return self.line(facts)

    def line(self, value: Any) -> Log:
        """A complete line with this JSON value."""
        self.lines.append(json.dumps(value, ensure_ascii=False).encode())
        return self

    def raw(self, line: bytes) -> Log:
        """A complete line of these bytes."""
        self.lines.append(line)
        return self

    def fact(self, kind: str, body: JSON, id_: str | None = None, /, **envelope: Any) -> Log:
        self.seq += 1
        fact = {"kind": kind, "seq": self.seq, "id": id_ or self.new(), "timestamp": self.seq}
        fact |= body if kind == "usage" else {kind: body}
        fact = _changed(fact, envelope)
        if self._open is None:
            return self.line(fact)
        self._open.append(fact)
        return self

    def data(self, tail: bytes = b"") -> bytes:
        """The file: every line with its LF, then a torn tail."""
        return b"".join(line + b"\n" for line in self.lines) + tail

    # -- facts -------------------------------------------------------------------------------

    def _message(self, id_: str, body: JSON, changes: JSON) -> Log:
        body = _changed(body, changes)
        self.messages.append((id_, body["message"]))
        return self.fact("entry", body, id_)

    def _record(self, type_: str, body: JSON, changes: JSON, id_: str | None = None) -> Log:
        body = {"type": type_, "operationId": self.operation} | body
        return self.fact("record", _changed(body, changes), id_)

    def user(self, content: str = "hello", **changes: Any) -> Log:
        message = {"role": "user", "content": content}
        return self._message(self.new(), {"type": "message", "message": message}, changes)

    def run(self, content: str = "hello", **changes: Any) -> Log:
        """A prompt is accepted: user message and `runStarted` in one transaction."""
        return self.together().user(content).started(**changes).end()

    def started(self, **changes: Any) -> Log:
        self.operation, self.kind = self.new(), "run"
        body = {"operationKind": "run", "inputEntryId": self.boundary}
        return self._record("runStarted", body, changes)

    def tried(self, attempt: int = 1, **changes: Any) -> Log:
        """A `stepAttempt`: the request is about to be sent."""
        if attempt == 1:
            self.step = self.new()
        self.attempt = self.new()
        body = {
            "stepId": self.step,
            "attemptId": self.attempt,
            "stepKind": "assistant" if self.kind == "run" else "compaction",
            "attempt": attempt,
            "contextThroughEntryId": self.boundary,
            "configurationSnapshot": copy.deepcopy(SNAPSHOT),
            "configurationDigest": DIGEST,
        }
        return self._record("stepAttempt", body, changes)

    def failed(self, code: str = "http_500", **changes: Any) -> Log:
        """A `stepFailed`."""
        error = {"code": code, "message": "the provider said so"}
        body = {"stepId": self.step, "attemptId": self.attempt, "error": error}
        return self._record("stepFailed", body, changes)

    def reply(
        self, content: str | None = "done", *calls: JSON, stop: str = "", **changes: Any
    ) -> Log:
        """An assistant message; its stop reason follows from its calls."""
        message: JSON = {"role": "assistant", "content": content}
        if calls:
            message["tool_calls"] = list(calls)
        self.reply_id, self.calls, self.intents = self.new(), list(calls), {}
        body = {
            "type": "message",
            "stepId": self.step,
            "attemptId": self.attempt,
            "stopReason": stop or ("toolUse" if calls else "stop"),
            "message": message,
        }
        return self._message(self.reply_id, body, changes)

    def asked(self, *calls: JSON, stop: str = "toolUse") -> Log:
        """A run whose first reply makes these calls."""
        return self.run().tried().reply(None, *(calls or (call("c0"),)), stop=stop)

    def intent(self, index: int = 0, replay: str = "never", **changes: Any) -> Log:
        """A `toolStarted` for a call of the last reply."""
        made = self.calls[index]
        name = made["function"]["name"]
        self.intents[index] = intent = {
            "id": self.new(),
            "result": self.new(),
            "name": name,
            "call": made["id"],
        }
        body = {
            "stepId": self.step,
            "assistantEntryId": self.reply_id,
            "toolIndex": index,
            "toolCallId": made["id"],
            "toolName": name,
            "arguments": {"path": "a"},
            "replay": replay,
            "replayKey": f"builtin:{name}:v1",
            "resultEntryId": intent["result"],
            "environmentIdentity": "here",
        }
        return self._record("toolStarted", body, changes, intent["id"])

    def result(self, index: int = 0, content: str = "fine", id_: str = "", **changes: Any) -> Log:
        """The result of a started call; `result={…}` for another than success."""
        intent = self.intents[index]
        body = {
            "type": "message",
            "stepId": self.step,
            "message": {"role": "tool", "content": content, "tool_call_id": intent["call"]},
            "toolName": intent["name"],
            "toolStartedId": intent["id"],
            "result": {"type": "success"},
        }
        return self._message(id_ or intent["result"], body, changes)

    def interrupted(self, index: int = 0, content: str = SYNTHETIC["interrupted"]) -> Log:
        result = {"type": "synthetic", "reason": "interrupted"}
        return self.result(index, content, result=result)

    def unstarted(self, reason: str, index: int = 0, content: str = "", **changes: Any) -> Log:
        """The result of a call that never started."""
        made = self.calls[index]
        text = content or SYNTHETIC[reason]
        body = {
            "type": "message",
            "stepId": self.step,
            "assistantEntryId": self.reply_id,
            "toolIndex": index,
            "message": {"role": "tool", "content": text, "tool_call_id": made["id"]},
            "toolName": made["function"]["name"],
            "result": {"type": "synthetic", "reason": reason},
        }
        return self._message(self.new(), body, changes)

    def used(self, input_: int = 7, **changes: Any) -> Log:
        """Usage of the last attempt."""
        counters = {"input": input_, "output": 3, "cacheRead": 2, "cacheWrite": 1}
        body = {"operationId": self.operation, "attemptId": self.attempt, "usage": counters}
        return self.fact("usage", _changed(body, changes))

    def abort(self, phase: str = "model", **changes: Any) -> Log:
        body = {"operationKind": self.kind, "phase": phase, "reason": "escape"}
        return self._record("abortRequested", body, changes)

    def finish(self, outcome: str = "completed", **changes: Any) -> Log:
        """`operationFinished`, with what its outcome needs."""
        body: JSON = {"operationKind": self.kind, "outcome": outcome}
        if outcome == "completed":
            body["finalEntryId"] = self.reply_id
            if self.kind == "run":
                body["completion"] = "normal"
        if outcome == "failed":
            body["error"] = {"code": "http_500", "message": "the provider said so"}
        return self._record("operationFinished", body, changes)

    def answered(self, prompt: str = "hello", answer: str = "done") -> Log:
        """A whole run without tools."""
        return self.run(prompt).tried().reply(answer).finish()

    def compact(self, retained: int = 0, **changes: Any) -> Log:
        """A `compactionStarted` that keeps the last `retained` messages."""
        self.operation, self.kind = self.new(), "compaction"
        ids = [id_ for id_, _ in self.messages]
        cut = len(ids) - retained
        self.compaction = {"result": self.new(), "through": ids[cut - 1], "cut": cut}
        sources = [{"sourceEntryId": id_, "message": m} for id_, m in self.messages]
        body = {
            "operationKind": "compaction",
            "inputThroughEntryId": self.boundary,
            "resultEntryId": self.compaction["result"],
            "compactedEntryIds": ids[:cut],
            "retainedEntryIds": ids[cut:],
            "sourceDigest": digest(sources),
        }
        return self._record("compactionStarted", body, changes)

    def summary(self, text: str = "what was said", id_: str = "", **changes: Any) -> Log:
        """The compaction entry."""
        self.reply_id = self.compaction["result"]
        tail = self.messages[self.compaction["cut"] :]
        body = {
            "type": "compaction",
            "operationId": self.operation,
            "summary": text,
            "compactedThroughEntryId": self.compaction["through"],
            "retainedTail": [{"sourceEntryId": i, "message": m} for i, m in tail],
        }
        return self.fact("entry", _changed(body, changes), id_ or self.reply_id)

    @property
    def boundary(self) -> str:
        """The id of the last message entry."""
        return self.messages[-1][0] if self.messages else uid(0)
