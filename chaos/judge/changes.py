"""What is otherwise for a launch than it was when that was written which may hold it up.

The scenario changes something for one launch and takes it back after it. What that launch wrote, it
wrote under the change: a later one, for which nothing is changed, finds another world too.

Pure. Which reason a change must give is not known here; the scenario says that (`expect_blocked`).
Source: session contract, section 5 (questions 4, 10 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chaos.evidence import Launch
from chaos.judge.case import Case
from chaos.judge.history import Attempt, History
from chaos.judge.log import LF

HEADER = 1  # line


def changes(case: Case, launch: Launch) -> Mapping[str, tuple[str, ...]]:
    """What may hold this launch up, by the reason that it gives: that which the scenario names, or
    any."""
    log, wanted = case.log(launch.log_after), case.evidence.facts.expect_blocked
    found = {
        reason: tuple(
            dict.fromkeys(
                what for line in lines(log) for what in changed_since(case, launch, line, reason)
            )
        )
        for reason, lines in _MADE_UNDER.items()
        if wanted in (None, reason)
    }
    return {reason: changed for reason, changed in found.items() if changed}


def changed_since(case: Case, launch: Launch, line: int, reason: str) -> tuple[str, ...]:
    """What is changed for this launch and was not for that which wrote a line of its log, or is
    taken back since then. Without what cannot give the reason."""
    then = next((w.changed for w in _until(case, launch) if line in _lines(case, w)), ())
    made = [what for what in launch.changed if what not in then]
    gone = [what for what in then if what not in launch.changed]
    told = {**{what: what for what in made}, **{what: f"{what} is taken back" for what in gone}}
    return tuple(words for what, words in told.items() if _can_give(what, reason))


def refused_to_begin(case: Case, launch: Launch) -> bool:
    """Did a launch that was to begin something begin nothing, since the environment is another than
    the session's? Nothing else holds up what has not begun."""
    return (
        launch.role in ("run", "compact", "probe")
        and case.log(launch.log_after).open_operation is None
        and case.exited(launch, "blocked")
        and _ENVIRONMENT in changes(case, launch)
    )


def _until(case: Case, launch: Launch) -> tuple[Launch, ...]:
    """This launch and those before it, the last one first."""
    earlier = case.damaged.launches if case.damaged else ()
    known = (*earlier, *case.evidence.launches)
    return tuple(each for each in reversed(known) if each.index <= launch.index)


def _lines(case: Case, launch: Launch) -> range:
    """The numbers of the lines that a launch added."""
    logs = (case.log(name) for name in (launch.log_before, launch.log_after))
    before, after = (log.view.complete.count(LF) for log in logs)
    return range(before + 1, after + 1)


def _can_give(what: str, reason: str) -> bool:
    """Can a change give the reason? The clock gives none."""
    kind = what.partition(":")[0]
    return kind in ("move", "set") if reason == _ENVIRONMENT else kind != "clock"


def _header(log: History) -> list[int]:
    return [HEADER] if log.view.header is not None else []


def _attempt(log: History) -> list[int]:
    """The attempt that is open, has failed, or whose calls are to be answered."""
    return [attempt.fact.line for attempt in log.attempts[-1:] if _is_left(log, attempt)]


def _is_left(log: History, attempt: Attempt) -> bool:
    if attempt.operation is not log.open_operation:
        return False
    settled = attempt.settled is not None and attempt.settled.type != "stepFailed"
    return not settled or any(x.attempt is attempt and x.result is None for x in log.calls)


def _intents(log: History) -> list[int]:
    return [call.intent.line for call in log.pending if call.intent is not None]


_ENVIRONMENT = "environment_changed"
# By the reason that a launch gives: the lines that were written in the world it wants back.
_MADE_UNDER: Mapping[str, Callable[[History], list[int]]] = {
    "configuration_changed": _attempt,
    _ENVIRONMENT: _header,
    "replay_declaration_changed": _intents,
}
