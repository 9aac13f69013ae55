"""Small evidence for tests of the judge: tell a story, get the evidence that it leaves.

    story = Story("deploy it")
    story.launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().effect("deploy").result().attempt().request().reply().finish().end()
    evidence = story.evidence()

Each verb does what a good agent does next: it writes the fact, moves the world, or ends the
launch. `die(point)` kills the launch at its next write. Bad agents are told by leaving a verb out,
by swapping two, or by an argument; the ids, the context and the events follow by themselves.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from chaos.evidence import (
    ABSENT,
    Answered,
    Blobs,
    Effect,
    Ended,
    Event,
    Evidence,
    Exec,
    Facts,
    FileChange,
    Kill,
    Launch,
    LogWrite,
    Request,
    Signal,
)
from chaos.judge import judge
from chaos.judge.history import history_of
from chaos.judge.log import point_name, split_torn
from chaos.points import KillPoint, Phase
from chaos.results import Violation

SYSTEM = "You are careful."
PROBE = "killpoint probe"
COMMAND = 'echo deploy >> "$CHAOS_EFFECTS"'
BASH = ("bash", {"command": COMMAND})
READ = ("read", {"path": "notes.txt"})
WRITE = ("write", {"path": "out.txt", "content": "new"})
INTERRUPTED = (
    "Operation interrupted after execution status became unknown; the tool was not replayed."
)
UNSTARTED = {
    "invalidArguments": "Error: Tool arguments were invalid; the tool was not executed.",
    "unknownTool": "Error: Unknown tool; the tool was not executed.",
    "truncated": "Error: Tool call arguments were truncated by the model token limit; the tool was "
    "not executed.",
    "aborted": "Operation aborted before execution.",
}
CODES = {"completed": 0, "failed": 1, "blocked": 3, "corrupt": 4, "busy": 5, "aborted": 130}
AGENT_PID, TOOL_PID = 100, 200

_ZERO = "sha256:" + "0" * 64
_SNAPSHOT = {
    "adapterIdentity": "chat:v1",
    "model": "test/model",
    "outputOptionsDigest": _ZERO,
    "routingIdentity": "loopback",
    "systemPromptDigest": _ZERO,
    "tools": [{"definitionDigest": _ZERO, "name": name} for name in ("read", "bash", "write")],
}
_DIGEST = (
    "sha256:"
    + hashlib.sha256(
        json.dumps(_SNAPSHOT, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()
)

Fact = dict[str, Any]

UNTOLD = b"{}"  # an answer that is not known yet: the reply that comes of it tells

_MEMORY = (
    "_seq",
    "context",
    "operation",
    "kind",
    "step",
    "attempt_id",
    "boundary",
    "assistant",
    "number",
    "calls",
    "intents",
)


class Story:
    """A lineage in the making. Verbs return the story, so that they read as a sentence."""

    def __init__(self, *prompts: str, files: Mapping[str, str] | None = None, **facts: Any) -> None:
        self.facts = Facts(
            scenario="story",
            dialect="session-v2",
            prompts=prompts,
            probe_prompt=PROBE,
            exit_codes=CODES,
            expect_outcome=None,
            expect_effects={},
            temporary=(".killpoint-tmp-*",),
            secret="sk-secret",
        )
        self.facts = replace(self.facts, **facts)
        self.blobs = Blobs()
        self.log = b""
        self.files = {path: text.encode() for path, text in (files or {}).items()}
        self.state_files: tuple[str, ...] = (".agent/sessions/s.jsonl",)
        self.events: list[Event] = []
        self.launches: list[Launch] = []
        self.planned: list[str] = []
        self._ids = (f"018f0000-0000-7000-8000-{n:012x}" for n in count(1))
        self._seq = 0
        self.context: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None  # the launch that runs
        self._kill: KillPoint | None = None
        self._names: list[tuple[str, str | None]] = []  # of the log calls of this launch
        self._asked = 0
        self.died = False  # this launch met its kill
        self.operation = self.step = self.attempt_id = self.boundary = self.assistant = ""
        self.kind = "run"
        self.number = 0
        self.calls: list[dict[str, Any]] = []  # of the last turn, unanswered first
        self.intents: dict[int, dict[str, Any]] = {}
        self._durable: dict[str, Any] = {}  # the memory above as the log has it
        self._remember()

    # -- launches ---------------------------------------------------------------------------

    def launch(self, role: str, kill: str | None = None) -> Story:
        """The target starts. `kill`: it dies at that point."""
        done = sum(b'"runStarted"' in line for line in self.log.splitlines())
        steps = self.facts.steps or self.facts.prompts
        in_order = {"run": done, "resume": max(done - 1, 0), "compact": done, "abort": done}
        step = in_order.get(role, len(steps))
        self.planned.append(f"{'resume' if role != 'run' else role}: {kill or 'none'}")
        self._kill = KillPoint.parse(kill) if kill else None
        self._names, self._asked, self.died = [], 0, False
        self._open = {
            "index": len(self.launches),
            "role": role,
            "step": step,
            "argv": ("python", "-m", "agent", role),
            "prompt": None,
            "log_before": self.blobs.put(self.log),
            "files_before": self._tree(),
        }
        return self

    def end(self, code: int | None = 0, *, stderr: str = "", **fields: Any) -> Story:
        """The launch is over, to the last of its processes."""
        assert self._open is not None
        known = {
            "exit_code": code,
            "signal": None,
            "killed": False,
            "timed_out": False,
            "seconds": 0.1,
            "log_after": self.blobs.put(self.log),
            "files_after": self._tree(),
            "state_files": self.state_files,
            "stdout": self.blobs.put(b""),
            "stderr": self.blobs.put(stderr.encode()),
        }
        self.launches.append(Launch(**{**self._open, **known, **fields}))
        self._open = None
        return self

    def dead(self, **fields: Any) -> Story:
        """The launch ended by its kill, with what was left of it."""
        return self.end(None, signal=9, killed=True, **fields)

    def idle(self) -> Story:
        """A resume that does nothing."""
        return self.launch("idle").end()

    def probe(self) -> Story:
        """A turn with a tool, then an answer."""
        call = ("bash", {"command": "echo probe"})
        self.launch("probe").prompt(PROBE).attempt().request().reply(call)
        self.intent().effect("probe").result().attempt().request().reply("probe answered")
        return self.finish().end()

    # -- the log ----------------------------------------------------------------------------

    def header(self, cwd: str = "/room/workspace") -> Story:
        """The birth of the session."""
        return self.write(
            {
                "kind": "header",
                "version": 2,
                "id": next(self._ids),
                "createdAt": 1,
                "cwd": cwd,
                "provider": "mock",
                "model": "test/model",
                "environmentIdentity": "/room/workspace",
            }
        )

    def prompt(self, text: str | None = None) -> Story:
        """The prompt is accepted."""
        done = sum(b'"runStarted"' in line for line in self.log.splitlines())
        text = text or self.facts.prompts[done]
        said = self._entry({"message": {"role": "user", "content": text}})
        self.operation, self.boundary = next(self._ids), said["id"]
        self.number, self.step, self.kind = 0, "", "run"
        started = self.record(
            "runStarted", operationKind="run", inputEntryId=said["id"], operationId=self.operation
        )
        self.context.append(said["entry"]["message"])
        return self.write([said, started])

    def attempt(self, number: int = 1) -> Story:
        """A request is announced."""
        if number == 1:
            self.step = next(self._ids)
        self.attempt_id, self.number = next(self._ids), number
        return self.write(
            self.record(
                "stepAttempt",
                stepId=self.step,
                attemptId=self.attempt_id,
                stepKind="assistant" if self.kind == "run" else "compaction",
                attempt=number,
                contextThroughEntryId=self.boundary,
                configurationSnapshot=_SNAPSHOT,
                configurationDigest=_DIGEST,
            )
        )

    def reply(
        self,
        *said: str | tuple[str, Any],
        usage: bool = True,
        stop: str | None = None,
        **changes: Any,
    ) -> Story:
        """The model's reply is durable: a text (default "done"), or calls. Arguments of a call
        that are bytes stand as they are."""
        calls = [
            {
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": call[0], "arguments": _arguments(call[1])},
            }
            for index, call in enumerate(said)
            if isinstance(call, tuple)
        ]
        text = next((part for part in said if isinstance(part, str)), None if calls else "done")
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = calls
        entry = self._entry(
            {
                "stepId": self.step,
                "attemptId": self.attempt_id,
                "stopReason": stop or ("toolUse" if calls else "stop"),
                "message": message,
            }
        )
        self.assistant = self.boundary = entry["id"]
        self.calls, self.intents = calls, {}
        self.context.append(message)
        self._said(message, "length" if stop == "length" else None)
        return self.write([entry, *([self.usage(**changes)] if usage else [])])

    def _said(self, message: Fact, finish: str | None = None) -> None:
        """What the provider said, unless the last request was told its answer."""
        for index, event in reversed(list(enumerate(self.events))):
            if isinstance(event, Request):
                if event.answer == self.blobs.put(UNTOLD):
                    choices = [{"message": message, "finish_reason": finish}]
                    answer = self.blobs.put(json.dumps({"choices": choices}).encode())
                    self.events[index] = replace(event, answer=answer)
                return

    def usage(self, **changes: Any) -> Fact:
        """A usage fact, as `request` reported it."""
        counted = {"input": 11, "output": 3, "cacheRead": 2, "cacheWrite": 0, **changes}
        return {
            "kind": "usage",
            **self._common(),
            "operationId": self.operation,
            "attemptId": self.attempt_id,
            "usage": counted,
        }

    def intent(self, index: int = 0, *, replay: str | None = None) -> Story:
        """A tool is about to start."""
        function = self.calls[index]["function"]
        safe = function["name"] == "read"
        fact = self.record(
            "toolStarted",
            stepId=self.step,
            assistantEntryId=self.assistant,
            toolIndex=index,
            toolCallId=self.calls[index]["id"],
            toolName=function["name"],
            arguments=json.loads(function["arguments"]),
            replay=replay or ("safe" if safe else "never"),
            replayKey=f"builtin:{function['name']}:v1",
            resultEntryId=next(self._ids),
            environmentIdentity="/room/workspace",
        )
        self.intents[index] = fact
        return self.write(fact)

    def result(self, index: int = 0, outcome: str = "success", text: str = "ok") -> Story:
        """A started tool has its result; `interrupted` is made up by a recovery."""
        intent = self.intents[index]
        kind = {"type": outcome}
        if outcome == "interrupted":
            kind, text = {"type": "synthetic", "reason": outcome}, INTERRUPTED
        message = {"role": "tool", "content": text, "tool_call_id": self.calls[index]["id"]}
        entry = self._entry(
            {
                "stepId": self.step,
                "message": message,
                "toolName": self.calls[index]["function"]["name"],
                "toolStartedId": intent["id"],
                "result": kind,
            },
            ident=intent["record"]["resultEntryId"],
        )
        self.boundary = entry["id"]
        self.context.append(message)
        return self.write(entry)

    def unstarted(self, reason: str, index: int = 0) -> Story:
        """A call that never starts has its result."""
        call = self.calls[index]
        text = UNSTARTED[reason]
        message = {"role": "tool", "content": text, "tool_call_id": call["id"]}
        entry = self._entry(
            {
                "stepId": self.step,
                "assistantEntryId": self.assistant,
                "toolIndex": index,
                "message": message,
                "toolName": call["function"]["name"],
                "result": {"type": "synthetic", "reason": reason},
            }
        )
        self.boundary = entry["id"]
        self.context.append(message)
        return self.write(entry)

    def step_failed(self, code: str = "provider_error") -> Story:
        """The provider's error is durable."""
        error = {"code": code, "message": "500"}
        fact = self.record("stepFailed", stepId=self.step, attemptId=self.attempt_id, error=error)
        return self.write(fact)

    def abort(self, phase: str = "model", **where: str) -> Story:
        """The abort is durable."""
        how = {"operationKind": self.kind, "phase": phase, "reason": "escape", **where}
        return self.write(self.record("abortRequested", **how))

    def finish(self, outcome: str = "completed") -> Story:
        """The terminal fact."""
        how: dict[str, Any] = {
            "completed": {"completion": "normal", "finalEntryId": self.boundary},
            "failed": {"error": {"code": "provider_error", "message": "500"}},
        }.get(outcome, {})
        if self.kind == "compaction" and outcome == "completed":
            how = {"finalEntryId": self.summary_id}
        fact = self.record("operationFinished", operationKind=self.kind, outcome=outcome, **how)
        return self.write(fact)

    def compact(self, keep: int) -> Story:
        """A compaction begins that keeps the last messages."""
        said = [(turn.fact.id or "", dict(turn.message)) for turn in history_of(self.log).turns]
        self._sources: list[Fact] = [
            {"sourceEntryId": ident, "message": message} for ident, message in said
        ]
        ids, cut = [ident for ident, _ in said], len(said) - keep
        self.operation, self.kind, self.step, self._kept = next(self._ids), "compaction", "", keep
        self.summary_id, self._through = next(self._ids), ids[cut - 1]
        canonical = json.dumps(self._sources, sort_keys=True, separators=(",", ":"))
        return self.write(
            self.record(
                "compactionStarted",
                operationKind="compaction",
                inputThroughEntryId=ids[-1],
                resultEntryId=self.summary_id,
                compactedEntryIds=ids[:cut],
                retainedEntryIds=ids[cut:],
                sourceDigest="sha256:" + hashlib.sha256(canonical.encode()).hexdigest(),
            )
        )

    def summarised(self, text: str = "what was said", *, usage: bool = True) -> Story:
        """The summary is durable, with what it cost."""
        tail = self._sources[len(self._sources) - self._kept :]
        cost = [self.usage()] if usage else []
        entry = {
            "type": "compaction",
            "operationId": self.operation,
            "summary": text,
            "compactedThroughEntryId": self._through,
            "retainedTail": tail,
        }
        fact = {"kind": "entry", **self._common(), "id": self.summary_id, "entry": entry}
        self.context = [{"role": "user", "content": f"[Compacted history]\n{text}"}]
        self.context += [source["message"] for source in tail]
        self._said({"role": "assistant", "content": text})
        return self.write([*cost, fact])

    def record(self, kind: str, **body: Any) -> Fact:
        """A record fact, not written yet."""
        body = {"type": kind, "operationId": self.operation, **body}
        return {"kind": "record", **self._common(), "record": body}

    def _entry(self, body: Mapping[str, Any], ident: str | None = None) -> Fact:
        entry = {"type": "message", **body}
        return {
            "kind": "entry",
            **self._common(),
            **({"id": ident} if ident else {}),
            "entry": entry,
        }

    def _common(self) -> dict[str, Any]:
        self._seq += 1
        return {"seq": self._seq, "id": next(self._ids), "timestamp": self._seq}

    def _remember(self) -> None:
        self._durable = copy.deepcopy({name: getattr(self, name) for name in _MEMORY})

    def _forget(self) -> None:
        """A kill takes what was not durable: the next launch starts from the log."""
        for name, value in copy.deepcopy(self._durable).items():
            setattr(self, name, value)

    # -- system calls on the log ------------------------------------------------------------

    def write(self, transaction: object) -> Story:
        """One line in one write."""
        return self.append(json.dumps(transaction, ensure_ascii=False).encode() + b"\n")

    def append(self, data: bytes) -> Story:
        """Bytes at the end of the log; here the planned kill happens."""
        assert not self.died, "a dead target writes nothing"
        before = self.log
        self._names.append(point_name(split_torn(before)[1] + data))
        point = self._kill if self._kill and self._reached(self._kill) else None
        kept = len(data) if point is None else _kept(point, len(data))
        self.log = before + data[:kept]
        returned = None if point and point.phase is Phase.BEFORE else kept
        self._log_write("write", len(before), len(data), returned)
        if kept == len(data):
            self._remember()
        else:
            self._forget()
        if point is None:
            return self
        self.died = True
        self.event(
            Kill,
            point=str(point),
            call="write",
            pid=AGENT_PID,
            tid=AGENT_PID,
            offset=len(before),
            length=len(data),
            kept=kept,
            returned=returned,
            before=self.blobs.put(before),
            payload=self.blobs.put(data),
            after=self.blobs.put(self.log),
            log=self.blobs.put(self.log),
            wait_status=9,
        )
        return self

    def cut(self, size: int | None = None) -> Story:
        """An ftruncate: of the torn tail, or to `size`."""
        self.log = split_torn(self.log)[0] if size is None else self.log[:size]
        self._names.append(("ftruncate", None))
        self._log_write("ftruncate", -1, 0, 0)
        return self

    def overwrite(self, log: bytes) -> Story:
        """The log is replaced as a whole."""
        self.log = log
        self._names.append(("rename", None))
        self._log_write("rename", -1, 0, 0)
        return self

    def _log_write(self, call: str, offset: int, length: int, returned: int | None) -> None:
        name, tool = self._names[-1]
        ordinal = self._names.count((name, tool))
        self.event(
            LogWrite,
            pid=AGENT_PID,
            call=call,
            point=f"log:{name}{f'[{tool}]' if tool else ''}#{ordinal}",
            position=len(self._names),
            offset=offset,
            length=length,
            returned=returned,
            log=self.blobs.put(self.log),
        )

    def _reached(self, point: KillPoint) -> bool:
        if point.name is None:
            return len(self._names) == point.ordinal
        name, tool = self._names[-1]
        same = [n for n in self._names if n[0] == name and point.detail in (None, n[1])]
        return name == point.name and point.detail in (None, tool) and len(same) == point.ordinal

    # -- the world --------------------------------------------------------------------------

    def event(self, kind: Any, **fields: Any) -> Story:
        """Any event, now."""
        assert self._open is not None
        where = {"order": len(self.events) + 1, "launch": self._open["index"], "at_ms": 0.0}
        self.events.append(kind(**where, **fields))
        return self

    def request(
        self,
        messages: list[Any] | None = None,
        *,
        system: str | None = SYSTEM,
        body: bytes | None = None,
        **fields: Any,
    ) -> Story:
        """A request arrives at the provider and is answered. `messages`: not the context."""
        self._asked += 1
        sent = [{"role": "system", "content": system}] if system else []
        sent += self.context if messages is None else messages
        known = {
            "ordinal": self._asked,
            "method": "POST",
            "path": "/v1/chat/completions",
            "body": self.blobs.put(
                json.dumps({"model": "test/model", "messages": sent}).encode()
                if body is None
                else body
            ),
            "log": self.blobs.put(self.log),
            "status": 200,
            "reason": "",
            "answer": self.blobs.put(UNTOLD),
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "cached_tokens": 2},
        }
        self.event(Request, **{**known, **fields})
        return self.event(Answered, ordinal=self._asked, complete=True)

    def held(self, **fields: Any) -> Story:
        """A request arrives, and its answer is held back."""
        self.request(status=0, reason="injected provider:hold", injected=True, usage=None, **fields)
        self.events.pop()
        return self

    def cut_off(self) -> Story:
        """The last request is cancelled."""
        return self.event(Answered, ordinal=self._asked, complete=False)

    def signal(self, at: str = "provider:1/request", name: str = "INT") -> Story:
        """The schedule sends a signal."""
        log = self.blobs.put(self.log)
        return self.event(Signal, pid=AGENT_PID, name=name, at=at, log=log)

    def ended(self) -> Story:
        """The tool is ended by a signal."""
        return self.event(Ended, pid=TOOL_PID, argv=("sh", "-c", COMMAND), signal=15)

    def effect(self, name: str = "deploy", *, holds_log: bool = False) -> Story:
        """A tool appends a line to the effect journal."""
        return self.event(
            Effect,
            pid=TOOL_PID,
            argv=("sh", "-c", COMMAND),
            name=name,
            log=self.blobs.put(self.log),
            holds_log=holds_log,
            point=f"effect:{name}#{self._done(Effect, name) + 1}",
        )

    def _done(self, kind: type[Effect], name: str) -> int:
        """How often the running launch had it."""
        assert self._open is not None
        events = (e for e in self.events if isinstance(e, kind))
        return sum(e.name == name and e.launch == self._open["index"] for e in events)

    def exec(self, *argv: str) -> Story:
        """A process of the tree begins a program."""
        argv = argv or ("sh", "-c", COMMAND)
        return self.event(Exec, pid=TOOL_PID, argv=argv, log=self.blobs.put(self.log))

    def change(
        self, path: str, text: str | None, call: str = "rename", pid: int = AGENT_PID
    ) -> Story:
        """A workspace file changes; None: it goes."""
        before = self._content(path)
        self.files.pop(path, None)
        if text is not None:
            self.files[path] = text.encode()
        return self.event(
            FileChange,
            pid=pid,
            call=call,
            path=path,
            before=before,
            after=self._content(path),
            log=self.blobs.put(self.log),
        )

    def _content(self, path: str) -> str:
        return self.blobs.put(self.files[path]) if path in self.files else ABSENT

    def _tree(self) -> dict[str, str]:
        return {path: self.blobs.put(data) for path, data in self.files.items()}

    # -- the evidence -----------------------------------------------------------------------

    def evidence(self, *references: Evidence, **fields: Any) -> Evidence:
        """All that the story left."""
        known: dict[str, Any] = {
            "schedule": "; ".join(self.planned),
            "facts": self.facts,
            "launches": tuple(self.launches),
            "events": tuple(self.events),
            "blobs": self.blobs,
            "references": references,
        }
        return Evidence(**{**known, **fields})


