"""The walk finds exactly the crash images that an abstract model of the contract has.

Here the lanes are played by the model itself, so these tests are about the choice of kills alone;
`test_closure` does the same with real processes.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.explore.walk import Walk
from chaos.explore.work import Beyond, Branch, Explored
from chaos.points import KillPoint, Phase, PlannedLaunch, Schedule
from chaos.results import Closure, ScheduleResult, Verdict
from tests.explore.model import Log, Turns, closure, rest_of_launch

PLAIN: Turns = ((),)
READ: Turns = (("read",), ())
BASH: Turns = (("bash",), ())
SCENARIOS = [
    # turns, images, kills: the empty image included
    (PLAIN, 8, 20),
    (READ, 22, 78),
    (BASH, 36, 108),
    ((("read", "bash", "bash"), ()), 76, 270),
    ((("read",), ("bash",), ()), 78, 274),
    ((("bash", "read"), ("bash", "read"), ("bash", "read"), ()), 764, 3482),
]


@pytest.mark.parametrize(("turns", "images", "kills"), SCENARIOS)
def test_the_model_counts_what_the_contract_says(turns: Turns, images: int, kills: int) -> None:
    found, tried = closure(turns)
    assert (len(found), tried) == (images, kills)


@pytest.mark.parametrize("kill_all", [False, True])
@pytest.mark.parametrize("turns", [turns for turns, _, _ in SCENARIOS])
def test_the_walk_reaches_every_image_of_the_model(turns: Turns, kill_all: bool) -> None:
    lanes = Lanes(turns)
    end = lanes.walk(kill_all=kill_all)
    # An image is a crash image once a kill has left it; the empty one is left by a kill too.
    assert lanes.images == closure(turns)[0]
    assert (end.complete, end.states, end.left) == (True, len(lanes.images), 0)


def test_a_harvest_spares_all_kills_but_those_to_new_images() -> None:
    lanes = Lanes(BASH)
    lanes.walk()
    first_level = 2 * len(tuple(rest_of_launch(BASH, ())))  # before and after each fact
    assert lanes.kills == first_level + len(lanes.images - lanes.after_level_one)


def test_kill_all_makes_every_kill() -> None:
    lanes = Lanes(BASH)
    end = lanes.walk(kill_all=True)
    assert end.harvested == 0
    # Before and after each fact of the launch from each image; and the first level, which starts
    # from no image at all (a kill before the first fact leaves the empty one).
    launches = [(), *lanes.images]
    assert lanes.kills == sum(2 * len(tuple(rest_of_launch(BASH, image))) for image in launches)


def test_a_bounded_walk_says_what_it_left() -> None:
    lanes = Lanes(BASH)
    end = lanes.walk(depth=1)
    assert not end.complete
    assert (end.depth, end.cut) == (1, False)
    assert end.left > 0
    assert lanes.images < closure(BASH)[0]


def test_max_states_bounds_the_images_and_says_so() -> None:
    end = Lanes(BASH).walk(max_states=20)
    assert (end.states, end.complete, end.cut) == (20, False, True)
    assert end.left > 0


def test_a_bounded_walk_that_has_all_its_images_is_not_cut() -> None:
    """What lies beyond the depth that was asked for is not looked at."""
    free = Lanes(BASH).walk(depth=1)
    assert Lanes(BASH).walk(depth=1, max_states=free.states) == free
    assert not free.cut


def test_a_walk_stopped_from_outside_is_not_complete() -> None:
    lanes = Lanes(BASH)
    walk = lanes.begin()
    level = walk.next_level()
    assert walk.closure().complete  # all known branches are handed out …
    walk.stop(level)
    end = walk.closure()
    assert (end.complete, end.depth, end.cut) == (False, 1, True)  # … and were not carried out


def test_a_level_that_is_cut_in_the_middle_was_gone_into() -> None:
    lanes = Lanes(BASH)
    walk = lanes.begin(depth=2)
    (_, branches), *rest = walk.next_level()
    walk.took(lanes.explore(branches[0]))
    walk.stop(rest)
    assert walk.next_level() == []
    end = walk.closure()
    assert (end.complete, end.depth, end.cut) == (False, 2, True)


def test_phases_left_out_are_not_chosen() -> None:
    walk = Lanes(BASH).begin(phases=[Phase.AFTER])
    kills = {b.schedule.launches[-1].kill for _, branches in walk.next_level() for b in branches}
    assert {kill.phase for kill in kills if kill} == {Phase.AFTER}


def test_an_image_other_than_the_harvest_said_is_a_harness_error() -> None:
    walk = Lanes(PLAIN).begin()
    ((_, branches), *_) = walk.next_level()
    result = walk.took(Explored(branches[0], passed(branches[0]), "something else"))
    assert result.verdict is Verdict.HARNESS_ERROR
    assert "does not do the same thing twice" in result.why


class Lanes:
    """Carries out branches on the abstract model."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.images: set[Log] = set()
        self.after_level_one: set[Log] = set()
        self.kills = 0

    def begin(self, **options: object) -> Walk:
        """A walk whose first level is done."""
        settings: dict[str, object] = {"depth": None, "phases": tuple(Phase), **options}
        walk = Walk(str, **settings)  # type: ignore[arg-type]
        for beyond in self.beyond((), Schedule()):
            walk.took(self.explore(Branch(str(beyond.schedule), beyond.schedule)))
        self.after_level_one = set(self.images)
        return walk

    def walk(self, **options: object) -> Closure:
        walk = self.begin(**options)
        while level := walk.next_level():
            for _, branches in level:
                for branch in branches:
                    walk.took(self.explore(branch))
        return walk.closure()

    def explore(self, branch: Branch) -> Explored:
        image: Log = ()
        for launch in branch.schedule.launches:
            facts = tuple(rest_of_launch(self.turns, image))
            assert launch.kill is not None
            kept = launch.kill.ordinal - (launch.kill.phase is Phase.BEFORE)
            image += facts[:kept]
        self.kills += 1
        self.images.add(image)
        beyond = self.beyond(image, branch.schedule)
        return Explored(branch, passed(branch), repr(image), "the end", beyond)

    def beyond(self, image: Log, so_far: Schedule) -> tuple[Beyond, ...]:
        facts = tuple(rest_of_launch(self.turns, image))
        found = []
        for n in range(len(facts)):
            for phase, kept in ((Phase.BEFORE, n), (Phase.AFTER, n + 1)):
                kill = PlannedLaunch("resume", KillPoint("log", None, None, n + 1, phase))
                schedule = Schedule((*so_far.launches, kill))
                found.append(Beyond(schedule, repr(image + facts[:kept])))
        return tuple(found)


