"""The families of faults: what each does with one run, and that they are never mixed."""

from __future__ import annotations

from collections import Counter

from chaos.options import FAULTS
from chaos.points import DAMAGE, Phase, PlannedLaunch, Schedule
from chaos.scenario import Scenario, parse_scenario
from chaos.supervise.families import FAMILIES, Wanted
from chaos.target import load_target
from tests.judge.build import deploy
from tests.supervise.test_schedules import DEPLOY

WANTED = Wanted(tuple(Phase), "ends")


def scenario(more: str = "") -> Scenario:
    return parse_scenario(DEPLOY + more, "s.toml", lambda name: load_target(name, "/nowhere"))


def schedules(family: str, wanted: Wanted = WANTED, more: str = "") -> list[Schedule]:
    groups = FAMILIES[family](scenario(more), deploy().evidence(), wanted)
    return [branch.schedule for _, branches in groups for branch in branches]


def firsts(schedule: Schedule) -> list[str]:
    return [what for launch in schedule.launches for what in launch.first]


def test_there_is_a_family_for_each_choice() -> None:
    assert tuple(FAMILIES) == FAULTS


def test_kills_do_nothing_else() -> None:
    assert not any(firsts(schedule) for schedule in schedules("kill"))


def test_one_damage_each_before_a_resume() -> None:
    for schedule in schedules("damage"):
        assert len(firsts(schedule)) == 1
        last = schedule.launches[-1]
        assert (last.role, last.kill, last.first) == ("resume", None, tuple(firsts(schedule)))


def test_the_log_of_the_whole_run_and_those_of_telling_crash_images() -> None:
    before = Counter(str(Schedule(s.launches[:-1])) for s in schedules("damage"))
    assert set(before) == {
        "run: none",
        "run: log:stepAttempt#1/after",
        "run: log:toolStarted[bash]#1/after",
        "run: log:toolResult[bash]#1/after",
    }
    assert max(before, key=before.__getitem__) == "run: none"


def test_every_byte_of_the_whole_run_is_cut_where_that_is_wanted() -> None:
    def cuts(torn: str) -> list[Schedule]:
        made = schedules("damage", Wanted(tuple(Phase), torn))
        whole = [s for s in made if s.launches[0].kill is None]
        return [s for s in whole if firsts(s)[0].startswith("damage: cut@")]

    log = deploy().log
    assert len(cuts("every")) == len(log)
    assert len(cuts("ends")) < 5 * log.count(b"\n")


def test_a_branch_begins_with_the_schedule_of_its_group() -> None:
    for prefix, branches in FAMILIES["damage"](scenario(), deploy().evidence(), WANTED):
        for branch in branches:
            assert branch.schedule.launches[:-1] == prefix.launches


def test_each_schedule_has_an_id_of_its_own_and_reads_back() -> None:
    groups = FAMILIES["damage"](scenario(), deploy().evidence(), WANTED)
    branches = [branch for _, group in groups for branch in group]
    assert len({branch.id for branch in branches}) == len(branches)
    assert all(Schedule.parse(str(b.schedule)) == b.schedule for b in branches)


def test_a_schedule_of_the_scenarios_own_says_it_all() -> None:
    own = '[kill]\nschedule = "run: none; damage: crlf; resume: none"\n'
    assert schedules("damage", more=own) == []
    (only,) = schedules("kill", more=own)
    damaged = PlannedLaunch("resume", None, first=(f"{DAMAGE}: crlf",))
    assert only == Schedule((PlannedLaunch("run", None), damaged))
