"""The planner: it always finds a way on, and every write it asks for is one the log accepts.

Which plan belongs to which log stands in `tests/corpus/cases.py`. Here the plans are carried out,
from every prefix of every log of the corpus, by an executor that knows nothing but plans. A session
that could not be ended would be "stuck for ever".
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from agent import new_facts
from agent.canonical import digest
from agent.facts import JSONObject
from agent.new_facts import NewFact
from agent.planner import CurrentConfiguration, plan_recovery
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
from agent.reducer import SessionReducer
from agent.state import Compaction, Idle, Run
from agent.strict_json import dumps
from tests.corpus.cases import ACCEPTED, OTHER_DIGEST, PLANS, READ_V2, SAME
from tests.corpus.writer import DIGEST, SNAPSHOT, ZERO, Log, call, current, uid

NOW = CurrentConfiguration.from_json(SAME)
MOST_PLANS = 20  # no log of the corpus needs more to its end

# Logs that wait for somebody, by intention.
BLOCKED = {
    "attempt-repeated": Blocked("attempts_exhausted"),
    "tool-pending-elsewhere": Blocked("environment_changed"),
}


class Executor:
    """Carries plans out on a log in memory: the model says "done", every tool says "fine"."""

    def __init__(
        self,
        lines: list[bytes],
        now: CurrentConfiguration = NOW,
        snapshot: JSONObject = SNAPSHOT,
        environment: str = "here",
    ) -> None:
        self.now, self.snapshot, self.environment = now, snapshot, environment
        self.reducer = SessionReducer()
        for line in lines:
            self.reducer.feed(line)
        self.state = self.reducer.state
        self.next = int(self.state.greatest_id[-12:], 16)
        self.written: list[str] = []

    def new(self) -> str:
        self.next += 1
        return uid(self.next)

    def write(self, fact: NewFact, id_: str | None = None) -> str:
        id_ = id_ or self.new()
        line = dumps(fact.stamp(self.state.last_seq + 1, id_, 0))
        self.written.append(self.reducer.feed(line)[0].variant)
        return id_

    def to_the_end(self) -> Plan:
        """Plan and carry out until nothing is left to do, or nothing may be done."""
        for _ in range(MOST_PLANS):
            plan = plan_recovery(self.state, self.now)
            if isinstance(plan, Blocked) or isinstance(self.state.operation, Idle):
                return plan
            self.carry_out(plan)
        raise AssertionError(f"no end after {MOST_PLANS} plans: {self.written}")

    def carry_out(self, plan: Plan) -> None:
        operation = self.state.operation
        assert not isinstance(operation, Idle)
        match plan:
            case Finish():
                fact = new_facts.operation_finished(
                    operation_id=operation.operation_id,
                    operation_kind=operation.kind,
                    outcome=plan.outcome,
                    completion=plan.completion,
                    final_entry_id=plan.final_entry_id,
                    error=plan.error,
                )
                self.write(fact)
            case StartStep():
                self.step(plan, operation)
            case StartTool():
                self.tool(plan)
            case AppendSynthetic():
                for result in plan.results:
                    self.synthetic(result)
            case CloseAttempt():
                assert operation.step is not None
                fact = new_facts.step_failed(
                    operation_id=operation.operation_id,
                    step_id=operation.step.step_id,
                    attempt_id=operation.step.attempt_id,
                    error=plan.error,
                )
                self.write(fact)

    def step(self, plan: StartStep, operation: Run | Compaction) -> None:
        step_id, attempt_id = plan.step_id or self.new(), self.new()
        attempt = new_facts.step_attempt(
            operation_id=operation.operation_id,
            step_id=step_id,
            attempt_id=attempt_id,
            step_kind=plan.step_kind,
            attempt=plan.attempt,
            context_through_entry_id=plan.context_through_entry_id,
            configuration_snapshot=self.snapshot,
            configuration_digest=digest(self.snapshot),
        )
        self.write(attempt)
        if isinstance(operation, Run):
            reply = new_facts.assistant_message(
                step_id=step_id,
                attempt_id=attempt_id,
                stop_reason="stop",
                message={"role": "assistant", "content": "done"},
            )
            self.write(reply)
        else:
            cut = len(self.state.transcript) - operation.retained
            tail = zip(self.state.entry_ids[cut:], self.state.transcript[cut:], strict=True)
            summary = new_facts.compaction_entry(
                operation_id=operation.operation_id,
                summary="what was said",
                compacted_through_entry_id=operation.compacted_through_entry_id,
                retained=tail,
            )
            self.write(summary, operation.result_entry_id)

    def tool(self, plan: StartTool) -> None:
        operation = self.state.operation
        assert isinstance(operation, Run)
        assert operation.turn is not None
        call = operation.turn.calls[plan.tool_index]
        started = plan.tool_started_id or self.write(
            new_facts.tool_started(
                operation_id=operation.operation_id,
                step_id=operation.turn.step_id,
                assistant_entry_id=plan.assistant_entry_id,
                tool_index=plan.tool_index,
                tool_call_id=call.id,
                tool_name=plan.tool_name,
                arguments=plan.arguments,
                replay="never",
                replay_key="x",
                result_entry_id=self.new(),
                environment_identity=self.environment,
            )
        )
        intent = operation.turn.intents[plan.tool_index]
        result = new_facts.tool_result(
            step_id=operation.turn.step_id,
            tool_started_id=started,
            tool_call_id=call.id,
            tool_name=plan.tool_name,
            result="success",
            content="fine",
        )
        self.write(result, intent.result_entry_id)

    def synthetic(self, result: SyntheticResult) -> None:
        operation = self.state.operation
        assert isinstance(operation, Run)
        assert operation.turn is not None
        step_id = operation.turn.step_id
        if result.tool_started_id is not None:
            fact = new_facts.interrupted_result(
                step_id=step_id,
                tool_started_id=result.tool_started_id,
                tool_call_id=result.tool_call_id,
                tool_name=result.tool_name,
            )
        else:
            fact = new_facts.unstarted_result(
                step_id=step_id,
                assistant_entry_id=result.assistant_entry_id,
                tool_index=result.tool_index,
                tool_call_id=result.tool_call_id,
                tool_name=result.tool_name,
                reason=result.reason,
            )
        self.write(fact, result.result_entry_id)


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_prefix_of_every_log_comes_to_an_end(name: str) -> None:
    lines = ACCEPTED[name].lines
    for count in range(1, len(lines) + 1):
        executor = Executor(lines[:count])
        end = executor.to_the_end()
        blocked = BLOCKED.get(name) if count == len(lines) else None
        assert end == (blocked or Finish("completed", "normal"))


@pytest.mark.parametrize("name", ACCEPTED)
def test_planning_changes_nothing(name: str) -> None:
    state = Executor(ACCEPTED[name].lines).state
    before = copy.deepcopy(state)
    first = plan_recovery(state, NOW)
    assert plan_recovery(state, NOW) == first
    assert state == before


@pytest.mark.parametrize(
    ("text", "digest_"), [("builtin:read:v0", ZERO), ("s", "sha256:" + "f" * 64)]
)
@pytest.mark.parametrize(("name", "now", "plan"), PLANS)
def test_a_change_is_one_whether_it_sorts_before_or_after(
    name: str, now: JSONObject, plan: JSONObject, text: str, digest_: str
) -> None:
    """The rows of the corpus, with other changes of the same parts. The log's environments are
    "here" and "there"."""
    changed = copy.deepcopy(now)
    if now["environmentIdentity"] != "here" and name != "tool-pending-elsewhere":
        changed["environmentIdentity"] = text
    if now["configurationDigest"] != DIGEST:
        changed["configurationDigest"] = digest_
    if now is READ_V2:
        changed["tools"][0]["replayKey"] = text
    state = Executor(ACCEPTED[name].lines).state
    assert plan_recovery(state, CurrentConfiguration.from_json(changed)).to_json() == plan


def test_a_tool_whose_definition_sorts_before_the_offered_one_is_another_tool() -> None:
    read, bash = SAME["tools"]
    now = CurrentConfiguration.from_json(current(tools=[read, bash | {"definitionDigest": ZERO}]))
    state = Executor(Log().asked(call("c0", "bash", '{"command":"x"}')).lines).state
    assert plan_recovery(state, now) == Blocked("configuration_changed")


def test_a_settled_turn_is_not_opened_again_by_a_plain_answer_after_it() -> None:
    """Known fault 1: the last assistant message *that had calls* was taken for the last one."""
    executor = Executor(ACCEPTED["two-turns-then-stop"].lines)
    executor.to_the_end()
    assert executor.written == ["operationFinished"]


def test_the_lowest_unanswered_call_goes_first_and_the_context_is_the_boundary() -> None:
    """Known fault 2: a later call was started first, and its result taken for the boundary."""
    executor = Executor(ACCEPTED["later-call-pending-first"].lines)
    executor.to_the_end()
    assert executor.written == [
        "toolStarted",
        "startedResult",  # call 0
        "startedResult",  # call 1: interrupted
        "toolStarted",
        "startedResult",  # call 2
        "stepAttempt",
        "assistant",
        "operationFinished",
    ]


def test_a_turn_of_synthetic_answers_only_goes_on() -> None:
    """Known fault 3: without any started tool, no next step was found."""
    executor = Executor(ACCEPTED["only-bad-calls"].lines)
    executor.to_the_end()
    assert executor.written == [
        "unstartedResult",
        "unstartedResult",
        "stepAttempt",
        "assistant",
        "operationFinished",
    ]


def test_a_blank_answer_ends_failed() -> None:
    """Known fault 3, its other half."""
    executor = Executor(ACCEPTED["blank-answer"].lines)
    plan = plan_recovery(executor.state, NOW)
    assert isinstance(plan, Finish)
    assert (plan.outcome, plan.error and plan.error["code"]) == ("failed", "empty_response")


def test_restoring_the_configuration_unblocks() -> None:
    state = Executor(ACCEPTED["attempt-open"].lines).state
    changed = CurrentConfiguration.from_json(OTHER_DIGEST)
    assert plan_recovery(state, changed) == Blocked("configuration_changed")
    assert isinstance(plan_recovery(state, NOW), StartStep)


def test_the_digest_of_the_test_logs_is_ours_too() -> None:
    assert digest(SNAPSHOT) == DIGEST


def test_arguments_that_repeat_a_key_or_nest_without_end_are_invalid() -> None:
    for arguments in ('{"a":1,"a":2}', "[" * 10_000, "", '"x"', '{"a":NaN}'):
        log = Log().run().tried()
        made = {"id": "c", "type": "function", "function": {"name": "read"}}
        made["function"] = {"name": "read", "arguments": arguments}
        plan = plan_recovery(Executor(log.reply(None, made).lines).state, NOW)
        assert isinstance(plan, AppendSynthetic), arguments
        assert plan.results[0].reason == "invalidArguments"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "expected an object, found an array"),
        (current(extra=1), "the key 'extra' is unknown"),
        (current(configurationDigest="x"), "configurationDigest: expected 'sha256:'"),
        (current(environmentIdentity=""), "environmentIdentity: expected some text"),
        (current(tools=[{"name": "read"}]), "tools: [0]: the key 'definitionDigest' is missing"),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_place(value: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        CurrentConfiguration.from_json(value)


def test_plans_print_without_what_they_do_not_have() -> None:
    plan: JSONObject = Finish("aborted").to_json()
    assert plan == {"type": "finish", "outcome": "aborted"}
    assert StartStep("assistant", 1, uid(2)).to_json() == {
        "type": "startStep",
        "stepKind": "assistant",
        "attempt": 1,
        "contextThroughEntryId": uid(2),
    }
