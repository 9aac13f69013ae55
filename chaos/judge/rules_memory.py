"""Rule E6: what happened is not forgotten. Set against the wire, whatever the log says later.

A transcript can be legal (P3) and a log whole, and the model may still never hear of a call that
had its effect: dropped with a turn that was "repaired" away, or left out of a context.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from chaos.evidence import Exec, Request
from chaos.judge.case import Case, Need, Rule, Where, broken
from chaos.judge.history import Call, CallKey, History
from chaos.judge.rules_effects import Act, acts, words
from chaos.results import Violation


def not_forgotten(case: Case) -> Iterator[Violation]:
    """E6. Once a call had an effect, every later request to the model holds the call and a result
    for it (its own, or that it is unknown), until a compaction has made it part of a summary. Fails
    when one does not: of each call, the first request is reported."""
    happened: dict[CallKey, tuple[Call, Act]] = {}
    waiting = iter(acts(case))
    act = next(waiting, None)
    said: set[CallKey] = set()
    for request, attempt in case.requests:
        while act is not None and act.order < request.order:
            call = _call_of(case, act)
            if call is not None:
                happened.setdefault(call.key, (call, act))
            act = next(waiting, None)
        told = _told(case, request)
        if told is None or (attempt is not None and attempt.kind == "compaction"):
            continue
        due: Counter[str] = Counter()
        for key, (call, done) in happened.items():
            if _summarised(case.log(request.log), call):
                continue
            due[call.id] += 1
            if told[call.id] < due[call.id] and key not in said:
                said.add(key)
                what = f"{words(done)} is forgotten"
                expected = f"call {call.id!r} of {call.name} with a result"
                found = f"request {request.ordinal} without it"
                where = Where(case.launch_of(request), call.intent, request)
                yield broken("E6", what, expected, found, where)


def _call_of(case: Case, act: Act) -> Call | None:
    """The call that an act belongs to, as the log had it then. Of several, nobody knows."""
    if isinstance(act, Exec):
        pending = case.log(act.log).pending
        return pending[0] if len(pending) == 1 else None
    return case.owner(act)


def _told(case: Case, request: Request) -> Counter[str] | None:
    """How many calls of each id a request holds with a result; None: it cannot be read (P3's)."""
    try:
        messages = json.loads(case.evidence.blobs.get(request.body))["messages"]
        calls = Counter(_ids(messages))
        results = Counter(m["tool_call_id"] for m in messages if m["role"] == "tool")
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return calls & results


def _ids(messages: list[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield call["id"]


def _summarised(history: History, call: Call) -> bool:
    """Has a compaction come to its summary since the call was made?"""
    number = call.operation.ordinal if call.operation else 0
    return any(
        operation.summary is not None and operation.ordinal >= number
        for operation in history.operations
    )


RULES: tuple[Rule, ...] = (
    Rule(
        "E6",
        "an effect that happened is not forgotten: later requests tell the model of its call",
        frozenset({Need.FACTS}),
        not_forgotten,
    ),
)
