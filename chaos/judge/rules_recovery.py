"""Rules R1 to R3: the next start opens what a kill left, ends rightly, and leaves rest in peace.

R4, what holds a session up, is in `chaos.judge.rules_blocked`; R5, the end compared with the run
without a kill, in `chaos.judge.rules_end`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chaos.evidence import Exec, Launch, LogWrite, Request
from chaos.judge.case import Case, Need, Rule, Where, broken
from chaos.judge.changes import changes, refused_to_begin
from chaos.judge.history import History
from chaos.judge.rules_damage import names_its_fault, refused
from chaos.judge.rules_effects import Act, words
from chaos.results import Violation

# How the runtimes that agents are written in say that they fell over.
_CRASH = re.compile(
    r"^(Traceback \(most recent call last\):|Fatal Python error:|panic: |thread '.*' panicked at "
    r"|(Uncaught |Unhandled)|node:internal/.*)",
    re.MULTILINE,
)


def crash_report(stderr: str) -> str:
    """The first words of a runtime that fell over; empty where there are none."""
    found = _CRASH.search(stderr)
    return found.group() if found else ""


def opens_and_keeps_prompts(case: Case) -> Iterator[Violation]:
    """R1. Any crash image opens, and accepted prompts stand in it once each, in order. Fails when
    a launch says that the session is corrupt; when a prompt that was durable is gone, doubled or
    out of order; when a launch that ended by itself, and neither blocked nor refused, has lost the
    prompt of its step; when the probe turn does not complete, tool call included. A session that is
    damaged beyond a torn tail is refused instead: any other exit code than corrupt is a fault then,
    and any request, tool or change of a file."""
    yield from refused(case)
    for launch in case.evidence.launches if case.has(Need.OPENS) else ():
        if case.exited(launch, "corrupt"):
            found = f"exit code {launch.exit_code}: {last_line(case, launch)}"
            yield broken(
                "R1", "the session does not open", "a session that opens", found, Where(launch)
            )
            return  # nothing after it can be right
        if not case.has(Need.FACTS):
            continue
        fault = _prompt_fault(case, launch)
        if fault is not None:
            yield broken("R1", "a prompt is lost or doubled", *fault, Where(launch))
            return
        if launch.role == "probe":
            yield from _probe(case, launch)


def _prompt_fault(case: Case, launch: Launch) -> tuple[list[str], list[str]] | None:
    """The prompts expected in the log at the end of a launch and those found, if they differ."""
    due, found = _due(case, launch), case.log(launch.log_after).prompts
    return None if found == due else (due, found)


def _due(case: Case, launch: Launch) -> list[str]:
    """The prompts that must stand in the log after a launch: one a step, if the target accepted it
    or a launch of that step ended like one that did, and neither a signal came before it could nor
    an error kept it from writing."""
    facts, launches = case.evidence.facts, case.evidence.launches
    given: dict[int, str] = {}
    found: dict[int, int] = {}  # prompts in the log before the step
    due: set[int] = set()
    for known in (each for each in launches if each.index <= launch.index):
        before = len(case.log(known.log_before).prompts)
        if known.role in ("run", "probe") and known.step not in given:
            place = facts.steps[: known.step].count("run") if facts.steps else known.step
            probe = known.role == "probe"
            given[known.step] = facts.probe_prompt if probe else facts.prompts[place]
            found[known.step] = before
        if known.step not in given:
            continue
        accepted = len(case.log(known.log_after).prompts) > found[known.step]
        stopped = any(len(case.log(s.log).prompts) <= before for s in case.signals(known))
        refused = stopped and known.role == "run"
        failed = case.exited(known, "failed") and case.log_errors(known)
        if accepted or (_served(case, known) and not refused and not failed):
            due.add(known.step)
    left = case.log(launches[0].log_before).prompts  # by a damage
    return [*left, *(prompt for step, prompt in given.items() if step in due)]


def _served(case: Case, launch: Launch) -> bool:
    """Did the launch end as one does that accepted its prompt?"""
    return any(case.exited(launch, outcome) for outcome in ("completed", "failed", "aborted"))


def _probe(case: Case, launch: Launch) -> Iterator[Violation]:
    """The session can be used again. Timeouts, odd exits (R2) and a busy session (X1) are named
    elsewhere."""
    history = case.log(launch.log_after)
    operation = history.last_operation
    if not _served(case, launch) or operation is None:
        return
    results = [c.outcome for c in history.calls if c.key.operation == operation.ordinal]
    if operation.outcome != "completed" or not results or set(results) != {"success"}:
        found = f"{operation.outcome or 'open'}, with tool results {results}"
        expected = "completed, with a tool result of success"
        yield broken(
            "R1", "the probe turn failed", expected, found, Where(launch, operation.started)
        )


def ends_as_demanded(case: Case) -> Iterator[Violation]:
    """R2. A launch that is not killed ends within its limit, by itself, with the exit code that its
    log demands: that of the outcome of the operation it worked on, 0 where it found nothing to do,
    blocked where it leaves an operation open or, for a change, begins none. One that a signal found
    without an open operation may end as aborted too, and one whose write to the log returned an
    injected error as failed, if it says so on stderr; after a sync that failed it does nothing
    more. Fails too on a runtime's crash report on stderr; and when a launch that refuses a damaged
    session does not name code and line. Exit codes that say corrupt (R1) or busy (X1) are those
    rules' business otherwise."""
    yield from names_its_fault(case)
    for launch in case.evidence.launches:
        where = Where(launch)
        if launch.killed:
            continue  # what outlives a kill is X1's
        if launch.timed_out:
            found = f"still running after {launch.seconds:.1f} s; {launch.stacks or 'no stacks'}"
            yield broken("R2", "no end", "an end within the limit", found, where)
        elif launch.signal is not None:
            found = f"signal {launch.signal}: {last_line(case, launch)}"
            yield broken("R2", "an end by a signal of its own", "an exit code", found, where)
        elif crash := crash_report(case.text(launch.stderr)):
            found = f"{crash!r} … {last_line(case, launch)}"
            yield broken("R2", "the target fell over", "an orderly end", found, where)
        elif case.has(Need.FACTS) and not named_elsewhere(case, launch):
            if launch.role == "idle" and not case.settled:
                continue  # it found what an earlier launch is blamed for
            yield from _exit_code(case, launch)