def _arguments(said: Any) -> str:
    return said.decode() if isinstance(said, bytes) else json.dumps(said)


def _kept(point: KillPoint, length: int) -> int:
    return {Phase.BEFORE: 0, Phase.TORN: point.part or 0, Phase.AFTER: length}[point.phase]


# -- stories that tests start from -------------------------------------------------------------


def plain(**facts: Any) -> Story:
    """One prompt, one answer; idle and probe are still to come."""
    story = Story("say it", **facts)
    story.launch("run").header().prompt().attempt().request().reply("said").finish().end()
    return story


def deploy(**facts: Any) -> Story:
    """One bash call with one effect; idle and probe are still to come."""
    story = Story("deploy it", **facts)
    story.launch("run").header().prompt().attempt().request().reply(BASH)
    story.intent().exec().effect().result()
    return story.attempt().request().reply("deployed").finish().end()


def killed_deploy(point: str = "log:toolResult[bash]#1/before", **facts: Any) -> Story:
    """The same, dead before the result is durable; a resume is still to come."""
    story = Story("deploy it", **facts)
    story.launch("run", point).header().prompt().attempt().request().reply(BASH)
    story.intent().exec().effect().result()
    return story.dead()


def live(story: Story) -> Story:
    """A correct agent that was asked to deploy: it reads its log and does what is next, until its
    operation is over, or it is blocked, or dead. One loop for a first run and a resume."""
    mine: set[str | None] = set()  # attempts of this launch
    while not story.died:
        history = history_of(story.log)
        operation, asking = history.last_operation, history.open_attempt
        todo = [call for call in history.calls if call.result is None]
        if history.view.torn:
            story.cut()
        elif history.view.header is None:
            story.header()
        elif operation is None:
            story.prompt()
        elif operation.finished:
            return story.end()
        elif asking and asking.id in mine:
            story.request().reply("deployed" if history.calls else BASH)
        elif asking and asking.number == 2:
            return story.end(3, stderr="blocked: attempts_exhausted")
        elif todo and todo[0].intent:
            story.result(outcome="interrupted")
        elif todo:
            story.intent()
            if not story.died:
                story.exec().effect().result()
        elif not asking and history.turns[-1].fact.type == "assistant":
            story.finish()
        else:
            story.attempt(2 if asking else 1)
            mine.add(story.attempt_id)
    return story.dead()


def messages(violations: list[Violation]) -> list[str]:
    """`ID: message` of each, as tests compare them."""
    return [f"{violation.id}: {violation.message}" for violation in violations]


def broken(evidence: Evidence) -> list[str]:
    """What the judge says of it."""
    return messages(judge(evidence))


def ids(evidence: Evidence) -> list[str]:
    """The rules that it breaks."""
    return [violation.id for violation in judge(evidence)]
