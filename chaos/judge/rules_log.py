"""Rules L: what the session log holds.

L1, L3 to L8, L10 and L11 come from the strict reading of single logs (`chaos.judge.strict`), of
every crash image, of what every launch left, and of the final log. L2, L7 (a terminal fact must
be there) and L9 (the counters are the provider's) need more than one log, and are here. What a
valid log shows of a writer that does not keep to its plan is in `chaos.judge.rules_conduct`, the
order of abort and cancellation in `chaos.judge.rules_abort`.

A file without one complete line is no session yet, and so has nothing to break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from chaos.evidence import Answered, Kill, Launch, Request, Sha
from chaos.judge.case import Case, Need, Rule, Where, broken
from chaos.judge.log import LF, Fact, split_torn
from chaos.judge.rules_abort import durable_first, heeded, names_its_phase, wins
from chaos.judge.rules_conduct import (
    for_the_right_reason,
    one_after_the_other,
    retried_after_a_crash,
)
from chaos.judge.strict import check_log
from chaos.results import Violation


def strict(rule: str, case: Case) -> Iterator[Violation]:
    """The strict reading of every log that a launch or a kill left. Fails at the first fact that
    the contract does not allow; a fact that later logs repeat is reported once."""
    said: set[tuple[object, object, str]] = set()
    for launch, name in _left(case):
        for violation in _reading(case, name):
            place = (
                violation.evidence.get("line"),
                violation.evidence.get("seq"),
                violation.message,
            )
            if violation.id == rule and place not in said:
                said.add(place)
                yield Violation(
                    violation.id,
                    f"{violation.message}, as left by{Where(launch).words().removeprefix(' at')}",
                    {"launch": launch.index, **violation.evidence},
                )


def _reading(case: Case, name: Sha) -> tuple[Violation, ...]:
    """The strict reading of one log. Lines are read one after the other, so where the final log
    reads well, what it begins with does too."""
    blobs = case.evidence.blobs
    final = blobs.get(case.evidence.launches[-1].log_after)
    begins_it = final.startswith(split_torn(blobs.get(name))[0])
    return strict_reading(final if begins_it and not strict_reading(final) else blobs.get(name))


def _left(case: Case) -> Iterator[tuple[Launch, Sha]]:
    """The distinct logs that kills and launches left, in order."""
    seen: set[Sha] = set()
    for launch in case.evidence.launches:
        kills = [e.after for e in case.evidence.of_launch(launch.index) if isinstance(e, Kill)]
        for name in (launch.log_before, *kills, launch.log_after):
            if name not in seen:
                seen.add(name)
                yield launch, name


@lru_cache(maxsize=512)
def strict_reading(data: bytes) -> tuple[Violation, ...]:
    """`check_log`, remembered; nothing for a file that is no session yet."""
    return tuple(check_log(data)) if LF in data else ()


def append_only(case: Case) -> Iterator[Violation]:
    """L2. At every instant that was seen, the log starts with the complete lines of the instant
    before. Fails when a complete line was changed, cut or replaced; a torn tail may go."""
    name: Sha | None = None
    for launch in case.evidence.launches:
        events = [(e, e.log) for e in case.evidence.of_launch(launch.index) if hasattr(e, "log")]
        for event, now in ((None, launch.log_before), *events, (None, launch.log_after)):
            if name is not None and now != name:
                before, _ = split_torn(case.evidence.blobs.get(name))
                found = case.evidence.blobs.get(now)
                if not found.startswith(before):
                    line, was, is_now = _first_difference(before, found)
                    where = Where(launch, event=event, line=line)
                    yield broken("L2", "a complete line was changed", was, is_now, where)
            name = now


def _first_difference(before: bytes, found: bytes) -> tuple[int, str, str]:
    """The first line in which two logs part, and what stands there in each."""
    pairs = zip(before, found, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(found)))
    start = before.rfind(LF, 0, at) + 1
    return before.count(LF, 0, at) + 1, _around(before, start, at), _around(found, start, at)


def _around(log: bytes, start: int, at: int) -> str:
    """A few bytes of the line that begins at `start`, from a little before `at` on."""
    if at >= len(log):
        return f"its end after {len(log)} bytes"
    begin = max(start, at - 20)
    end = log.find(LF, at) + 1 or len(log)
    text = log[begin : min(end, begin + 60)].decode("utf-8", "replace")
    return f"{'…' if begin > start else ''}{text!r}"


def terminal_facts(case: Case) -> Iterator[Violation]:
    """L7. At most one terminal fact an operation (strict reading), and exactly one when the last
    launch of the steps ended by itself. A blocked, corrupt or busy end leaves it open rightly (or
    is another rule's); an end at the time limit is R2's."""
    end = case.end
    if end is None or any(case.exited(end.launch, code) for code in ("blocked", "corrupt", "busy")):
        return
    for operation in end.history.operations:
        if not operation.finished:
            yield broken(
                "L7",
                f"operation {operation.ordinal} has no terminal fact after an unblocked launch",
                "one operationFinished",
                "none",
                Where(end.launch, operation.started),
            )


def usage(case: Case) -> Iterator[Violation]:
    """L9. Usage is counted once per attempt and is what the provider reported. Fails when an
    attempt has two usage facts, when counters differ from the answer that the attempt got, when a
    durable reply (its answer went out whole and reported usage) has none at the end. A reply that
    died with a kill is owed nothing. `input` may include or exclude cached tokens: both are in
    use, and the contract leaves it to the adapter."""
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
    for attempt in final.attempts:
        request = answers.get(attempt.id)
        durable = attempt.settled is not None and attempt.settled.type in (
            "assistant",
            "compaction",
        )
        if durable and attempt.id not in facts and request and _whole(case, request):
            reported = _reported(request.usage or {})
            if reported is not None:
                expected = _tokens(reported)
                where = Where(case.launch_of(request), attempt.settled, request)
                what = "usage of a durable reply is not counted"
                yield broken("L9", what, expected, "none", where)


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


def _row(
    ident: str,
    statement: str,
    *more: Callable[[Case], Iterator[Violation]],
) -> Rule:
    """A rule over facts: the strict reading, and what that alone cannot see."""

    def check(case: Case) -> Iterator[Violation]:
        yield from strict(ident, case)
        for beyond in more:
            yield from beyond(case)

    return Rule(ident, statement, frozenset({Need.FACTS}), check)


RULES: tuple[Rule, ...] = (
    _row("L1", "every byte up to the last LF is strict, valid, canonical framing"),
    Rule(
        "L2",
        "complete lines are never changed: the log is append-only",
        frozenset(),
        append_only,
    ),
    _row("L3", "seq is 1,2,3… with no gap; ids are unique UUIDv7"),
    _row("L4", "references resolve and every fact is a legal transition of its operation"),
    _row(
        "L5",
        "at most two attempts a step; the second only after a crash, at the same boundary",
        retried_after_a_crash,
    ),
    _row(
        "L6",
        "each tool call has exactly one result, in order; no intent for a call that must not run",
        one_after_the_other,
    ),
    _row("L7", "exactly one terminal fact an operation, unless resume is blocked", terminal_facts),
    _row(
        "L8", "synthetic results carry their exact text and the right reason", for_the_right_reason
    ),
    _row("L9", "usage is counted once per attempt and equals what the provider reported", usage),
    _row("L10", "compaction partitions its sources exactly and its digest matches"),
    _row(
        "L11",
        "an abort is durable before anything is cancelled, and wins over a late success",
        durable_first,
        heeded,
        wins,
        names_its_phase,
    ),
)