def passed(branch: Branch) -> ScheduleResult:
    return ScheduleResult(branch.id, str(branch.schedule), Verdict.PASS, (), "", 1, 1, 0.0)


def test_a_known_image_with_another_outcome_is_a_harness_error() -> None:
    lanes = Lanes(BASH)
    walk = lanes.begin(verify=lambda _: True)
    verifying = [b for _, branches in walk.next_level() for b in branches if b.verifies]
    assert verifying
    before = walk.closure().verified
    same = lanes.explore(verifying[0])
    assert walk.took(same).verdict is Verdict.PASS
    other = replace(same, end="somewhere else")
    result = walk.took(other)
    assert result.verdict is Verdict.HARNESS_ERROR
    assert "the same crash image as" in result.why
    assert walk.closure().verified == before + 2


def test_what_was_verified_is_of_the_image_that_came_first() -> None:
    lanes = Lanes(BASH)
    walk = lanes.begin(verify=lambda _: True)
    before = walk.closure()
    results = []
    while level := walk.next_level():
        results += [walk.took(lanes.explore(b)) for _, branches in level for b in branches]
    end = walk.closure()
    assert end.verified > before.verified
    # Reports count an image once: at the schedule that is merged into no other.
    alone = [result for result in results if result.merged_into is None]
    assert len(alone) == end.states - before.states


def test_merged_schedules_have_no_outcome_to_compare() -> None:
    lanes = Lanes(BASH)
    walk = lanes.begin(verify=lambda _: True)
    ((_, (branch, *_)), *_) = walk.next_level()
    before = walk.closure().verified
    merged = replace(passed(branch), merged_into="another", verdict=Verdict.PASS)
    walk.took(replace(lanes.explore(branch), result=merged, end=""))
    assert walk.closure().verified == before
