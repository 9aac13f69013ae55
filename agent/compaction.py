"""Compaction: which messages a summary replaces, what the model is asked, what the log then holds.

Pure. Two tracks share one cut (session contract, section 6; chapter 7): the *active context* is cut
in two, the earlier part is summarised; the *sources* are every message of the log, of which those
behind the cut are retained. An earlier summary is part of what is summarised, but no source.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent import new_facts
from agent.canonical import digest
from agent.facts import JSONObject, Message, is_blank
from agent.new_facts import NewFact
from agent.reply import FailedAttempt, MalformedReply, Reply
from agent.state import Compaction, SessionState

KEPT_MESSAGES = 6  # at least so many of the latest stay as they are

INSTRUCTION = """\
The conversation above is about to be replaced by a summary, which you write now. Whoever goes on \
will see your summary and the latest messages, and nothing else of what stands above.

Say what the user wants, what was decided and why, what was done and with what result (files, \
commands, errors), what may have happened without anybody knowing, and what is still to be done. \
Keep exact names, paths, numbers and wordings that will be needed. If the conversation begins with \
an earlier summary, take over what still matters. Call no tools; answer with the summary alone.
"""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the sources are cut in two; both parts hold at least one message."""

    compacted: list[str]  # ids of message entries, from the first one on
    retained: list[str]


def find_cut(state: SessionState) -> Cut | None:
    """The cut of an idle session; None where there is nothing to compact.

    At least the last KEPT_MESSAGES messages of the active context are kept; from there the cut
    moves back to a user message, so that no turn is cut in two. Nothing is to be gained where only
    an earlier summary would be left before it.
    """
    context = state.active_context
    first = 1 if state.compacted else 0  # of the context's messages that are sources
    at = len(context) - KEPT_MESSAGES
    while at > first and context[at]["role"] != "user":
        at -= 1
    if at <= first:
        return None
    before = len(state.entry_ids) - (len(context) - at)
    return Cut(state.entry_ids[:before], state.entry_ids[before:])


def started(state: SessionState, cut: Cut, operation_id: str, result_id: str) -> NewFact:
    """The `compactionStarted` of a cut, over every source so far."""
    sources = zip(state.entry_ids, state.transcript, strict=True)
    return new_facts.compaction_started(
        operation_id=operation_id,
        input_through_entry_id=state.entry_ids[-1],
        result_entry_id=result_id,
        compacted_entry_ids=cut.compacted,
        retained_entry_ids=cut.retained,
        source_digest=digest(new_facts.source_messages(sources)),
    )


def request(state: SessionState, operation: Compaction) -> list[Message]:
    """What the model is asked: the part of the context that goes, then for its summary."""
    going = state.active_context[: len(state.active_context) - operation.retained]
    return [*going, {"role": "user", "content": INSTRUCTION}]


def summary_of(reply: Reply) -> str:
    """The summary in a reply. Raises FailedAttempt for one that would lose the conversation.

    A summary that the token limit cut off never gets here: without calls, `length` is no reply.
    """
    text: str | None = reply.message["content"]
    if "tool_calls" in reply.message:
        raise MalformedReply("expected a summary, found tool calls", usage=reply.usage)
    if text is None or is_blank(text):
        raise FailedAttempt("empty_response", "The model returned an empty summary", reply.usage)
    return text


def entry(state: SessionState, operation: Compaction, summary: str) -> NewFact:
    """The compaction entry; its id is the one that `compactionStarted` reserved."""
    first = len(state.transcript) - operation.retained
    sources: list[tuple[str, JSONObject]] = list(
        zip(state.entry_ids[first:], state.transcript[first:], strict=True)
    )
    return new_facts.compaction_entry(
        operation_id=operation.operation_id,
        summary=summary,
        compacted_through_entry_id=operation.compacted_through_entry_id,
        retained=sources,
    )
