"""Say why a session is blocked: what changed, and what to restore.

Pure. It compares what the log recorded with what is true now; the planner has decided already.
Source: session contract, section 5 (`blocked`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.planner import CurrentConfiguration
from agent.state import Idle, Run, SessionState, Step

# part of the snapshot -> what to restore
_RESTORE: Mapping[str, str] = {
    "model": "set AGENT_MODEL to {was}",
    "routingIdentity": "set AGENT_BASE_URL to {was}",
    "systemPromptDigest": "AGENTS.md has changed since the request was made, or the agent's own "
    "prompt has: make AGENTS.md what it was, or use the version of the agent with that prompt",
    "adapterIdentity": "use the version of the agent that has the recorded adapter",
    "outputOptionsDigest": "use the version of the agent that has the recorded output options",
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What the log says, and what is true in this process."""

    state: SessionState
    current: CurrentConfiguration
    snapshot: Mapping[str, Any]  # the configuration snapshot of this process

    @property
    def step(self) -> Step | None:
        operation = self.state.operation
        return None if isinstance(operation, Idle) else operation.step


def explain(reason: str, situation: Situation) -> str:
    """One message for people. `reason` is that of the plan."""
    ways = _EXPLAIN[reason](situation)
    state = situation.state
    if not isinstance(state.operation, Idle):
        ways = [*ways, f"or give the operation up: abort {state.header.id}"]
    return f"blocked: {reason}: {'; '.join(ways)}"


def _configuration(situation: Situation) -> list[str]:
    step, current = situation.step, situation.snapshot
    recorded = step.configuration_snapshot if step else current
    changes = []
    if step is None or step.status != "settled":  # a settled step is held up by its tools alone
        changes += [
            f"{part} was {recorded[part]}, is {current[part]}: {how.format(was=recorded[part])}"
            for part, how in _RESTORE.items()
            if recorded[part] != current[part]
        ]
    changes += _tools(_definitions(recorded), _definitions(current))
    return changes or ["the order of the tools differs: use the version that declared them"]


def _definitions(snapshot: Mapping[str, Any]) -> dict[str, str]:
    return {tool["name"]: tool["definitionDigest"] for tool in snapshot["tools"]}


def _tools(offered: Mapping[str, str], declared: Mapping[str, str]) -> list[str]:
    changes = []
    for name in sorted(declared.keys() | offered.keys()):
        if declared.get(name) == offered.get(name):
            continue
        how = "is gone" if name not in declared else "is new" if name not in offered else "differs"
        owner = "its MCP server" if name.startswith("mcp__") else "the agent"
        changes.append(f"the tool {name} {how}: use the version of {owner} that declared it")
    return changes


def _environment(situation: Situation) -> list[str]:
    was, now = situation.state.header.environment_identity, situation.current.environment_identity
    return [
        f"the environment was {was}, is {now}: start it there again, with --workspace or with "
        "AGENT_ENVIRONMENT_IDENTITY"
    ]


def _replay(situation: Situation) -> list[str]:
    operation = situation.state.operation
    intents = operation.tool_calls if isinstance(operation, Run) else ()
    return [
        f"the tool {intent.tool_name} was recorded as safe to run again ({intent.replay_key}) and "
        "is no longer declared so: use the version of the agent that declares it"
        for intent in intents
        if intent.status == "pending"
    ]


def _attempts(_: Situation) -> list[str]:
    return [
        "two attempts of one step ended without a recorded reply, and there is no third: nothing "
        "can be restored"
    ]


_EXPLAIN: Mapping[str, Callable[[Situation], list[str]]] = {
    "configuration_changed": _configuration,
    "environment_changed": _environment,
    "replay_declaration_changed": _replay,
    "attempts_exhausted": _attempts,
}
