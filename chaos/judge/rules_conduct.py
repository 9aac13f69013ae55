"""Conduct: what a valid log shows of a writer that does not keep to the contract's plan.

A reader of the log accepts these facts (so `chaos.judge.strict` is quiet); an agent that asks its
planner never writes them. They belong to rules L5, L6 and L8.

Source: session contract, section 5 (the order of the questions) and section 6 (live order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, pairwise

from chaos.evidence import Launch
from chaos.judge.case import Case, Where, broken
from chaos.judge.history import Call
from chaos.judge.strict_json import decode_json
from chaos.results import Violation


def retried_after_a_crash(case: Case) -> Iterator[Violation]:
    """L5. Fails when a second attempt was written by the launch that wrote the first one: an
    attempt is repeated because its launch died, never because its request went badly."""
    for launch in case.evidence.launches:
        known = {attempt.id for attempt in case.log(launch.log_before).attempts}
        first: set[str] = set()  # steps that this launch began
        for attempt in case.log(launch.log_after).attempts:
            if attempt.id in known:
                continue
            if attempt.number == 2 and attempt.step in first:
                expected, found = "one only after a crash", "both in one launch"
                where = Where(launch, attempt.fact)
                yield broken("L5", "a second attempt", expected, found, where)
            first.add(attempt.step)


def one_after_the_other(case: Case) -> Iterator[Violation]:
    """L6. Calls of a turn are carried out one by one, lowest index first. Fails when a call has an
    intent or a result in the log before a call with a lower index has its result."""
    for _, turn in groupby(case.final.calls, key=lambda call: call.key[:2]):
        for lower, call in pairwise(turn):
            fact = call.intent or call.result
            if fact is None or fact.seq is None:
                continue
            answered = lower.result.seq if lower.result else None
            if answered is None or answered > fact.seq:
                expected = f"the result of call {lower.key.place} first"
                what = f"call {call.key.place} of a turn was taken up too early"
                yield broken("L6", what, expected, fact.type, Where(_writer(case, call), fact))


def for_the_right_reason(case: Case) -> Iterator[Violation]:
    """L8. A made-up result names the reason that holds. Fails when the log itself contradicts it:
    `unknownTool` of a tool that was offered, `invalidArguments` of arguments that are an object,
    `truncated` of a reply that was not, `aborted` without an abort, `interrupted` without an abort
    of a call that is safe to repeat."""
    for call in case.final.calls:
        held = _REASONS.get(call.outcome)
        if held is not None and call.result is not None and not held[1](call):
            what = f"{call.name} call {call.id!r} was answered for a wrong reason"
            where = Where(_writer(case, call), call.result)
            yield broken("L8", what, f"{held[0]}, for {call.outcome}", "none", where)


def ids_grow(case: Case) -> Iterator[Violation]:
    """L3. Fresh ids grow, even where the clock steps back. Fails when a fact has a lesser id than
    one of an earlier line; an id that was reserved is as old as the fact that reserved it."""
    before = now = ""  # the greatest id of earlier lines, and with that of this line
    line = 0
    reserved: set[object] = set()
    for fact in case.final.view.facts:
        reserved.add(fact.body.get("resultEntryId"))
        if fact.id is None or fact.id in reserved:
            continue
        if fact.line != line:
            before, line = now, fact.line
        if fact.id < before:
            expected = f"an id greater than {before}"
            where = Where(fact=fact)
            yield broken("L3", "the ids of facts do not grow", expected, fact.id, where)
            return
        now = max(now, fact.id)


def _object(text: str) -> bool:
    try:
        return isinstance(decode_json(text), dict)
    except ValueError:
        return False


def _offered(call: Call) -> bool:
    return call.attempt is None or call.name in call.attempt.tools


def _aborted(call: Call) -> bool:
    return call.operation is None or call.operation.aborted is not None


# reason -> what must hold in words, and as a test
_REASONS: dict[str, tuple[str, Callable[[Call], bool]]] = {
    "unknownTool": ("a tool that was not offered", lambda call: not _offered(call)),
    "invalidArguments": (
        "arguments that are no JSON object",
        lambda call: not _object(call.arguments),
    ),
    "truncated": ("a reply that was cut", lambda call: call.stop_reason == "length"),
    "aborted": ("an abort", _aborted),
    "interrupted": (
        "a call that may not be repeated, or an abort",
        lambda call: call.replay != "safe" or _aborted(call),
    ),
}


def _writer(case: Case, call: Call) -> Launch | None:
    """The launch in which the last fact of the call became durable."""
    fact = call.result or call.intent
    for launch in case.evidence.launches:
        facts = case.log(launch.log_after).view.facts
        if any(known.id == fact.id for known in facts if fact):
            return launch
    return None
