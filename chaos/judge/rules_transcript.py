"""Rules over a transcript: a session log of JSON lines whose keys the target file names.

What the lines mean beyond role, call and result is the target's own affair, and not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chaos.evidence import Launch, LogWrite
from chaos.judge.case import Case, Need, Rule, Where, broken, ended_from_outside, shown
from chaos.results import Violation
from chaos.transcript import Line, read_line

_LINES = frozenset({Need.LINES})


def every_line_is_json(case: Case) -> Iterator[Violation]:
    """In a transcript: every complete line is JSON, and whatever a kill tore is mended, or gone,
    when the next launch has ended by itself. Fails at each line that is not: one that another line
    was appended to stays unreadable for ever."""
    said: set[bytes] = set()
    for launch in case.evidence.launches:
        complete, tail = _lines(case, launch)
        torn = [tail] if tail and not ended_from_outside(launch) else []
        for number, line in enumerate((*complete, *torn), 1):
            if read_line(line, case.evidence.facts.transcript) is None and line not in said:
                said.add(line)
                found = shown(line.decode("utf-8", "backslashreplace"))
                where = Where(launch, line=number)
                yield broken("L1", "a line cannot be read", "a JSON value", found, where)


def only_appended(case: Case) -> Iterator[Violation]:
    """In a transcript: the complete lines found after a launch begin every later log. Not judged of
    a target that writes its lines anew without any kill."""
    if any(_rewrites(Case(known)) for known in case.evidence.references):
        return
    for before, after in zip(case.evidence.launches, case.evidence.launches[1:], strict=False):
        kept, found = _lines(case, before)[0], _lines(case, after)[0]
        for number, line in enumerate(kept, 1):
            if found[number - 1 : number] != [line]:
                there = found[number - 1].decode("utf-8", "replace") if number <= len(found) else ""
                expected = shown(line.decode("utf-8", "replace"))
                where = Where(after, line=number)
                yield broken("L2", "a line is changed", expected, there or "no line", where)
                return


def one_result_a_call(case: Case) -> Iterator[Violation]:
    """In a transcript: at the end, each call has one result, and each result has a call. Fails at a
    second result and at a result of no call; and, where nothing was killed, at a call without one:
    what a kill left of a call may stand there for ever, if the model is told (P3, E6)."""
    end = case.end
    if end is None:
        return
    killed = any(launch.killed for launch in case.evidence.launches)
    lines = _read(case, end.launch)
    calls = Counter(ident for line in lines for ident in line.calls)
    results = Counter(ident for line in lines for ident in line.results)
    for ident in (*calls, *(known for known in results if known not in calls)):
        if not calls[ident]:
            what = f"result of {ident!r} answers no call"
            yield broken("L6", what, "a call of this id", "none", Where(end.launch))
        elif results[ident] > calls[ident] or (results[ident] < calls[ident] and not killed):
            what = f"call {ident!r} has not one result"
            yield broken("L6", what, calls[ident], results[ident], Where(end.launch))


def _rewrites(case: Case) -> bool:
    """Does a complete line ever change while this run writes its log?"""
    before: list[bytes] = []
    for event in case.evidence.events:
        if isinstance(event, LogWrite):
            after = case.evidence.blobs.get(event.log).split(b"\n")[:-1]
            if after[: len(before)] != before:
                return True
            before = after
    return False


def _lines(case: Case, launch: Launch) -> tuple[list[bytes], bytes]:
    """The complete lines of the log after a launch, and what follows the last LF."""
    *complete, tail = case.evidence.blobs.get(launch.log_after).split(b"\n")
    return complete, tail


def _read(case: Case, launch: Launch) -> list[Line]:
    complete, tail = _lines(case, launch)
    paths = case.evidence.facts.transcript
    return [read for line in (*complete, tail) if (read := read_line(line, paths)) is not None]


RULES: tuple[Rule, ...] = (
    Rule("L1", "every complete line of a transcript is JSON", _LINES, every_line_is_json),
    Rule("L2", "complete lines of a transcript are never changed", _LINES, only_appended),
    Rule("L6", "each tool call has exactly one result", frozenset({Need.CALLS}), one_result_a_call),
)
