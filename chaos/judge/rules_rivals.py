"""Rule X2: two starts of the target on one session at the same time.

Source: session contract section 1 ("One writer"), fault catalogue class 17.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.evidence import Event, Exec, Launch, LogWrite, Request, Rival
from chaos.judge.case import Case, Where, broken
from chaos.judge.rules_effects import is_act, words
from chaos.judge.rules_recovery import crash_report
from chaos.results import Violation

# What a start may say that was turned away while another was held, that came to nothing in a race,
# and that did some work.
_WAS_HELD = ("busy", "completed")
_WAITED = ("busy", "completed", "blocked")
_WORKED = ("completed", "failed", "aborted", "blocked")


def one_writer(case: Case) -> Iterator[Violation]:
    """X2. While a process that has written the log is stopped, every other start is refused or
    finds nothing to do; of starts at the same instant, one writes after the other has. Fails when a
    process writes the log, another does, and the first does again; when anything happens (a write,
    a request, an effect, the start of a tool) while the writer is stopped and another start runs;
    when a start ends by a signal that the schedule did not send, falls over, or has an exit code
    that says neither busy nor what it did. Not judged of starts without a rival."""
    for launch in case.evidence.launches:
        rivals = [e for e in case.evidence.of_launch(launch.index) if isinstance(e, Rival)]
        if not rivals:
            continue
        yield from _interleaved(case, launch)
        for rival in rivals:
            yield from _while_held(case, launch, rival)
            yield from _ended(case, launch, rival)


def _writes(case: Case, launch: Launch) -> Iterator[LogWrite]:
    """The calls that changed the log."""
    log = launch.log_before
    for event in case.evidence.of_launch(launch.index):
        if isinstance(event, LogWrite):
            if event.log != log:
                yield event
            log = event.log


def _interleaved(case: Case, launch: Launch) -> Iterator[Violation]:
    gone: dict[int, int] = {}  # who wrote once, and who wrote after it
    last: int | None = None
    for write in _writes(case, launch):
        if write.pid in gone:
            found = f"process {write.pid} wrote again after process {gone[write.pid]} had"
            where = Where(launch, event=write)
            yield broken("X2", "two writers took turns", "one writer at a time", found, where)
            return
        if last is not None and last != write.pid:
            gone[last] = write.pid
        last = write.pid


def _while_held(case: Case, launch: Launch, rival: Rival) -> Iterator[Violation]:
    """What happened while one was stopped that had written. Where a tool of the writer is the one
    that stands, the writer itself may go on; and so may a tool of it that ran already."""
    events = list(case.evidence.of_launch(launch.index))
    writers = {write.pid for write in _writes(case, launch) if write.order <= rival.since}
    tools = {e.pid for e in events if isinstance(e, Exec) and e.order <= rival.since}
    if rival.held is None or not writers:
        return
    for event in events:
        if not rival.since < event.order < rival.order:
            continue
        others = getattr(event, "pid", None) not in writers | tools
        act = _act(case, event) if others else ""
        if act and (rival.held in writers or isinstance(event, LogWrite)):
            where = Where(launch, event=event)
            what = "a second start acted while a writer was held"
            yield broken("X2", what, "it refused, or idle", act, where)
            return


def _act(case: Case, event: Event) -> str:
    """What an event is, if it is an act."""
    if isinstance(event, LogWrite):
        return f"{event.call} on the log by process {event.pid}"
    if isinstance(event, Request):
        return "a request to the provider"
    return words(event) if is_act(event, case) else ""


def _ended(case: Case, launch: Launch, rival: Rival) -> Iterator[Violation]:
    """How it ended: in order, and with a word that fits."""
    where = Where(launch, event=rival)
    if launch.timed_out or (launch.killed and rival.signal is not None):
        return
    if rival.signal is not None:
        yield broken("X2", "a second start fell", "an exit code", f"signal {rival.signal}", where)
        return
    if crash := crash_report(case.text(rival.stderr)):
        yield broken("X2", "a second start fell over", "an orderly end", crash, where)
        return
    if case.code("busy") is None:
        return  # the target has no word for being refused
    worked = any(write.pid == rival.pid for write in _writes(case, launch))
    fitting = _WORKED if worked else _WAITED if rival.held is None else _WAS_HELD
    codes = [code for code in map(case.code, fitting) if code is not None]
    if rival.exit_code not in codes:
        expected = f"exit code {' or '.join(map(str, codes))}"
        said = case.text(rival.stderr).strip().rpartition("\n")[2]
        found = f"{rival.exit_code}: {said}"
        yield broken("X2", "a second start ended wrongly", expected, found, where)
