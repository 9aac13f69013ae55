"""From evidence to a verdict: the judge's word, and what the proof of the kills leaves of it."""

from __future__ import annotations

import time
from typing import Protocol

from chaos.evidence import Evidence, Kill
from chaos.judge import inexact, judge
from chaos.points import Schedule
from chaos.results import ScheduleResult, Verdict


class Identified(Protocol):
    """A schedule with its id."""

    @property
    def id(self) -> str: ...

    @property
    def schedule(self) -> Schedule: ...


def conclude(
    ident: str, evidence: Evidence, seconds: float, *, keep: bool = False
) -> ScheduleResult:
    """Judge evidence. A broken rule is a violation even where the kill was not exact, since rules
    hold in every run; without one, an inexact kill proves nothing and is INCONCLUSIVE."""
    violations = tuple(judge(evidence))
    doubts = inexact(evidence)
    found = ((Verdict.VIOLATION, violations), (Verdict.INCONCLUSIVE, doubts))
    verdict = next((verdict for verdict, reasons in found if reasons), Verdict.PASS)
    kills = sum(isinstance(event, Kill) for event in evidence.events)
    return ScheduleResult(
        id=ident,
        schedule=evidence.schedule,
        verdict=verdict,
        violations=violations,
        why="; ".join(doubts),
        kills=kills,
        exact=0 if doubts else kills,
        seconds=seconds,
        merged_into=evidence.merged_into,
        evidence=evidence if keep or verdict is not Verdict.PASS else None,
    )


def harness_error(of: Identified, why: str, started: float) -> ScheduleResult:
    """The harness could not carry the schedule out. `started` is a monotonic time in seconds."""
    return ScheduleResult(
        id=of.id,
        schedule=str(of.schedule),
        verdict=Verdict.HARNESS_ERROR,
        violations=(),
        why=why,
        kills=0,
        exact=0,
        seconds=time.monotonic() - started,
    )
