"""Planted bugs of compaction: what is summed up, what is kept, and what the log says of both."""

from __future__ import annotations

from typing import Any

import agent.compaction
import agent.records
from agent import new_facts
from agent.canonical import digest
from agent.compaction import Cut
from agent.facts import Fact
from agent.ledger import Ledger
from agent.new_facts import NewFact
from agent.state import Compaction
from tests.planted.reader import Reading, read_otherwise
from tests.planted.table import bug


@bug("P4", 0, "compact-once")
def the_summary_is_asked_over_everything() -> None:
    """The request for a summary also holds the messages that stay as they are."""
    agent.compaction.request = lambda state, _: [
        *state.active_context,
        {"role": "user", "content": "Sum it up."},
    ]


@bug("L10", 0, "compact-once")
def the_sources_are_digested_wrongly() -> None:
    """The digest of a compaction's sources is that of something else, and its reader agrees."""
    other = digest([])
    agent.compaction.digest = agent.records.digest = lambda _: other  # type: ignore[attr-defined]


@bug("L10", 0, "compact-once")
def the_cut_forgets_a_message() -> None:
    """Off by one: the last message before the cut is neither summed up nor kept."""
    find_cut = agent.compaction.find_cut

    def short(state: Any) -> Cut | None:
        cut = find_cut(state)
        return cut and Cut(cut.compacted[:-1], cut.retained)

    def of_the_rest(real: Reading) -> Reading:
        def started(ledger: Ledger, fact: Fact) -> None:
            kept = fact.body["retainedEntryIds"]
            gone = ledger.state.entry_ids[: -len(kept)]
            real(ledger, fact._replace(body={**fact.body, "compactedEntryIds": gone}))

        return started

    read_otherwise("compactionStarted", of_the_rest)
    agent.compaction.find_cut = short


@bug("L10", 0, "compact-once")
def the_retained_tail_is_dropped() -> None:
    """The summary alone is left: the messages that were to stay are not written down with it."""

    def bare(state: Any, operation: Compaction, summary: str) -> NewFact:
        return new_facts.compaction_entry(
            operation_id=operation.operation_id,
            summary=summary,
            compacted_through_entry_id=operation.compacted_through_entry_id,
            retained=(),
        )

    def without_it(real: Reading) -> Reading:
        def compaction(ledger: Ledger, fact: Fact) -> None:
            state, operation = ledger.state, ledger.state.operation
            assert isinstance(operation, Compaction)
            first = len(state.transcript) - operation.retained
            kept = zip(state.entry_ids[first:], state.transcript[first:], strict=True)
            tail = new_facts.source_messages(kept)
            real(ledger, fact._replace(body={**fact.body, "retainedTail": tail}))
            ledger.journal.assign(state, "active_context", state.active_context[:1])

        return compaction

    read_otherwise("compaction", without_it)
    agent.compaction.entry = bare


@bug("P3", 0, "regression/05-compaction-splits-a-call")
def the_summary_is_asked_over_half_a_turn() -> None:
    """What is to be summed up is cut where no turn ends: a call is parted from its result."""
    real = agent.compaction.request

    def cut(state: Any, operation: Compaction) -> list[Any]:
        *going, asks = real(state, operation)
        return [*going[:-2], asks]

    agent.compaction.request = cut
