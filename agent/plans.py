"""What recovery does next: one small value per kind of plan.

Pure data. Shapes are those of the recovery-plan schema; `to_json` prints them, leaving out what
is None. A plan allocates no id and carries nothing out (session contract, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.facts import JSONObject


def _present(**fields: object) -> JSONObject:
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Finish:
    """Write `operationFinished`. Without `final_entry_id` and error: idle, nothing is written."""

    outcome: str  # completed | aborted | failed
    completion: str | None = None  # normal | truncated
    final_entry_id: str | None = None
    error: JSONObject | None = None

    def to_json(self) -> JSONObject:
        return _present(
            type="finish",
            outcome=self.outcome,
            completion=self.completion,
            finalEntryId=self.final_entry_id,
            error=self.error,
        )


@dataclass(frozen=True, slots=True)
class StartStep:
    """Write a `stepAttempt` and ask the model. `step_id` is None for a new step (attempt 1)."""

    step_kind: str  # assistant | compaction
    attempt: int  # 1 | 2
    context_through_entry_id: str
    step_id: str | None = None

    def to_json(self) -> JSONObject:
        return _present(
            type="startStep",
            stepKind=self.step_kind,
            attempt=self.attempt,
            stepId=self.step_id,
            contextThroughEntryId=self.context_through_entry_id,
        )


@dataclass(frozen=True, slots=True)
class StartTool:
    """Run a tool. `start` writes its intent first; `replay` has one: `tool_started_id`."""

    mode: str  # start | replay
    assistant_entry_id: str
    tool_index: int
    tool_name: str
    arguments: JSONObject
    tool_started_id: str | None = None

    def to_json(self) -> JSONObject:
        return _present(
            type="startTool",
            mode=self.mode,
            assistantEntryId=self.assistant_entry_id,
            toolIndex=self.tool_index,
            toolStartedId=self.tool_started_id,
            toolName=self.tool_name,
            arguments=self.arguments,
        )


@dataclass(frozen=True, slots=True)
class SyntheticResult:
    """A result that no tool gave. `interrupted` alone has an intent and its reserved id."""

    assistant_entry_id: str
    tool_index: int
    tool_call_id: str
    tool_name: str
    reason: str
    content: str
    tool_started_id: str | None = None
    result_entry_id: str | None = None

    def to_json(self) -> JSONObject:
        return _present(
            assistantEntryId=self.assistant_entry_id,
            toolIndex=self.tool_index,
            toolCallId=self.tool_call_id,
            toolName=self.tool_name,
            toolStartedId=self.tool_started_id,
            resultEntryId=self.result_entry_id,
            reason=self.reason,
            content=self.content,
        )


@dataclass(frozen=True, slots=True)
class AppendSynthetic:
    """Write these results, in index order, without running anything."""

    results: tuple[SyntheticResult, ...]

    def to_json(self) -> JSONObject:
        return {"type": "appendSynthetic", "results": [r.to_json() for r in self.results]}


@dataclass(frozen=True, slots=True)
class CloseAttempt:
    """Write `stepFailed` with this error for the open attempt."""

    error: JSONObject

    def to_json(self) -> JSONObject:
        return {"type": "closeAttempt", "error": self.error}


@dataclass(frozen=True, slots=True)
class Blocked:
    """Write nothing and stop: somebody must restore the configuration, or abort."""

    # configuration_changed | environment_changed | replay_declaration_changed | attempts_exhausted
    reason: str

    def to_json(self) -> JSONObject:
        return {"type": "blocked", "reason": self.reason}


Plan = Finish | StartStep | StartTool | AppendSynthetic | CloseAttempt | Blocked
