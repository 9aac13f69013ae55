"""What a damage leaves to be judged.

A damage (`chaos.damage`) is no fault of the target, and what came before it is judged where nothing
was damaged. So the evidence is cut at each damage, and every part after one is a case of its own,
which begins with the damaged log:

- a log that the contract allows, its torn tail apart, must open: the rules hold as ever, over what
  is left. Prompts, replies and results that the damage took are nobody's any more. An effect counts
  for its intent; where the damage took the intent too, the effect counts no more, since no log can
  tell that it happened. The end is not compared with that of the run without a kill (R5): what was
  taken is done again, in a world that has it done already;
- any other log must be refused, untouched (`chaos.judge.rules_damage`).

The judge's own strict reading decides which it is. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.evidence import Evidence, Launch
from chaos.judge.case import Case, Damaged
from chaos.judge.log import LF
from chaos.judge.strict import check_log
from chaos.points import DAMAGE, told


def cases_of(evidence: Evidence) -> list[Case]:
    """What is judged: all of it; of a damaged session, each part after a damage."""
    starts = [place for place, x in enumerate(evidence.launches) if _is_damaged(x)]
    if not starts:
        return [Case(evidence)]
    ends = [*starts[1:], len(evidence.launches)]
    parts = (evidence.launches[start:end] for start, end in zip(starts, ends, strict=True))
    return [_part(evidence, launches) for launches in parts]


def _is_damaged(launch: Launch) -> bool:
    return bool(told(launch.first, DAMAGE))


def _part(evidence: Evidence, launches: tuple[Launch, ...]) -> Case:
    first, last = launches[0].index, launches[-1].index
    log = evidence.blobs.get(launches[0].log_before)
    faults = check_log(log) if LF in log else []
    return Case(
        replace(
            evidence,
            launches=launches,
            events=tuple(e for e in evidence.events if first <= e.launch <= last),
        ),
        Damaged(
            past=tuple(e for e in evidence.events if e.launch < first),
            launches=tuple(x for x in evidence.launches if x.index < first),
            fault=next(iter(faults), None),
        ),
    )
