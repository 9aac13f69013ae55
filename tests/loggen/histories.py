"""Random legal histories: what a correct agent could have left behind, cut at any transaction.

Plain answers, tool turns with parallel calls, second attempts, live failures, truncated replies,
blank replies, aborts in each phase, chained compactions, usage early, late or never.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.loggen.render import Line, digest
from tests.loggen.writer import Fact, Writer

TEXT = {
    "invalidArguments": "Error: Tool arguments were invalid; the tool was not executed.",
    "unknownTool": "Error: Unknown tool; the tool was not executed.",
    "truncated": "Error: Tool call arguments were truncated by the model token limit; "
    "the tool was not executed.",
    "aborted": "Operation aborted before execution.",
    "interrupted": "Operation interrupted after execution status became unknown; "
    "the tool was not replayed.",
}
_WORDS = [
    "inspect",
    "done",
    "ok\n",
    "línea",
    "🚀 go",
    "a\u2028b",
    '"quoted"',
    "nul\u0000",
    "\\u0041",
]


def history(rng: random.Random) -> list[Line]:
    """The lines of a legal log, the header first."""
    return _Session(rng).write()


class _Session(Writer):
    """Writes whole operations, one after another."""

    def write(self) -> list[Line]:
        rng = self.rng
        self.lines.append(
            {
                "kind": "header",
                "version": 2,
                "id": self.new_id(),
                "createdAt": self.clock,
                "cwd": "/w",
                "provider": "openrouter",
                "model": "m",
                "environmentIdentity": "/w",
            }
        )
        for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3])):
            self.run()
            if self.messages and rng.random() < 0.35:
                self.compact()
            while self.late and rng.random() < 0.7:
                self.put(self.late.pop()())
            if rng.random() < 0.2:
                self.snapshot = self.some_snapshot()
        if rng.random() < 0.3:
            del self.lines[rng.randrange(1, len(self.lines) + 1) :]
        return self._merged()

    # --- steps -----------------------------------------------------------------------------------

    def attempt(self, kind: str, number: int = 1) -> None:
        if number == 1:
            self.step = {"stepId": self.new_id(), "context": self.messages[-1][0]}
        self.step["attemptId"] = self.new_id()
        self.put(
            self.record(
                "stepAttempt",
                stepId=self.step["stepId"],
                attemptId=self.step["attemptId"],
                stepKind=kind,
                attempt=number,
                contextThroughEntryId=self.step["context"],
                configurationSnapshot=copy.deepcopy(self.snapshot),
                configurationDigest=digest(self.snapshot),
            )
        )
        if number == 1 and self.rng.random() < 0.2:
            self.attempt(kind, 2)

    def close(self, code: str) -> None:
        error = {"code": code, "message": "why"}
        self.put(self.record("stepFailed", **self.names(), error=error))
        if self.rng.random() < 0.3:
            self.put(self.usage(attemptId=self.step["attemptId"]))

    def names(self) -> Fact:
        return {"stepId": self.step["stepId"], "attemptId": self.step["attemptId"]}

    def abort(self, kind: str, phase: str, **call: str) -> None:
        self.put(
            self.record("abortRequested", operationKind=kind, phase=phase, **call, reason="escape")
        )

    def finish(self, kind: str, outcome: str, **more: Any) -> None:
        if outcome == "failed":
            more["error"] = {"code": "failed", "message": "why"}
        self.put(self.record("operationFinished", operationKind=kind, outcome=outcome, **more))

    # --- a run -----------------------------------------------------------------------------------

    def run(self) -> None:
        rng = self.rng
        self.operation = self.new_id()
        prompt = self.message({"role": "user", "content": rng.choice(_WORDS)})
        self.put(prompt, self.record("runStarted", operationKind="run", inputEntryId=prompt["id"]))
        while True:
            if rng.random() < 0.05:
                self.abort("run", "model")
                return self.finish("run", "aborted")
            self.attempt("assistant")
            fate = rng.random()
            if fate < 0.08:
                self.close("provider_error")
                return self.finish("run", "failed")
            if fate < 0.16:
                self.abort("run", "model")
                self.close("aborted")
                return self.finish("run", "aborted")
            if fate < 0.45:
                return self.answer()
            if self.tool_turn():
                return None

    def answer(self) -> None:
        content = self.rng.choice([*_WORDS, "", " \n", None])
        entry = self.reply("stop", {"role": "assistant", "content": content})
        if self.rng.random() < 0.1:
            self.abort("run", "model")
            return self.finish("run", "aborted")
        if not (content or "").strip():
            return self.finish("run", "failed")
        return self.finish("run", "completed", completion="normal", finalEntryId=entry)

    def reply(self, stop: str, message: Fact) -> str:
        entry = self.message(message, **self.names(), stopReason=stop)
        attempt_id, fate = self.step["attemptId"], self.rng.random()
        if fate < 0.6:
            self.put(entry, self.usage(attemptId=attempt_id))
        else:
            self.put(entry)
            if fate < 0.8:
                self.usage_later(attemptId=attempt_id)
        return str(entry["id"])

    def tool_turn(self) -> bool:
        """One reply with calls and their results. True where it ended the run."""
        rng = self.rng
        offered = [tool["name"] for tool in self.snapshot["tools"]]
        calls: list[Fact] = [
            {
                "id": f"call_{index}",
                "type": "function",
                "function": {
                    "name": rng.choice([*offered, *offered, "missing"]),
                    "arguments": rng.choice(['{"path":"a"}', '{"path":"a"}', "{}", "[1", "null"]),
                },
            }
            for index in range(rng.choice([1, 1, 2, 3]))
        ]
        content = rng.choice([None, None, "let me see", ""])
        stop = "length" if rng.random() < 0.12 else "toolUse"
        entry = self.reply(stop, {"role": "assistant", "content": content, "tool_calls": calls})
        todo = list(enumerate(calls))
        if stop == "length":
            self.unstarted(entry, todo, "truncated")
            self.finish("run", "completed", completion="truncated", finalEntryId=entry)
            return True
        pending: list[tuple[Fact, Fact]] = []
        while todo or pending:
            if rng.random() < 0.06:
                self.abort_tools(entry, todo, pending)
                return True
            if pending and (not todo or rng.random() < 0.7):
                self.result(*pending.pop(0))
                continue
            index, call = todo.pop(0)
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            if name == "missing":
                self.unstarted(entry, [(index, call)], "unknownTool")
            elif not arguments.startswith("{"):
                self.unstarted(entry, [(index, call)], "invalidArguments")
            else:
                pending.append((call, self.intent(entry, index, call)))
        return False

    def intent(self, entry: str, index: int, call: Fact) -> Fact:
        name = call["function"]["name"]
        safe = name == "read" and self.rng.random() < 0.8
        fact = self.record(
            "toolStarted",
            stepId=self.step["stepId"],
            assistantEntryId=entry,
            toolIndex=index,
            toolCallId=call["id"],
            toolName=name,
            arguments=self.rng.choice([{"path": "a"}, {}, {"deep": [{"n": 1.5}, None, -3]}]),
            replay="safe" if safe else "never",
            replayKey=f"builtin:{name}:v1",
            resultEntryId=self.new_id(),
            environmentIdentity="/w",
        )
        self.put(fact)
        return fact

    def result(self, call: Fact, intent: Fact, kind: str = "") -> None:
        kind = kind or self.rng.choice(["success", "success", "error", "interrupted"])
        plain = kind != "interrupted"
        fact = self.message(
            {
                "role": "tool",
                "content": self.rng.choice(_WORDS) if plain else TEXT[kind],
                "tool_call_id": call["id"],
            },
            intent["record"]["resultEntryId"],
            stepId=intent["record"]["stepId"],
            toolName=call["function"]["name"],
            toolStartedId=intent["id"],
            result={"type": kind} if plain else {"type": "synthetic", "reason": kind},
        )
        if self.rng.random() < 0.1:
            self.put(fact, self.usage(toolStartedId=intent["id"]))
        else:
            self.put(fact)

    def unstarted(self, entry: str, calls: list[tuple[int, Fact]], reason: str) -> None:
        facts = [
            self.message(
                {"role": "tool", "content": TEXT[reason], "tool_call_id": call["id"]},
                stepId=self.step["stepId"],
                assistantEntryId=entry,
                toolIndex=index,
                toolName=call["function"]["name"],
                result={"type": "synthetic", "reason": reason},
            )
            for index, call in calls
        ]
        if facts and self.rng.random() < 0.5:
            self.put(*facts)
        else:
            for fact in facts:
                self.put(fact)

    def abort_tools(
        self, entry: str, todo: list[tuple[int, Fact]], pending: list[tuple[Fact, Fact]]
    ) -> None:
        target = pending[0][0] if pending else todo[0][1]
        self.abort("run", "tool", toolCallId=target["id"])
        for call, intent in pending:
            self.result(call, intent, "interrupted")
        self.unstarted(entry, todo, "aborted")
        self.finish("run", "aborted")

    # --- a compaction ----------------------------------------------------------------------------

    def compact(self) -> None:
        rng = self.rng
        cuts = [
            at
            for at in range(1, len(self.messages) + 1)
            if at == len(self.messages) or self.messages[at][1]["role"] != "tool"
        ]
        cut = rng.choice(cuts)
        through = self.messages[-1][0]
        sources = [{"sourceEntryId": name, "message": m} for name, m in self.messages]
        self.operation, result = self.new_id(), self.new_id()
        self.put(
            self.record(
                "compactionStarted",
                operationKind="compaction",
                inputThroughEntryId=through,
                resultEntryId=result,
                compactedEntryIds=[name for name, _ in self.messages[:cut]],
                retainedEntryIds=[name for name, _ in self.messages[cut:]],
                sourceDigest=digest(sources),
            )
        )
        if rng.random() < 0.1:
            self.abort("compaction", "compact")
            return self.finish("compaction", "aborted")
        self.attempt("compaction")
        fate = rng.random()
        if fate < 0.15:
            self.close("provider_error")
            return self.finish("compaction", "failed")
        if fate < 0.3:
            self.abort("compaction", "compact")
            self.close("aborted")
            return self.finish("compaction", "aborted")
        entry = self.fact(
            "entry",
            {
                "type": "compaction",
                "operationId": self.operation,
                "summary": rng.choice(_WORDS),
                "compactedThroughEntryId": self.messages[cut - 1][0],
                "retainedTail": copy.deepcopy(sources[cut:]),
            },
            result,
        )
        self.put(entry, self.usage(attemptId=self.step["attemptId"]))
        return self.finish("compaction", "completed", finalEntryId=result)

    def _merged(self) -> list[Line]:
        """Some neighbours written as one transaction, which is as legal."""
        merged = self.lines[:1]
        for line in self.lines[1:]:
            if len(merged) > 1 and self.rng.random() < 0.08:
                before = merged.pop()
                facts = before if isinstance(before, list) else [before]
                merged.append([*facts, *(line if isinstance(line, list) else [line])])
            else:
                merged.append(line)
        return merged
