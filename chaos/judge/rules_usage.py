"""Rule L9 over evidence: usage is counted once per attempt, as the provider reported it.

What one log shows alone (a usage fact names an attempt of its operation; sums stay in bounds) is in
`chaos.judge.strict`. A reply that a kill or a cancellation kept from the log is owed nothing, but
somebody pays for it: `unaccounted` lists it.

Source: session contract, section 2 ("usage"); design section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chaos.evidence import Answered, Evidence, Request
from chaos.judge.case import Case, Need, Where, broken
from chaos.judge.log import Fact
from chaos.judge.shape_checks import SAFE_INTEGER
from chaos.results import Violation


def usage(case: Case) -> Iterator[Violation]:
    """L9. Usage is counted once per attempt and is what the provider reported. Fails when an
    attempt has two usage facts, when counters differ from the answer that the attempt got, when a
    durable reply (its answer went out whole and reported usage) has none at the end. A reply that
    died with a kill is owed nothing, nor one that the sums of a log could not hold. `input` may
    include or exclude cached tokens: both are in use, and the contract leaves it to the adapter."""
    final = case.final
    facts: dict[str, Fact] = {}
    for fact in final.usage:
        attempt = fact.body.get("attemptId")
        if isinstance(attempt, str) and facts.setdefault(attempt, fact) is not fact:
            yield broken("L9", "usage counted twice", "one usage fact", "two", Where(fact=fact))
    answers = _answers(case)
    for attempt_id, fact in facts.items():
        if attempt_id in answers:
            yield from _counters(fact, answers[attempt_id])
    if case.end is None:
        return
    counted = [fact.body.get("usage") for fact in final.usage]
    for attempt in final.attempts:
        request = answers.get(attempt.id)
        durable = attempt.settled is not None and attempt.settled.type in (
            "assistant",
            "compaction",
        )
        if durable and attempt.id not in facts and request and _whole(case, request):
            reported = _reported(request.usage or {})
            if reported is not None and _holds(counted, reported):
                expected = _tokens(reported)
                where = Where(case.launch_of(request), attempt.settled, request)
                what = "usage of a durable reply is not counted"
                yield broken("L9", what, expected, "none", where)


def _holds(counted: Sequence[object], reported: tuple[int, int, int]) -> bool:
    """Can a log with these counters count the reported ones, too? Its sums are bounded."""
    known = [usage for usage in counted if isinstance(usage, dict)]
    for name, count in zip(("input", "output", "cacheRead"), reported, strict=True):
        counts = (usage.get(name) for usage in known)
        if sum(n for n in counts if type(n) is int) + count > SAFE_INTEGER:
            return False
    return True


def _answers(case: Case) -> dict[str, Request]:
    """The request of each attempt. More than one is P2's; then the last one counts."""
    return {attempt.id: request for request, attempt in case.requests if attempt is not None}


def _whole(case: Case, request: Request) -> bool:
    """Did the whole answer go out?"""
    return any(
        isinstance(event, Answered)
        and (event.launch, event.ordinal) == (request.launch, request.ordinal)
        and event.complete
        for event in case.evidence.events
    )


def _reported(raw: Mapping[str, object]) -> tuple[int, int, int] | None:
    """Prompt, completion and cached tokens of an answer; None where it makes no sense of it."""
    details = raw.get("prompt_tokens_details")
    cached = raw.get(
        "cached_tokens", details.get("cached_tokens", 0) if isinstance(details, dict) else 0
    )
    counts = (raw.get("prompt_tokens"), raw.get("completion_tokens"), cached)
    prompt, completion, cached = (n if type(n) is int and n >= 0 else -1 for n in counts)
    return None if -1 in (prompt, completion, cached) else (prompt, completion, cached)


def _counters(fact: Fact, request: Request) -> Iterator[Violation]:
    counters = fact.body.get("usage")
    if not isinstance(counters, dict):
        return  # L1
    found = {k: counters.get(k) for k in ("input", "output", "cacheRead", "cacheWrite")}
    reported = _reported(request.usage or {}) if request.usage else (0, 0, 0)
    if reported is None:
        return
    prompt, completion, cached = reported
    written = found["cacheWrite"] if isinstance(found["cacheWrite"], int) else 0
    good = (
        found["input"] in (prompt, prompt - cached, prompt - cached - written)
        and found["output"] == completion
        and found["cacheRead"] == cached
    )
    if not good:
        expected, where = _tokens(reported), Where(fact=fact)
        yield broken("L9", "usage is not what the provider reported", expected, found, where)


def _tokens(reported: tuple[int, int, int]) -> str:
    return "prompt {}, completion {}, cached {}".format(*reported)


def unaccounted(evidence: Evidence) -> list[str]:
    """Replies that the provider counted and no durable fact does, one line each. No violation: they
    were lost with a kill, or came after an abort."""
    case = Case(evidence)
    if not case.has(Need.FACTS):
        return []
    counted = {fact.body.get("attemptId") for fact in case.final.usage}
    lines = []
    for request, attempt in case.requests:
        reported = _reported(request.usage) if request.usage else None
        if reported is not None and (attempt is None or attempt.id not in counted):
            where = Where(case.launch_of(request), event=request).words().removeprefix(" at ")
            lines.append(f"{_tokens(reported)}: request {request.ordinal}, {where}")
    return lines
