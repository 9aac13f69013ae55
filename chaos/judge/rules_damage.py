"""What a damage beyond a torn tail adds to rules R1, L2 and R2: the session is refused.

The judge's own strict reading has found the log illegal (`chaos.judge.damaged`), so no target can
know what it should do next: it must say which line is bad and touch nothing. Facts have no meaning
in such a log, so the rules over facts are silent.

Source: session contract, section 1 ("fail closed, change nothing, name the code and the line").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chaos.evidence import Event, Launch, Request
from chaos.judge.case import Case, Where, broken, ended_from_outside
from chaos.judge.rules_effects import is_act, words
from chaos.results import Violation


def refused(case: Case) -> Iterator[Violation]:
    """A session that is damaged beyond a torn tail is refused: fails when a launch ends with
    another exit code than corrupt, asks the model, runs a tool or changes a file."""
    for launch in _launches(case):
        act = next(filter(None, (_act(case, e) for e in case.evidence.of_launch(launch.index))), "")
        if act:
            expected = f"nothing to happen: {_fault(case)}"
            yield broken("R1", "a corrupt session was acted upon", expected, act, Where(launch))
        elif not case.exited(launch, "corrupt"):
            expected = f"exit code {case.code('corrupt')}: {_fault(case)}"
            found = f"exit code {launch.exit_code}"
            yield broken("R1", "a corrupt session was opened", expected, found, Where(launch))


def untouched(case: Case) -> Iterator[Violation]:
    """Of a session that is damaged beyond a torn tail not one byte changes."""
    for launch in _launches(case):
        if launch.log_after != launch.log_before:
            before, after = map(case.evidence.blobs.get, (launch.log_before, launch.log_after))
            expected, found = f"the {len(before)} bytes as they were", f"{len(after)} bytes"
            what = "the log of a corrupt session was changed"
            yield broken("L2", what, expected, found, Where(launch))


def names_its_fault(case: Case) -> Iterator[Violation]:
    """A launch that ends as corrupt names the code and the line on stderr."""
    for launch in _launches(case):
        said = case.text(launch.stderr)
        if case.exited(launch, "corrupt") and not _named(case, said):
            what = "a corrupt session does not say what is wrong"
            yield broken("R2", what, _fault(case), said.strip() or "no word", Where(launch))


def _launches(case: Case) -> Iterator[Launch]:
    """Those that found the log corrupt and ended by themselves."""
    if case.fault is not None:
        yield from (x for x in case.evidence.launches if not ended_from_outside(x))


def _act(case: Case, event: Event) -> str:
    if isinstance(event, Request):
        return f"request {event.ordinal}"
    return words(event) if is_act(event, case) else ""


def _fault(case: Case) -> str:
    """Code and line, as the judge reads the log."""
    found = case.fault.evidence if case.fault else {}
    return f"{found.get('code')} at line {found.get('line')}"


def _named(case: Case, said: str) -> bool:
    found = case.fault.evidence if case.fault else {}
    line = re.search(rf"(line\W{{0,3}}|:){found.get('line')}\b", said)
    return line is not None and f"{found.get('code')}" in said
