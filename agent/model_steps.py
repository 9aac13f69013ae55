"""Ask the model: an attempt, its request, and the reply or failure that closes it.

What it promises: the attempt is durable before its request; a reply and what it cost are one
transaction; what the log could not hold, or what comes after a durable abort, is a failed attempt
with the usage that the provider reported.
What it does not do: it retries nothing; whether there is another attempt is the planner's.

Source: session contract, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent import compaction, new_facts
from agent.errors import SessionError
from agent.facts import ABORTED_ERROR, MAX_SAFE_INTEGER
from agent.new_facts import NewFact
from agent.plans import CloseAttempt, StartStep
from agent.provider import Provider, Show
from agent.reply import FailedAttempt, MalformedReply, Reply
from agent.state import Compaction, Step
from agent.store import Reserved
from agent.work import Work


class ModelSteps:
    """Carries out `StartStep` and `CloseAttempt`. `show` is given a streamed reply as it comes."""

    def __init__(self, work: Work, show: Show) -> None:
        self._work = work
        self._show = show
        self._provider = Provider(work.configuration.settings, abort=work.abort)

    def start(self, plan: StartStep) -> None:
        """Make an attempt durable, send its request, write down what came of it."""
        self._announce(plan)
        if self._work.abort.heed():
            return  # the request was not sent; the planner closes the attempt
        step = self._work.step
        try:
            self._settle(step, self._ask())
        except FailedAttempt as failed:
            error = {"code": failed.code, "message": str(failed)}
            self._fail(step, ABORTED_ERROR if self._work.abort.durable else error, failed.usage)

    def close_attempt(self, plan: CloseAttempt) -> None:
        """Close an attempt whose reply nobody will hear of."""
        self._fail(self._work.step, plan.error, None)

    def close(self) -> None:
        """Give the connection to the provider free."""
        self._provider.close()

    def _announce(self, plan: StartStep) -> None:
        work = self._work
        if plan.attempt == 1:
            # A step of its own is asked under what holds now: AGENTS.md may have been changed by
            # the tool before. What changes while a request is open was changed by somebody else.
            work.configuration = work.configuration.in_workspace(work.workspace)
        work.commit(
            new_facts.step_attempt(
                operation_id=work.operation.operation_id,
                step_id=plan.step_id or work.store.fresh_id(),
                attempt_id=work.store.fresh_id(),
                step_kind=plan.step_kind,
                attempt=plan.attempt,
                context_through_entry_id=plan.context_through_entry_id,
                configuration_snapshot=work.configuration.snapshot,
                configuration_digest=work.configuration.current.configuration_digest,
            )
        )

    def _ask(self) -> Reply:
        work = self._work
        operation = work.operation
        if isinstance(operation, Compaction):
            context = compaction.request(work.state, operation)
            return self._provider.complete(work.configuration, context, _show_nothing)
        return self._provider.complete(work.configuration, work.state.active_context, self._show)

    def _settle(self, step: Step, reply: Reply) -> None:
        """The reply and what it cost, in one transaction. Raises FailedAttempt."""
        work, operation = self._work, self._work.operation
        if work.abort.durable:
            raise FailedAttempt("aborted", "the reply came after the abort", reply.usage)
        usage = self._usage(step, reply.usage)
        if isinstance(operation, Compaction):
            entry = compaction.entry(work.state, operation, compaction.summary_of(reply))
            facts = [*usage, Reserved(operation.result_entry_id, entry)]
        else:
            message = new_facts.assistant_message(
                step_id=step.step_id,
                attempt_id=step.attempt_id,
                stop_reason=reply.stop_reason,
                message=reply.message,
            )
            facts = [message, *usage]
        try:
            work.commit(*facts)
        except SessionError as error:
            # The reducer is the last judge of what a log can hold; nothing was written.
            raise MalformedReply(error.message, usage=reply.usage) from error

    def _fail(self, step: Step, error: Mapping[str, str], usage: Mapping[str, int] | None) -> None:
        failed = new_facts.step_failed(
            operation_id=step.operation_id,
            step_id=step.step_id,
            attempt_id=step.attempt_id,
            error=error,
        )
        self._work.commit(failed, *self._usage(step, usage))

    def _usage(self, step: Step, usage: Mapping[str, int] | None) -> list[NewFact | Reserved]:
        """The usage fact of an attempt; none where the sums would leave the log's integers."""
        sums = self._work.state.usage
        if usage is None or any(sums[name] + usage[name] > MAX_SAFE_INTEGER for name in usage):
            return []
        return [
            new_facts.usage(
                operation_id=step.operation_id,
                attempt_id=step.attempt_id,
                input_tokens=usage["input"],
                output_tokens=usage["output"],
                cache_read=usage["cacheRead"],
                cache_write=usage["cacheWrite"],
            )
        ]


def _show_nothing(_: str) -> None:
    """A summary is for the model."""
