"""Rule R4: what holds a session up, and what a launch that is held up may do.

A launch is held up by a step whose attempts are used up, or by a change: something is otherwise
for it than when that was written which it goes on with (`chaos.judge.changes`), or a damage made
the log say what another version of the program would have written. Which reason a change gives is
the scenario's to say (`Facts.expect_blocked`); without its word, any that it can give.

Source: session contract, section 5 (questions 4, 10 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from chaos.evidence import Exec, Launch, LogWrite
from chaos.judge.case import Case, Need, Rule, Where, broken
from chaos.judge.changes import HEADER, changed_since, changes, refused_to_begin
from chaos.judge.history import Attempt, History
from chaos.judge.log import LF, Fact
from chaos.judge.rules_recovery import act, last_line
from chaos.points import DAMAGE, told
from chaos.results import Violation

_EXHAUSTED = "attempts_exhausted"
_REASONS = frozenset(
    {"configuration_changed", "environment_changed", "replay_declaration_changed", _EXHAUSTED}
)


def blocked_changes_nothing(case: Case) -> Iterator[Violation]:
    """R4. A launch that ends blocked has a cause, keeps every complete line, leaves its operation
    open (or begins none), and says on stderr the reason that its cause has. Fails when a line
    changed or a terminal fact came; when lines were added although the launch found an open attempt
    (which is retried or blocked, with nothing in between); when something ran although no line was
    added (a server for tools apart); when fewer than two attempts are used up and nothing is
    otherwise than when the attempt (or, for the environment, the session) began. Lines before the
    block, a result of an earlier call say, are allowed. Fails too when a launch goes on in spite of
    a change that must block it: makes a second attempt under another configuration, takes up a call
    or a further step in another environment, or a call whose tool it declares otherwise than the
    attempt that offered it."""
    for launch in case.evidence.launches:
        if case.exited(launch, "blocked"):
            yield from _blocked(case, launch)
        elif (went := _in_spite_of(case, launch)) is not None:
            fact, why = went
            what = f"a launch went on although {', '.join(why)}"
            expected = f"blocked: {case.evidence.facts.expect_blocked}"
            yield broken("R4", what, expected, fact.type, Where(launch, fact))
        else:
            yield from _redefined(case, launch)


def _blocked(case: Case, launch: Launch) -> Iterator[Violation]:
    fault = _fault(case, launch)
    if fault is not None:
        yield broken("R4", *fault, Where(launch))
        return
    reasons = _reasons(case, launch)
    if not any(reason in case.text(launch.stderr) for reason in reasons):
        what = "a blocked launch does not say what to restore"
        expected = f"{' or '.join(sorted(reasons))} on stderr"
        yield broken("R4", what, expected, last_line(case, launch), Where(launch))


def _fault(case: Case, launch: Launch) -> tuple[str, str, str] | None:
    """What, expected, found: the first thing that a blocked launch did wrong."""
    before, after = case.log(launch.log_before), case.log(launch.log_after)
    kept, now = before.view.complete, after.view.complete
    last = f"{after.last_fact.type if after.last_fact else 'no fact'} as the last fact"
    idle = after.open_operation is None and not refused_to_begin(case, launch)
    if not now.startswith(kept) or idle:
        expected = "every line kept and the operation open"
        return "a blocked launch changed the session", expected, last
    if now != kept and before.open_attempt is not None:
        added = now[len(kept) :].count(LF)
        return "a blocked launch went on", "no line more", f"{added} more"
    if now == kept:
        ran = next(filter(None, (act(launch, e) for e in _acts_of(case, launch))), None)
        if ran:
            return "a blocked launch acted", "nothing to happen", ran
    if not _reasons(case, launch):
        expected = "two attempts used up, since nothing else was changed"
        return "a launch is blocked without cause", expected, last
    return None


def _reasons(case: Case, launch: Launch) -> frozenset[str]:
    """What may hold this launch up."""
    log, wanted = case.log(launch.log_after), case.evidence.facts.expect_blocked
    if log.open_operation is not None and log.open_operation.aborted is not None:
        return frozenset()  # an abort comes before every check
    found = {_EXHAUSTED} if log.open_attempt and log.open_attempt.number == 2 else set()
    if _says_otherwise(case):
        found |= {wanted} if wanted else _REASONS
    return frozenset(found | changes(case, launch).keys())


def _says_otherwise(case: Case) -> bool:
    """Did the last damage make the log say something else?"""
    first = case.evidence.launches[0].first
    return any(how.startswith("say@") for how in told(first, DAMAGE))


def _acts_of(case: Case, launch: Launch) -> Iterator[object]:
    """Events but changes of the log, which are judged by its lines: a torn tail may be cut; and but
    the start of a program that another launch began while no call was pending: a server for tools,
    say, which must be asked what it offers now."""
    helpers = {
        event.argv
        for known in (case, *case.references)
        for event in known.evidence.events
        if isinstance(event, Exec)
        and (known is not case or event.launch != launch.index)
        and not known.log(event.log).pending
    }
    for event in case.evidence.of_launch(launch.index):
        helper = isinstance(event, Exec) and event.argv in helpers
        if not isinstance(event, LogWrite) and not helper:
            yield event


def _in_spite_of(case: Case, launch: Launch) -> tuple[Fact, tuple[str, ...]] | None:
    """The first fact that goes on, in a launch, with what was written when all was not as now; and
    what is otherwise."""
    reason = case.evidence.facts.expect_blocked or ""
    goes_on_with = _GOES_ON_WITH.get(reason)
    if goes_on_with is None:
        return None
    before, after = case.log(launch.log_before), case.log(launch.log_after)
    for fact in after.view.facts[len(before.view.facts) :]:
        line = goes_on_with(after, fact)
        if line is not None and (why := changed_since(case, launch, line, reason)):
            return fact, why
    return None


def _first_attempt(log: History, fact: Fact) -> int | None:
    """Of a second attempt: the line of the first, whose configuration it must have."""
    attempt = _attempt(log, fact)
    if attempt is None or attempt.number != 2:
        return None
    return log.attempts[log.attempts.index(attempt) - 1].fact.line


def _header(log: History, fact: Fact) -> int | None:
    """Of a call that is taken up, and of a further step: the header. It names the environment."""
    attempt = _attempt(log, fact)
    if attempt is None:
        return HEADER if fact.type == "toolStarted" else None
    earlier = log.attempts[: log.attempts.index(attempt)]
    return HEADER if any(known.operation is attempt.operation for known in earlier) else None


def _redefined(case: Case, launch: Launch) -> Iterator[Violation]:
    """The tools of a launch are those of the attempts that it makes."""
    before, after = case.log(launch.log_before), case.log(launch.log_after)
    known = {attempt.id for attempt in before.attempts}
    declared = next((a.tools for a in after.attempts if a.id not in known), None)
    if declared is None:
        return
    written = after.view.facts[len(before.view.facts) :]
    for call in after.calls:
        if call.attempt is None or call.attempt.id not in known or not call.name:
            continue
        fact = next((f for f in (call.intent, call.result) if f in written), None)
        offered, now = call.attempt.tools.get(call.name), declared.get(call.name)
        if fact is not None and offered not in (None, now):
            what = f"a call of {call.name} was taken up, which is declared otherwise now"
            yield broken("R4", what, offered, now, Where(launch, fact))
            return


def _attempt(log: History, fact: Fact) -> Attempt | None:
    return next((attempt for attempt in log.attempts if attempt.fact is fact), None)


# By the reason that must hold a launch up: what a fact goes on with (a line), if with anything.
_GOES_ON_WITH: Mapping[str, Callable[[History, Fact], int | None]] = {
    "configuration_changed": _first_attempt,
    "environment_changed": _header,
}

RULES: tuple[Rule, ...] = (
    Rule(
        "R4",
        "a blocked resume changes no complete line and says what to restore",
        frozenset({Need.FACTS}),
        blocked_changes_nothing,
    ),
)
