"""Rules L: what the session log holds.

L1, L3 to L8, L10 and L11 come from the strict reading of single logs (`chaos.judge.strict`), of
every crash image, of what every launch left, and of the final log. L2 and L7 (a terminal fact
must be there) need more than one log, and are here. What a valid log shows of a writer that does
not keep to its plan is in `chaos.judge.rules_conduct`, the order of abort and cancellation in
`chaos.judge.rules_abort`, whether replies (L4) and their usage (L9) are the provider's in
`chaos.judge.rules_replies` and `chaos.judge.rules_usage`.

A file without one complete line is no session yet, and so has nothing to break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from chaos.evidence import ABSENT, Kill, Launch, Sha
from chaos.judge.case import Case, Need, Rule, Where, broken
from chaos.judge.log import LF, split_torn
from chaos.judge.rules_abort import durable_first, heeded, names_its_phase, wins
from chaos.judge.rules_conduct import (
    for_the_right_reason,
    ids_grow,
    one_after_the_other,
    retried_after_a_crash,
)
from chaos.judge.rules_damage import untouched
from chaos.judge.rules_replies import as_said
from chaos.judge.rules_usage import usage
from chaos.judge.strict import check_log
from chaos.points import POWER_LOSS, told
from chaos.power_loss import acknowledged
from chaos.results import Violation


def strict(rule: str, case: Case) -> Iterator[Violation]:
    """The strict reading of every log that a launch or a kill left. Fails at the first fact that
    the contract does not allow; a fact that later logs repeat is reported once."""
    said: set[tuple[object, object, str]] = set()
    for launch, violation in case.remember(_readings):
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


def _readings(case: Case) -> tuple[tuple[Launch, Violation], ...]:
    """What the strict reading of the logs finds: one for all the rules that are read off it."""
    return tuple((launch, v) for launch, name in _left(case) for v in _reading(case, name))


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
        kills = [e.log_after for e in case.evidence.of_launch(launch.index) if isinstance(e, Kill)]
        for name in (launch.log_before, *kills, launch.log_after):
            if name not in seen:
                seen.add(name)
                yield launch, name


@lru_cache(maxsize=16)
def strict_reading(data: bytes) -> tuple[Violation, ...]:
    """`check_log`, remembered; nothing for a file that is no session yet."""
    return tuple(check_log(data)) if LF in data else ()


def append_only(case: Case) -> Iterator[Violation]:
    """L2. At every instant that was seen, the log starts with the complete lines of the instant
    before. Fails when a complete line was changed, cut or replaced; a torn tail may go. Fails too
    when a loss of power took a line that somebody outside may have known of; and when one byte of a
    session that is damaged beyond a torn tail changes."""
    yield from untouched(case)
    name: Sha | None = None
    for launch in case.evidence.launches:
        if launch.first:  # what was done to the log between two launches is not the target's doing
            yield from _lost(case, launch)
            name = None
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


def _lost(case: Case, launch: Launch) -> Iterator[Violation]:
    """The lines that a power loss before this launch took, and that had been acted upon."""
    if not told(launch.first, POWER_LOSS):
        return
    past = [e for e in case.evidence.events if e.launch < launch.index]
    over = (o.log_after for o in case.evidence.launches[: launch.index] if not o.killed)
    logs = [case.evidence.blobs.get(name) for name in (acknowledged(past) or ABSENT, *over)]
    known, _ = split_torn(max(logs, key=len))
    left = case.evidence.blobs.get(launch.log_before)
    if not left.startswith(known):
        line, was, _ = _first_difference(known, left)
        where = Where(launch, line=line)
        found = f"it lost, of {known.count(LF)} lines that had been acted upon"
        yield broken("L2", "a power loss took a durable line", was, found, where)


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

    check.__doc__ = " ".join((beyond.__doc__ or "").removeprefix(f"{ident}. ") for beyond in more)
    return Rule(ident, statement, frozenset({Need.FACTS}), check)


RULES: tuple[Rule, ...] = (
    _row("L1", "every byte up to the last LF is strict, valid, canonical framing"),
    Rule(
        "L2",
        "complete lines are never changed: the log is append-only",
        frozenset({Need.LOG}),
        append_only,
    ),
    _row("L3", "seq is 1,2,3… with no gap; ids are unique UUIDv7 and grow", ids_grow),
    _row("L4", "references resolve and every fact is a legal transition of its operation", as_said),
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
