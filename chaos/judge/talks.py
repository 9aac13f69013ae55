"""What was said on the wire: the conversations that the requests of a case hold, in any API.

Pure. A **turn** is a request that goes on with the conversation; a side request (a title, a
summary) is none, and the target file says how to tell it. Judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chaos.evidence import Blobs, Event, Request
from chaos.flavours import Conversation, Message, SideMarks, ToolUse, flavour_of
from chaos.judge.case import Case

# What is compared of a conversation. A user's words may be wrapped or joined, ids given anew.
Said = tuple[str, ...]
_CALL, _RESULT = "call", "result"


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that goes on with the conversation, and is legal."""

    request: Request
    conversation: Conversation


def turns(case: Case) -> tuple[Turn, ...]:
    """The turns of a case, in order."""
    return case.remember(_turns)


def _turns(case: Case) -> tuple[Turn, ...]:
    return tuple(turns_of(case.evidence.events, case.evidence.blobs, _marks(case)))


def turns_of(events: Iterable[Event], blobs: Blobs, side: SideMarks) -> Iterator[Turn]:
    """The turns among events, in order."""
    for request in events:
        if isinstance(request, Request):
            told = conversation_of(request, blobs)
            if told is not None and not side.mark(told):
                yield Turn(request, told)


def is_side(case: Case, request: Request) -> bool:
    """Is a request to the model no turn of the conversation?"""
    told = conversation_of(request, case.evidence.blobs)
    return told is not None and _marks(case).mark(told)


def _marks(case: Case) -> SideMarks:
    facts = case.evidence.facts
    return SideMarks(facts.side, facts.side_without_tools)


def conversation_of(request: Request, blobs: Blobs) -> Conversation | None:
    """What a request holds; None where it was cut, is illegal (P3), or asks no model. One that is
    held at its arrival, and answered by nobody, has arrived all the same."""
    flavour = flavour_of(request.method, request.path)
    return flavour.told(blobs.get(request.body), request.path) if flavour else None


def said(conversation: Conversation) -> list[Said]:
    """A conversation as a list of what was said, which can be compared with another one."""
    return list(_said(conversation))


def words(what: Said) -> str:
    """Something that was said, for a message."""
    kind, *rest = what
    if kind == _CALL:
        return f"call of {rest[0]} {rest[1]}"
    if kind == _RESULT:
        return f"result {rest[2]!r} of {rest[0]} {rest[1]}"
    return f"{kind} {rest[0]!r}"


def first_lost(before: Conversation, after: Conversation) -> Said | None:
    """The first thing said in `before` that `after` does not say any more; None: nothing. Order
    counts, but for results: those of one turn may come as they were stored."""
    left = said(after)
    results = [each for each in left if each[0] == _RESULT]
    place = 0
    for each in said(before):
        if each[0] == _RESULT:
            if each not in results:
                return each
            results.remove(each)
            continue
        there = (at for at in range(place, len(left)) if _holds(left[at], each))
        found = next(there, None)
        if found is None:
            return each
        # Words that were joined with others still hold the next ones.
        place = found if left[found] != each else found + 1
    return None


def answered(conversation: Conversation) -> Iterator[tuple[ToolUse, Message]]:
    """The calls that have a result, each with it."""
    results = {m.result_of: m for m in conversation.messages if m.role == "tool"}
    for message in conversation.messages:
        for call in message.calls:
            if call.id in results:
                yield call, results[call.id]


def _said(conversation: Conversation) -> Iterator[Said]:
    calls: dict[str, ToolUse] = {}
    for message in conversation.messages:
        if message.role == "tool":
            call = calls.get(message.result_of, ToolUse("", "", ""))
            yield (_RESULT, call.name, _arguments(call), message.text.strip())
            continue
        if message.text.strip():
            yield (message.role, message.text.strip())
        for call in message.calls:
            calls[call.id] = call
            yield (_CALL, call.name, _arguments(call))


def _arguments(call: ToolUse) -> str:
    """The arguments as every writer of JSON would write them."""
    try:
        return json.dumps(json.loads(call.arguments), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return call.arguments


def _holds(later: Said, earlier: Said) -> bool:
    both_user = later[0] == earlier[0] == "user"
    return later == earlier or (both_user and earlier[1] in later[1])
