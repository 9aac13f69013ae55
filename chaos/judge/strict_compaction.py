"""Rules of compaction: which messages it replaces, which it keeps, and their digest.

Handlers as in `strict_operations`. Rule L10.

Source: session contract, sections 4 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable

from chaos.judge.strict_digest import digest_of
from chaos.judge.strict_operations import require_idle
from chaos.judge.strict_state import (
    INVALID_REFERENCE,
    INVALID_TRANSCRIPT,
    INVALID_TRANSITION,
    Body,
    Ids,
    Operation,
    Sources,
    State,
    refuse,
    require,
    the_operation,
)


def compaction_started(state: State, _fact_id: str, body: Body) -> Ids:
    """The sources: every message through the last one, split once, and digested."""
    require_idle(state, "compactionStarted")
    through = body["inputThroughEntryId"]
    require(
        through == state.boundary,
        "L10",
        INVALID_REFERENCE,
        f"inputThroughEntryId {state.boundary}, the last message",
        through,
    )
    compacted, retained = body["compactedEntryIds"], body["retainedEntryIds"]
    named, every = [*compacted, *retained], list(state.messages)
    require(
        named == every,
        "L10",
        INVALID_REFERENCE,
        f"compacted and retained ids to be the {len(every)} message entries in order",
        f"{len(named)}, {_first_difference(named, every)}",
    )
    sources: list[Body] = [
        {"sourceEntryId": entry_id, "message": message}
        for entry_id, message in state.messages.items()
    ]
    digest = digest_of(sources)
    require(
        body["sourceDigest"] == digest,
        "L10",
        INVALID_REFERENCE,
        f"sourceDigest {digest}, that of the sources",
        body["sourceDigest"],
    )
    tail = tuple(sources[len(compacted) :])
    state.operations.add(body["operationId"])
    state.operation = Operation(
        body["operationId"],
        "compaction",
        Sources(through, body["resultEntryId"], tuple(compacted), tail),
    )
    return Ids(names=(body["operationId"],), promises=body["resultEntryId"])


def compaction_entry(state: State, fact_id: str, body: Body) -> Ids:
    """The summary, with the tail exactly as it was announced."""
    operation = the_operation(state, body, "L10")
    sources, attempt = operation.sources, operation.attempt
    if sources is None or attempt is None or attempt.status != "open":
        refuse(
            "L10",
            INVALID_TRANSITION,
            "an open compaction attempt before a compaction entry",
            "none is open",
        )
    for what, value, found in (
        ("the entry's id", sources.result_id, fact_id),
        ("compactedThroughEntryId", sources.compacted_ids[-1], body["compactedThroughEntryId"]),
    ):
        require(found == value, "L10", INVALID_REFERENCE, f"{what} {value}, as announced", found)
    tail = body["retainedTail"]
    require(
        tail == list(sources.tail),
        "L10",
        INVALID_REFERENCE,
        f"retainedTail to repeat the {len(sources.tail)} retained messages",
        f"{len(tail)}, {_first_difference(tail, sources.tail)}",
    )
    _require_legal(source["message"] for source in tail)
    attempt.status, attempt.stop, attempt.reply_id = "settled", "compaction", fact_id
    state.boundary = sources.through_id
    return Ids(keeps_promise=True)


def _require_legal(messages: Iterable[Body]) -> None:
    """A tail that starts inside a turn would hold results that answer nothing."""
    known: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            require(
                message["tool_call_id"] in known,
                "L10",
                INVALID_TRANSCRIPT,
                "a retained tail that keeps each result with its call",
                f"a result for {message['tool_call_id']} without its call",
            )
        elif message["role"] == "assistant":
            known = {call["id"] for call in message.get("tool_calls", ())}


def _first_difference(found: Iterable[object], expected: Iterable[object]) -> str:
    pairs = enumerate(zip(found, expected, strict=False))
    return next((f"the first difference at {at}" for at, (a, b) in pairs if a != b), "ends early")
