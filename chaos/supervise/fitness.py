"""Is a scenario fit to be swept? What its run without a kill must show, or nothing is tested.

Pure. A target whose log was not found, a log in another dialect, an effect that never happens: each
would pass or fail for a reason that has nothing to do with a crash, so it is a fault of the
scenario or its target file, and is said before anything is killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chaos.errors import ScenarioError, UsageError
from chaos.evidence import Effect, Evidence, Launch, LogWrite, Request, StateWrite
from chaos.judge.log import read_log
from chaos.options import SweepOptions
from chaos.scenario import Scenario

_STDERR_LINES = 8
_NOT_LET_IN = (401, 403)
_ONE_AT_A_TIME = re.compile(rb'"parallel_tool_calls": ?false')
_WITHOUT_FACTS = ("kill", "signal", "error")  # families that need no log of facts


def check_options(scenario: Scenario, options: SweepOptions) -> None:
    """Raises UsageError where a sweep is asked for what the scenario's target cannot show."""
    target = scenario.target
    if target.session.by_facts:
        return
    if options.depth != 1:
        raise UsageError(
            f"{scenario.path}: the target {target.name!r} has the dialect {target.dialect!r}: its "
            "crash images cannot be compared, so a walk over them would not end; leave --depth "
            "out (kills of a kill can be given as a schedule)"
        )
    if options.faults not in _WITHOUT_FACTS:
        raise UsageError(
            f"{scenario.path}: --faults {options.faults} needs a session log of facts, which the "
            f"target {target.name!r} (dialect {target.dialect!r}) has not; it has the families "
            f"{', '.join(_WITHOUT_FACTS)}"
        )


def check_reference(scenario: Scenario, reference: Evidence) -> None:
    """Raises ScenarioError saying what was expected, what was found and what to do."""
    for complaint in (
        *_model(scenario, reference),
        *_log(scenario, reference),
        *_parallel(scenario, reference),
        *_state(scenario, reference),
        *_dialect(scenario, reference),
        *_effects(scenario, reference),
    ):
        raise ScenarioError(complaint)


def _model(scenario: Scenario, reference: Evidence) -> Iterator[str]:
    """A log of facts would show what is wrong otherwise."""
    if scenario.target.session.by_facts:
        return
    requests = [event for event in reference.events if isinstance(event, Request)]
    if not any(request.ordinal for request in requests):
        paths = sorted({f"{request.method} {request.path}" for request in requests})
        launch = reference.launches[0]
        yield (
            f"{scenario.target.path}: expected the target to ask the model at {{base_url}}, found "
            f"{', '.join(paths) or 'no request'} in the run without a kill ({_ended(launch)})"
            f"{_last_lines(reference, launch)}"
        )
        return
    refused = next((request for request in requests if request.status in _NOT_LET_IN), None)
    if refused is not None and all(request.status != 200 for request in requests):
        yield (
            f"{scenario.target.path}: expected the target to send the key {{api_key}}, found its "
            f"requests answered {refused.status} ({refused.reason}) in the run without a kill"
            f"{_last_lines(reference, reference.launches[0])}"
        )


def _parallel(scenario: Scenario, reference: Evidence) -> Iterator[str]:
    """A model that is told to make one call at a time makes one."""
    several = any(len(turn.tool_calls) > 1 for turn in scenario.turns)
    if scenario.target.session.by_facts or not several:
        return
    bodies = (reference.blobs.get(e.body) for e in reference.events if isinstance(e, Request))
    if any(_ONE_AT_A_TIME.search(body) for body in bodies):
        yield (
            f"{scenario.target.path}: its requests ask for one tool call at a time "
            f"(parallel_tool_calls), found several in a turn of {scenario.path}: give each a turn "
            "of its own; for `chaos certify`, say parallel = false in [shell]"
        )


def _state(scenario: Scenario, reference: Evidence) -> Iterator[str]:
    globs = scenario.target.session.durable
    if globs and not any(isinstance(event, StateWrite) for event in reference.events):
        launch = reference.launches[0]
        yield (
            f"{scenario.target.path}: expected the target to write files that match one of "
            f"{', '.join(map(repr, globs))}, found none in the run without a kill "
            f"({_ended(launch)}){_last_lines(reference, launch)}"
        )


def _log(scenario: Scenario, reference: Evidence) -> Iterator[str]:
    if scenario.target.log and not any(isinstance(event, LogWrite) for event in reference.events):
        launch = reference.launches[0]
        yield (
            f"{scenario.target.path}: expected the target to write a session log that matches "
            f"{scenario.target.log!r} in its workspace, found none in the run without a kill "
            f"({_ended(launch)}){_last_lines(reference, launch)}"
        )


def _dialect(scenario: Scenario, reference: Evidence) -> Iterator[str]:
    log = reference.blobs.get(reference.launches[0].log_after)
    if scenario.target.dialect == "session-v2" and log and read_log(log).header is None:
        first = log.partition(b"\n")[0][:120].decode("utf-8", "backslashreplace")
        yield (
            f"{scenario.target.path}: expected a session log of the dialect session-v2, whose "
            f"first line is its header, found {first!r}; see docs/session-log.md"
        )


def _effects(scenario: Scenario, reference: Evidence) -> Iterator[str]:
    """`once` is left to the judge, since an effect that must happen and does not is a violation.
    With events, an effect may happen where a kill comes before them only."""
    if scenario.events:
        return
    happened = {event.name for event in reference.events if isinstance(event, Effect)}
    for name, wanted in scenario.expect_effects.items():
        if wanted in ("at-most-once", "per-intent") and name not in happened:
            had = ", ".join(sorted(happened - {"probe"})) or "none"
            yield (
                f"{scenario.path}: effect {name!r} is expected {wanted}, but never happens in the "
                f"run without a kill, so nothing would be tested; the run has these: {had}. "
                "An effect is a line appended to $CHAOS_EFFECTS"
            )


def _ended(launch: Launch) -> str:
    if launch.timed_out:
        return "it was ended at its time limit"
    return f"exit code {launch.exit_code}" if launch.signal is None else f"signal {launch.signal}"


def _last_lines(reference: Evidence, launch: Launch) -> str:
    told = reference.blobs.get(launch.stderr).decode("utf-8", "backslashreplace").splitlines()
    return "".join(f"\n  {line}" for line in told[-_STDERR_LINES:])
