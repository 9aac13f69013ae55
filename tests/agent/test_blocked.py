"""Every reason to be blocked has words that say what changed and what to restore."""

from __future__ import annotations

from dataclasses import replace

from agent.blocked import Situation, explain
from agent.configuration import Configuration
from agent.state import Header, Idle, Run, SessionState, Step, ToolIntent
from agent.tools import BUILTIN_TOOLS
from tests.agent.support import configuration, settings

HEADER = Header("id", 1, "/w", "p", "m", "/workspace")
RECORDED = configuration()


def situation(current: Configuration, status: str = "attempting") -> Situation:
    step = Step(
        operation_id="o",
        step_id="s",
        attempt_id="a",
        attempt=1,
        step_kind="assistant",
        context_through_entry_id="e",
        configuration_snapshot=RECORDED.snapshot,
        configuration_digest=RECORDED.current.configuration_digest,
        status=status,
    )
    intent = ToolIntent(
        operation_id="o",
        tool_started_id="t",
        step_id="s",
        assistant_entry_id="e",
        tool_index=0,
        tool_call_id="c",
        tool_name="read",
        arguments={},
        replay="safe",
        replay_key="builtin:read:v1",
        result_entry_id="r",
        environment_identity="/workspace",
    )
    state = SessionState(HEADER, 0)
    state.operation = Run("o", "e", step=step, tool_calls=[intent])
    return Situation(state, current.current, current.snapshot)


def test_each_changed_setting_is_named_with_what_restores_it() -> None:
    changed = configuration(model="other", base_url="http://elsewhere/v1")
    assert explain("configuration_changed", situation(changed)) == (
        "blocked: configuration_changed: "
        "model was test/model, is other: set AGENT_MODEL to test/model; "
        "routingIdentity was http://127.0.0.1:9/v1, is http://elsewhere/v1: "
        "set AGENT_BASE_URL to http://127.0.0.1:9/v1; "
        "or give the operation up: abort id"
    )


def test_other_instructions_are_named() -> None:
    words = explain("configuration_changed", situation(Configuration.of(settings(), prompt="new")))
    assert "make AGENTS.md what it was" in words
    assert "or give the operation up: abort id" in words


def test_an_idle_session_has_nothing_to_give_up() -> None:
    moved = situation(configuration(environment_identity="moved"))
    moved.state.operation = Idle()
    assert "abort" not in explain("environment_changed", moved)


def test_changed_tools_are_named_even_for_a_settled_step() -> None:
    tools = {name: tool for name, tool in BUILTIN_TOOLS.items() if name != "bash"}
    tools["read"] = replace(tools["read"], description="another")
    tools["new"] = replace(tools["write"], name="new")
    words = explain(
        "configuration_changed", situation(Configuration.of(settings(), tools), "settled")
    )
    for part in ("the tool bash is gone", "the tool read differs", "the tool new is new"):
        assert part in words


def test_another_order_of_the_same_tools_is_told() -> None:
    tools = dict(list(BUILTIN_TOOLS.items())[::-1])
    words = explain("configuration_changed", situation(Configuration.of(settings(), tools)))
    assert "the order of the tools differs" in words


def test_the_other_reasons() -> None:
    moved = situation(configuration(environment_identity="moved"))
    assert "was /workspace, is moved" in explain("environment_changed", moved)
    assert "builtin:read:v1" in explain("replay_declaration_changed", moved)
    assert "no third: nothing can be restored; or give" in explain("attempts_exhausted", moved)
