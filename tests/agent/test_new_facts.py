"""Builders spell facts as the schema reads them.

That the reducer accepts what they write is shown by `test_planner`, which builds whole runs.
"""

from __future__ import annotations

import pytest

from agent import new_facts, schema
from agent.canonical import digest
from agent.facts import SYNTHETIC_TEXT
from agent.new_facts import NewFact
from tests.corpus.writer import DIGEST, SNAPSHOT, SYNTHETIC, uid

A, B, C = uid(2), uid(3), uid(4)
ERROR = {"code": "x", "message": "y"}

BUILT: dict[str, tuple[str, NewFact]] = {
    "user": ("user", new_facts.user_message("hello")),
    "assistant": (
        "assistant",
        new_facts.assistant_message(
            step_id=A,
            attempt_id=B,
            stop_reason="stop",
            message={"role": "assistant", "content": None},
        ),
    ),
    "result": (
        "startedResult",
        new_facts.tool_result(
            step_id=A,
            tool_started_id=B,
            tool_call_id="c",
            tool_name="read",
            result="error",
            content="",
        ),
    ),
    "interrupted": (
        "startedResult",
        new_facts.interrupted_result(
            step_id=A, tool_started_id=B, tool_call_id="c", tool_name="read"
        ),
    ),
    "unstarted": (
        "unstartedResult",
        new_facts.unstarted_result(
            step_id=A,
            assistant_entry_id=B,
            tool_index=0,
            tool_call_id="c",
            tool_name="read",
            reason="aborted",
        ),
    ),
    "compaction": (
        "compaction",
        new_facts.compaction_entry(
            operation_id=A,
            summary="s",
            compacted_through_entry_id=B,
            retained=[(C, {"role": "user", "content": "hello"})],
        ),
    ),
    "runStarted": ("runStarted", new_facts.run_started(operation_id=A, input_entry_id=B)),
    "compactionStarted": (
        "compactionStarted",
        new_facts.compaction_started(
            operation_id=A,
            input_through_entry_id=B,
            result_entry_id=C,
            compacted_entry_ids=[B],
            retained_entry_ids=[],
            source_digest=digest([]),
        ),
    ),
    "stepAttempt": (
        "stepAttempt",
        new_facts.step_attempt(
            operation_id=A,
            step_id=B,
            attempt_id=C,
            step_kind="assistant",
            attempt=1,
            context_through_entry_id=A,
            configuration_snapshot=SNAPSHOT,
            configuration_digest=DIGEST,
        ),
    ),
    "stepFailed": (
        "stepFailed",
        new_facts.step_failed(operation_id=A, step_id=B, attempt_id=C, error=ERROR),
    ),
    "toolStarted": (
        "toolStarted",
        new_facts.tool_started(
            operation_id=A,
            step_id=B,
            assistant_entry_id=C,
            tool_index=0,
            tool_call_id="c",
            tool_name="read",
            arguments={},
            replay="safe",
            replay_key="builtin:read:v1",
            result_entry_id=A,
            environment_identity="here",
        ),
    ),
    "abort in a tool": (
        "abortRequested",
        new_facts.abort_requested(
            operation_id=A, operation_kind="run", phase="tool", tool_call_id="c"
        ),
    ),
    "abort of a compaction": (
        "abortRequested",
        new_facts.abort_requested(operation_id=A, operation_kind="compaction", phase="compact"),
    ),
    "completed": (
        "operationFinished",
        new_facts.operation_finished(
            operation_id=A,
            operation_kind="run",
            outcome="completed",
            completion="normal",
            final_entry_id=B,
        ),
    ),
    "failed": (
        "operationFinished",
        new_facts.operation_finished(
            operation_id=A, operation_kind="run", outcome="failed", error=ERROR
        ),
    ),
    "usage": (
        "usage",
        new_facts.usage(operation_id=A, attempt_id=B, input_tokens=1, output_tokens=2),
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_a_built_fact_has_its_shape(name: str) -> None:
    variant, fact = BUILT[name]
    assert schema.variant(fact.kind, fact.body) == (variant, "")
    assert schema.BODIES[variant](fact.body) == ""
    needed, allowed = schema.ENVELOPES[fact.kind]
    assert needed <= fact.stamp(1, A, 0).keys() <= needed | allowed


def test_every_variant_can_be_built() -> None:
    assert {variant for variant, _ in BUILT.values()} == set(schema.BODIES)


def test_the_header_has_its_shape() -> None:
    built = new_facts.header(
        id=A, created_at=0, cwd="/", provider="p", model="m", environment_identity="e"
    )
    assert schema.HEADER(built) == ""


def test_the_fixed_texts_are_those_of_the_contract() -> None:
    assert dict(SYNTHETIC_TEXT) == SYNTHETIC
