"""The walk over the crash images of one scenario, level by level: a level is one more kill.

Pure: it chooses, and others carry out. Level 1 kills at every point of the run. From each image
not seen before, the next level kills at every point of the launch that recovers it. The walk ends
by itself when a level shows no new image: the **closure**. Then no sequence of kills of any
length, at these points, leads anywhere that was not judged.

Recovery is harvested: the launch that recovers an image passes through all the images that a kill
in it would leave, so only the kills that lead to a new image are made. Every image is reached by a
real kill before it counts; one that turns out to be another than the harvest said is a fault of
the harness. With `kill_all` (by which tests compare the two), nothing is taken from the harvest
but the points. `verify` chooses known images to be judged to their end once more, and compared.

Promises: what is chosen depends on what was found, never on when. Source: design section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from chaos.explore.work import Branch, Explored
from chaos.points import Phase, Schedule
from chaos.results import Closure, ScheduleResult, Verdict


class Walk:
    """The images of one scenario. `depth` is the greatest number of kills; None: to the closure."""

    def __init__(
        self,
        identify: Callable[[Schedule], str],
        *,
        depth: int | None,
        phases: Iterable[Phase],
        kill_all: bool = False,
        max_states: int | None = None,
        verify: Callable[[Schedule], bool] = lambda _: False,
    ) -> None:
        self._identify = identify
        self._depth = depth
        self._phases = frozenset(phases)
        self._kill_all = kill_all
        self._max_states = max_states
        self._verify = verify
        self._seen: dict[str, Explored] = {}  # image -> the branch that reached it first
        self._promised: set[str] = set()  # images that a branch of this level is to reach
        self._new: list[Explored] = []  # of the level that is being carried out
        self.level = 1  # the kills of a schedule that is being carried out
        self._harvested = 0
        self._verified = 0
        self._left = 0
        self._taken = False  # something of this level was carried out
        self._cut = False  # what was chosen, or could have been, was not carried out

    def took(self, explored: Explored) -> ScheduleResult:
        """A branch is done. Returns its result, which a broken harvest or a merge that would have
        hidden something turns into an error."""
        self._taken = True
        if not explored.image:
            return explored.result
        expected = explored.branch.image
        if expected is not None and expected != explored.image:
            return _error(
                explored,
                "the kill left another image than the launch without it passed through "
                f"({explored.image[:12]}, not {expected[:12]}): the target does not do the same "
                "thing twice, or something moves while it is held",
            )
        first = self._seen.setdefault(explored.image, explored)
        if first is explored:
            self._new.append(explored)
        elif explored.result.merged_into is None:
            self._verified += 1
            if _outcome(first) != _outcome(explored):
                return _error(
                    explored,
                    f"it leaves the same crash image as {first.result.id}, but not the same "
                    f"outcome: {_outcome(first)} there, {_outcome(explored)} here. Merging the "
                    "two would hide one: what the image leaves out matters to the target",
                )
            return replace(explored.result, merged_into=first.result.id)  # one image, said once
        return explored.result

    def next_level(self) -> list[tuple[Schedule, list[Branch]]]:
        """Branches of the next level by the schedule whose image they start from. Empty: over."""
        parents, self._new = self._new, []
        if self._depth is not None and self.level >= self._depth:
            self._left += len(parents)
            return []
        wanted = [(p.branch.schedule, self._branches(p)) for p in parents]
        self._promised.clear()
        self.level += 1
        self._taken = False
        return [(prefix, branches) for prefix, branches in wanted if branches]

    def stop(self, levels: list[tuple[Schedule, list[Branch]]]) -> None:
        """These branches will not be carried out: the walk is over before its end."""
        self._left += len(levels)
        self._cut = True

    def closure(self) -> Closure:
        """How far the walk came."""
        left = self._left + len(self._new)
        return Closure(
            complete=left == 0,
            states=len(self._seen),
            depth=self.level - (self._cut and not self._taken),
            harvested=self._harvested,
            verified=self._verified,
            left=left,
            wanted=self._depth,
            cut=self._cut,
        )

    def _branches(self, parent: Explored) -> list[Branch]:
        branches = []
        for beyond in parent.beyond:
            kill = beyond.schedule.launches[-1].kill
            if kill is None or kill.phase not in self._phases:
                continue
            known = beyond.image in self._seen or beyond.image in self._promised
            verifies = known and self._verify(beyond.schedule)
            if known and not verifies and not self._kill_all:
                self._harvested += 1
                continue
            if self._max_states is not None and not known and self._full():
                self._left += 1
                self._cut = True
                continue
            self._promised.add(beyond.image)
            ident = self._identify(beyond.schedule)
            branches.append(Branch(ident, beyond.schedule, beyond.image, verifies))
        return branches

    def _full(self) -> bool:
        return len(self._seen) + len(self._promised) >= (self._max_states or 0)


def _outcome(explored: Explored) -> tuple[str, tuple[str, ...], str]:
    """What two schedules with the same crash image must agree in. An end that was not judged
    again because it was known is known by its key all the same."""
    result = explored.result
    return str(result.verdict), tuple(v.id for v in result.violations), explored.end


def _error(explored: Explored, why: str) -> ScheduleResult:
    result = explored.result
    why = f"{result.schedule}: {why}"
    return replace(result, verdict=Verdict.HARNESS_ERROR, violations=(), why=why)
