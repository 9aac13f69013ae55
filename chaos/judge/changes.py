"""What is otherwise for a launch than for those that wrote what it finds.

The scenario changes something for one launch and takes it back after it. What that launch wrote, it
wrote under the change: a later one, for which nothing is changed, finds another world too.

Pure. Does not know which change must hold a launch up; the scenario says that (`expect_blocked`).
Source: session contract, section 5 (questions 4, 10 and 11).
"""

from __future__ import annotations

from chaos.evidence import Launch
from chaos.judge.case import Case
from chaos.judge.log import LF

HEADER = 1  # line


def changes(case: Case, launch: Launch) -> tuple[str, ...]:
    """What was changed for this launch; and what was changed for one that wrote the header, or part
    of the operation that is open, and is not changed any more."""
    operation = case.log(launch.log_before).open_operation
    found = [
        what
        for writer in _before(case, launch)
        for lines in [_lines(case, writer)]
        if HEADER in lines or (operation and operation.started.line < lines.stop and lines)
        for what in writer.changed
    ]
    gone = [f"{what} is taken back" for what in found if what not in launch.changed]
    return tuple(dict.fromkeys((*launch.changed, *gone)))


def is_as_it_was(case: Case, launch: Launch, line: int) -> bool:
    """Is the same changed for this launch as for that which wrote a line before it? None of the
    launches that are known wrote what a damaged session began with: nothing was changed then."""
    writers = (w.changed for w in _before(case, launch) if line in _lines(case, w))
    return set(launch.changed) == set(next(writers, ()))


def refused_to_begin(case: Case, launch: Launch) -> bool:
    """Did a launch that was to begin something begin nothing, since it found a change?"""
    begins = launch.role in ("run", "compact") and bool(changes(case, launch))
    idle = case.log(launch.log_after).open_operation is None
    return begins and idle and case.exited(launch, "blocked")


def _before(case: Case, launch: Launch) -> tuple[Launch, ...]:
    return tuple(each for each in case.evidence.launches if each.index < launch.index)


def _lines(case: Case, launch: Launch) -> range:
    """The numbers of the lines that a launch added."""
    logs = (case.log(name) for name in (launch.log_before, launch.log_after))
    before, after = (log.view.complete.count(LF) for log in logs)
    return range(before + 1, after + 1)
