"""What a sweep left out, in sentences: a green page must not seem to say more than it does.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.options import FAULTS, SweepOptions
from chaos.report.visible import visible
from chaos.results import SweepResult


def gaps_of(sweep: SweepResult, options: SweepOptions) -> list[str]:
    """A sentence each, the greatest gap first."""
    return [*_chosen(sweep, options), *_depth(sweep), *_family(options), *_notes(sweep)]


def _chosen(sweep: SweepResult, options: SweepOptions) -> Iterator[str]:
    part, parts = options.shard
    if sweep.interrupted:
        yield "Interrupted: what had not been judged by then is missing."
    if options.fail_fast:
        yield "--fail-fast: nothing more was begun after the first schedule that did not pass."
    if options.select is not None:
        yield "-k chose among the schedules: the others were not run."
    if parts > 1:
        yield f"--shard {part}/{parts}: the other shards have reports of their own."
    if options.phases is not None:
        yield f"--phases: only {', '.join(options.phases)}."
    if options.torn == "ends":
        yield (
            "A write is torn at its first byte, in the middle, before its last byte and inside a "
            "character, not at every byte (--torn every)."
        )


def _depth(sweep: SweepResult) -> Iterator[str]:
    open_walks = [s.closure for s in sweep.scenarios if not s.closure.complete and s.closure.left]
    left = sum(closure.left for closure in open_walks)
    if left:
        depth = max(closure.depth for closure in open_walks)
        yield (
            f"The recovery from {left} crash images was not killed in its turn: the walk ended at "
            f"depth {depth} (--depth closure)."
        )
    harvested = sum(scenario.closure.harvested for scenario in sweep.scenarios)
    if harvested:
        yield (
            f"{harvested} kills were harvested, not made: a launch was seen to pass through an "
            "image there that is known."
        )


def _family(options: SweepOptions) -> Iterator[str]:
    if options.faults == FAULTS[0]:
        yield (
            "SIGKILL keeps the page cache: nothing is said of a loss of power, nor of the other "
            f"families of faults (--faults {', '.join(FAULTS[1:])})."
        )
    else:
        yield f"Only the family {options.faults} was tried."


def _notes(sweep: SweepResult) -> Iterator[str]:
    for scenario in sweep.scenarios:
        if scenario.notes:
            yield visible(f"{scenario.name}: {'; '.join(scenario.notes)}")