def named_elsewhere(case: Case, launch: Launch) -> bool:
    """Is its exit code another rule's business: corrupt (R1), busy (X1)?"""
    return case.exited(launch, "corrupt") or case.exited(launch, "busy")


def _exit_code(case: Case, launch: Launch) -> Iterator[Violation]:
    outcome, why = _demanded(case, launch)
    code = case.code(outcome)
    if _stopped_idle(case, launch) and case.exited(launch, "aborted"):
        return
    yield from _went_on(case, launch)
    if case.log_errors(launch) and case.exited(launch, "failed"):
        if not case.text(launch.stderr).strip():
            what = "a write failed, and nothing was said"
            yield broken("R2", what, "a word on stderr", "none", Where(launch))
    elif code is not None and launch.exit_code != code:
        found = f"{launch.exit_code}: {last_line(case, launch)}"
        yield broken("R2", "wrong exit code", f"{code}, since {why}", found, Where(launch))


def _went_on(case: Case, launch: Launch) -> Iterator[Violation]:
    """What a launch did after its log could not be synced: from then on nobody knows what of it is
    durable, whatever a later sync says."""
    errors = (e for e in case.log_errors(launch) if e.at.startswith("log") and "EINTR" not in e.do)
    first = next((e for e in errors if "sync" in e.call), None)
    if first is None:
        return
    for event in case.evidence.of_launch(launch.index):
        if event.order > first.order and (done := act(launch, event)):
            what = "a launch went on although its log could not be synced"
            yield broken("R2", what, "its end", done, Where(launch, event=event))
            return


def _demanded(case: Case, launch: Launch) -> tuple[str, str]:
    """The outcome that the exit code must tell, and why."""
    before, after = case.log(launch.log_before), case.log(launch.log_after)
    operation = after.open_operation
    if operation is not None:
        return "blocked", f"operation {operation.ordinal} is left open"
    last = after.last_operation
    if last is None or _ends(before) == _ends(after):
        if refused_to_begin(case, launch):
            return "blocked", "something was changed"
        return "completed", "there was nothing to do"
    return last.outcome or "completed", f"operation {last.ordinal} {last.outcome}"


def _stopped_idle(case: Case, launch: Launch) -> bool:
    """Did a signal stop a launch while no operation was open? It may say so."""
    logs = [case.log(signal.log) for signal in case.signals(launch)]
    return any(log.open_operation is None for log in logs)


def _ends(history: History) -> int:
    return sum(len(operation.finished) for operation in history.operations)


def idle_does_nothing(case: Case) -> Iterator[Violation]:
    """R3. A second resume changes no byte (a torn tail included), asks no provider and runs no
    tool. Fails on any act, be its sum nothing. A wrapper that starts the target anew is not an
    act. Not judged where the first one fell over and left work to do (L7, R2); its exit code is
    R2's business."""
    end = case.end
    if not case.settled or (case.blocked and end is not None and changes(case, end.launch)):
        return  # what held it up may be taken back, and must be looked at
    for launch in case.evidence.launches:
        if launch.role != "idle":
            continue
        for event in case.evidence.of_launch(launch.index):
            done = act(launch, event)
            if done:
                where = Where(launch, event=event)
                yield broken("R3", "an idle resume was not idle", "nothing to happen", done, where)
                return
        if launch.log_after != launch.log_before:
            before, after = (
                case.evidence.blobs.get(x) for x in (launch.log_before, launch.log_after)
            )
            expected, found = (
                f"the {len(before)} bytes as they were",
                f"{len(after)} bytes, changed",
            )
            yield broken("R3", "an idle resume changed the log", expected, found, Where(launch))


def act(launch: Launch, event: object) -> str:
    """What an event of an idle launch is, if it is an act."""
    if isinstance(event, LogWrite) and event.log != launch.log_before:
        return f"{event.call} on the log"
    if isinstance(event, Request):
        return "a request to the provider"
    wrapper = isinstance(event, Exec) and event.argv[1:] == launch.argv[-len(event.argv) + 1 :]
    return words(event) if isinstance(event, Act) and not wrapper else ""


def last_line(case: Case, launch: Launch) -> str:
    """The last words of a launch, for a message."""
    lines = [line for line in case.text(launch.stderr).splitlines() if line.strip()]
    return f"stderr ends {lines[-1].strip()!r}" if lines else "stderr is empty"


RULES: tuple[Rule, ...] = (
    Rule(
        "R1",
        "any crash image opens; an accepted prompt is never lost or doubled",
        frozenset(),
        opens_and_keeps_prompts,
    ),
    Rule(
        "R2",
        "resume ends within its limits, with the exit code its plan demands",
        frozenset(),
        ends_as_demanded,
    ),
    Rule(
        "R3",
        "a second resume changes no byte, asks no provider, runs no tool",
        frozenset({Need.LOG}),
        idle_does_nothing,
    ),
)
