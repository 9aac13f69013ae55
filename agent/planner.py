"""The planner: from what the log says and what is true today, the one next thing to do.

Pure. It allocates no id, writes nothing and remembers nothing: the loop carries the plan out,
reduces its own writes and asks again, so a crash between two plans is no special case. The order
of the questions is the contract (section 5); they stand here in that order, numbered as there.

It looks at the *last* assistant message only, takes calls by the lowest index without a result,
and takes the next context from the boundary, never from a tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.facts import (
    ABORTED_ERROR,
    EMPTY_RESPONSE_ERROR,
    SYNTHETIC_TEXT,
    JSONObject,
    is_blank,
    parse_arguments,
)
from agent.plans import (
    AppendSynthetic,
    Blocked,
    CloseAttempt,
    Finish,
    Plan,
    StartStep,
    StartTool,
    SyntheticResult,
)
from agent.shapes import Closed, array, non_empty, one_of, sha256_digest
from agent.state import (
    Compaction,
    Idle,
    Run,
    SessionState,
    Step,
    ToolCall,
    ToolIntent,
    Turn,
)
from agent.strict_json import JSON

CONFIGURATION_CHANGED = Blocked("configuration_changed")
ENVIRONMENT_CHANGED = Blocked("environment_changed")
REPLAY_DECLARATION_CHANGED = Blocked("replay_declaration_changed")
ATTEMPTS_EXHAUSTED = Blocked("attempts_exhausted")

_SHAPE = Closed(
    {
        "configurationDigest": sha256_digest,
        "environmentIdentity": non_empty,
        "tools": array(
            Closed(
                {
                    "name": non_empty,
                    "definitionDigest": sha256_digest,
                    "replay": one_of("safe", "never"),
                    "replayKey": non_empty,
                }
            )
        ),
    }
)


@dataclass(frozen=True, slots=True)
class CurrentTool:
    """A tool as it is declared today."""

    name: str
    definition_digest: str
    replay: str  # safe | never
    replay_key: str


@dataclass(frozen=True, slots=True)
class CurrentConfiguration:
    """What is true today: configuration, environment and tools."""

    configuration_digest: str
    environment_identity: str
    tools: tuple[CurrentTool, ...]

    @classmethod
    def from_json(cls, value: JSON) -> CurrentConfiguration:
        """Read the current-configuration shape. Raises ValueError saying what is wrong where."""
        complaint = _SHAPE(value)
        if complaint:
            raise ValueError(f"not a current configuration: {complaint}")
        return cls(
            configuration_digest=value["configurationDigest"],
            environment_identity=value["environmentIdentity"],
            tools=tuple(
                CurrentTool(t["name"], t["definitionDigest"], t["replay"], t["replayKey"])
                for t in value["tools"]
            ),
        )

    def tool(self, name: str) -> CurrentTool | None:
        """The tool of that name, if it is declared."""
        return next((tool for tool in self.tools if tool.name == name), None)


def plan_recovery(state: SessionState, current: CurrentConfiguration) -> Plan:
    """The next plan for a session, live or after a crash."""
    operation = state.operation
    if isinstance(operation, Idle):  # 1
        return Finish("completed", completion="normal")
    if operation.abort_requested:  # 2
        return _abort(operation)
    step = operation.step
    if step is None:  # 3
        return StartStep(operation.step_kind, 1, operation.input)
    if step.status != "settled":  # 4, 5, 6
        return _unsettled(state, step, current)
    if isinstance(operation, Compaction):  # 7
        return Finish("completed", final_entry_id=step.settled_entry_id)
    turn = operation.turn
    assert turn is not None  # noqa: S101 - the settled step of a run has its reply
    if turn.stop_reason == "length":  # 8
        return _truncated(turn)
    if not turn.calls:  # 9
        return _final(turn)
    unanswered = turn.unanswered()
    if unanswered:  # 10
        return _next_call(state, step, turn, unanswered[0], current)
    if state.header.environment_identity != current.environment_identity:  # 11
        return ENVIRONMENT_CHANGED
    assert state.boundary is not None  # noqa: S101 - the turn's entries are message entries
    return StartStep("assistant", 1, state.boundary)


def _abort(operation: Run | Compaction) -> Plan:
    """2: close what is open, answer what is unanswered, then end. Nothing else is asked."""
    if operation.step is not None and operation.step.open:
        return CloseAttempt(dict(ABORTED_ERROR))
    turn = operation.turn if isinstance(operation, Run) else None
    unanswered = turn.unanswered() if turn is not None else []
    if turn is not None and unanswered:
        return AppendSynthetic(
            tuple(
                _synthetic(turn, call, "interrupted" if call.index in turn.intents else "aborted")
                for call in unanswered
            )
        )
    return Finish("aborted")


def _unsettled(state: SessionState, step: Step, current: CurrentConfiguration) -> Plan:
    """4 to 6: an attempt that is open or failed."""
    if step.configuration_digest != current.configuration_digest:
        return CONFIGURATION_CHANGED
    if state.header.environment_identity != current.environment_identity:
        return ENVIRONMENT_CHANGED
    if step.status == "failed":
        return Finish("failed", error=step.error)
    if step.attempt == 2:
        return ATTEMPTS_EXHAUSTED
    return StartStep(step.step_kind, 2, step.context_through_entry_id, step.step_id)


def _truncated(turn: Turn) -> Plan:
    """8: calls cut off by the token limit are never run."""
    unanswered = turn.unanswered()
    if unanswered:
        return AppendSynthetic(tuple(_synthetic(turn, call, "truncated") for call in unanswered))
    return Finish("completed", completion="truncated", final_entry_id=turn.entry_id)


def _final(turn: Turn) -> Plan:
    """9: the model is done; an answer without content is a failure."""
    if is_blank(turn.content):
        return Finish("failed", error=dict(EMPTY_RESPONSE_ERROR))
    return Finish("completed", completion="normal", final_entry_id=turn.entry_id)


def _next_call(
    state: SessionState, step: Step, turn: Turn, call: ToolCall, current: CurrentConfiguration
) -> Plan:
    """10: one call at a time, the lowest index first."""
    offered = _definition(step.configuration_snapshot["tools"], call.name)
    declared = current.tool(call.name)
    intent = turn.intents.get(call.index)
    environment = intent.environment_identity if intent else state.header.environment_identity
    if environment != current.environment_identity:
        return ENVIRONMENT_CHANGED
    if offered is not None and (declared is None or declared.definition_digest != offered):
        return CONFIGURATION_CHANGED
    if intent is not None:
        return _pending(turn, call, intent, declared)
    if declared is None:
        return _answer(turn, call, "unknownTool")
    arguments = parse_arguments(call.arguments)
    if arguments is None:
        return _answer(turn, call, "invalidArguments")
    return StartTool("start", turn.entry_id, call.index, call.name, arguments)


def _pending(turn: Turn, call: ToolCall, intent: ToolIntent, declared: CurrentTool | None) -> Plan:
    """The effect of a durable intent may have happened; only a safe one happens again."""
    if intent.replay == "never":
        return _answer(turn, call, "interrupted")
    if declared is None or (declared.replay, declared.replay_key) != ("safe", intent.replay_key):
        return REPLAY_DECLARATION_CHANGED
    return StartTool(
        "replay",
        turn.entry_id,
        call.index,
        call.name,
        intent.arguments,
        intent.tool_started_id,
    )


def _definition(tools: Iterable[JSONObject], name: str) -> str | None:
    """The definition digest under which the attempt offered a tool, if it did."""
    return next((tool["definitionDigest"] for tool in tools if tool["name"] == name), None)


def _answer(turn: Turn, call: ToolCall, reason: str) -> AppendSynthetic:
    return AppendSynthetic((_synthetic(turn, call, reason),))


def _synthetic(turn: Turn, call: ToolCall, reason: str) -> SyntheticResult:
    intent = turn.intents.get(call.index)
    return SyntheticResult(
        assistant_entry_id=turn.entry_id,
        tool_index=call.index,
        tool_call_id=call.id,
        tool_name=call.name,
        reason=reason,
        content=SYNTHETIC_TEXT[reason],
        tool_started_id=intent.tool_started_id if intent else None,
        result_entry_id=intent.result_entry_id if intent else None,
    )
