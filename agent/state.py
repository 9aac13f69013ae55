"""What a session log adds up to: the state that the reducer builds and the planner reads.

Pure data. `to_json` prints exactly the shape of the expected-state schema; the state carries more
than it prints (the boundary, the turn with its answered calls, the error of a failed step),
because a planner that works from the printed part alone gets the boundary wrong.

`SessionState` is live: the reducer goes on changing it. Only the reducer may (through its journal,
so that a refused line changes nothing). Source: session contract, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.facts import JSONObject, Message

COUNTERS = ("input", "output", "cacheRead", "cacheWrite")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of the log. `created_at` in milliseconds."""

    id: str
    created_at: int
    cwd: str
    provider: str
    model: str
    environment_identity: str

    def to_json(self) -> JSONObject:
        return {
            "id": self.id,
            "createdAt": self.created_at,
            "cwd": self.cwd,
            "provider": self.provider,
            "model": self.model,
            "environmentIdentity": self.environment_identity,
        }


@dataclass(slots=True)
class Step:
    """The latest attempt of the operation's current step."""

    operation_id: str
    step_id: str
    attempt_id: str
    attempt: int  # 1 | 2
    step_kind: str  # assistant | compaction
    context_through_entry_id: str
    configuration_snapshot: JSONObject
    configuration_digest: str
    status: str = "attempting"  # attempting | settled | failed
    settled_entry_id: str | None = None
    stop_reason: str | None = None  # stop | toolUse | length, of a settled assistant step
    error: JSONObject | None = None  # of a failed step; not printed

    @property
    def open(self) -> bool:
        """No reply and no failure is durable yet."""
        return self.status == "attempting"

    def to_json(self) -> JSONObject:
        printed: JSONObject = {
            "operationId": self.operation_id,
            "stepId": self.step_id,
            "attemptId": self.attempt_id,
            "attempt": self.attempt,
            "stepKind": self.step_kind,
            "status": self.status,
            "contextThroughEntryId": self.context_through_entry_id,
            "configurationSnapshot": self.configuration_snapshot,
            "configurationDigest": self.configuration_digest,
        }
        if self.settled_entry_id is not None:
            printed["settledEntryId"] = self.settled_entry_id
        if self.stop_reason is not None:
            printed["stopReason"] = self.stop_reason
        return printed


@dataclass(slots=True)
class ToolIntent:
    """A tool that was started: its durable intent, and whether its result is durable too."""

    operation_id: str
    tool_started_id: str
    step_id: str
    assistant_entry_id: str
    tool_index: int
    tool_call_id: str
    tool_name: str
    arguments: JSONObject
    replay: str  # safe | never
    replay_key: str
    result_entry_id: str
    environment_identity: str
    status: str = "pending"  # pending | completed

    def to_json(self) -> JSONObject:
        return {
            "operationId": self.operation_id,
            "toolStartedId": self.tool_started_id,
            "stepId": self.step_id,
            "assistantEntryId": self.assistant_entry_id,
            "toolIndex": self.tool_index,
            "toolCallId": self.tool_call_id,
            "toolName": self.tool_name,
            "arguments": self.arguments,
            "replay": self.replay,
            "replayKey": self.replay_key,
            "resultEntryId": self.result_entry_id,
            "status": self.status,
            "environmentIdentity": self.environment_identity,
        }


@dataclass(slots=True)  # not frozen: one is made for every call of a log, and freezing costs
class ToolCall:
    """A call as the model made it. `arguments` is its raw text."""

    index: int
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class Turn:
    """The last assistant message of the run, with or without calls, and what became of them."""

    entry_id: str
    step_id: str
    stop_reason: str
    content: str | None
    calls: tuple[ToolCall, ...]
    intents: dict[int, ToolIntent] = field(default_factory=dict)  # by call index
    answered: set[int] = field(default_factory=set)  # call indices

    def unanswered(self) -> list[ToolCall]:
        """Calls without a durable result, in index order."""
        return [call for call in self.calls if call.index not in self.answered]

    @property
    def settled(self) -> bool:
        """Every call has its result."""
        return len(self.answered) == len(self.calls)


@dataclass(slots=True)
class Idle:
    """No operation is unfinished."""

    kind = "idle"

    def to_json(self) -> JSONObject:
        return {"kind": "idle"}


@dataclass(slots=True)
class Run:
    """An accepted prompt that has no end yet."""

    operation_id: str
    input_entry_id: str
    step: Step | None = None
    turn: Turn | None = None
    tool_calls: list[ToolIntent] = field(default_factory=list)  # every intent of the run
    abort_requested: bool = False

    kind = "run"
    step_kind = "assistant"

    @property
    def input(self) -> str:
        """The entry that attempt 1 of the first step names."""
        return self.input_entry_id

    def to_json(self) -> JSONObject:
        printed: JSONObject = {
            "kind": "run",
            "operationId": self.operation_id,
            "inputEntryId": self.input_entry_id,
            "toolCalls": [call.to_json() for call in self.tool_calls],
            "abortRequested": self.abort_requested,
        }
        if self.step is not None:
            printed["step"] = self.step.to_json()
        return printed


@dataclass(slots=True)
class Compaction:
    """A compaction that has no end yet."""

    operation_id: str
    input_through_entry_id: str
    result_entry_id: str
    compacted_through_entry_id: str
    retained: int  # how many of the latest messages are kept
    step: Step | None = None
    abort_requested: bool = False

    kind = "compaction"
    step_kind = "compaction"

    @property
    def input(self) -> str:
        """The entry that attempt 1 of the only step names."""
        return self.input_through_entry_id

    def to_json(self) -> JSONObject:
        printed: JSONObject = {
            "kind": "compaction",
            "operationId": self.operation_id,
            "inputThroughEntryId": self.input_through_entry_id,
            "resultEntryId": self.result_entry_id,
            "abortRequested": self.abort_requested,
        }
        if self.step is not None:
            printed["step"] = self.step.to_json()
        return printed


Operation = Idle | Run | Compaction


@dataclass(slots=True)
class SessionState:
    """The sum of a log's complete lines."""

    header: Header
    repaired_length: int  # bytes up to and with the last LF
    transcript: list[Message] = field(default_factory=list)  # every message
    entry_ids: list[str] = field(default_factory=list)  # of the transcript's messages, in order
    active_context: list[Message] = field(default_factory=list)  # what the model sees
    usage: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    operation: Operation = field(default_factory=Idle)
    last_seq: int = 0
    greatest_id: str = ""  # of all ids in the log, reserved ones too; a fresh one must be greater

    @property
    def boundary(self) -> str | None:
        """The id of the last message entry: the context that attempt 1 of a step must name.

        A compaction leaves it where it was, as its input is the last message entry.
        """
        return self.entry_ids[-1] if self.entry_ids else None

    @property
    def compacted(self) -> bool:
        """The active context begins with a summary, which is no message of the log."""
        return bool(self.transcript) and self.active_context[0] is not self.transcript[0]

    def to_json(self) -> JSONObject:
        """The printed state. Lists are copies; messages are shared and must not be changed."""
        return {
            "header": self.header.to_json(),
            "transcript": list(self.transcript),
            "activeContext": list(self.active_context),
            "usage": dict(self.usage),
            "operation": self.operation.to_json(),
            "repairedLength": self.repaired_length,
        }
