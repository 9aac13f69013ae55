"""The `[kill] schedule` of a scenario: what a schedule may ask for, beyond how it is written.

Pure. `chaos.points.Schedule` knows the grammar; here the words between launches are read, and what
could never be carried out is refused. Which kill points exist is not known here.
"""

from __future__ import annotations

from chaos.damage import DAMAGE, Damage
from chaos.errors import UsageError
from chaos.points import EVENT, PlannedLaunch, Schedule
from chaos.power_loss import Loss
from chaos.scenario_events import CALL_KINDS, check_act

POWER_LOSS = "power-loss"
CROWDS = ("resume", "abort")  # two runs would be two prompts


def read_schedule(text: str, durability: str) -> Schedule:
    """Read a schedule and the words in it. `durability` is what the target promises. Raises
    UsageError."""
    schedule = Schedule.parse(text)
    if not schedule.launches:
        raise UsageError(f"{text!r} has no launch; write for example 'run: log@5/after'")
    families = {what.partition(": ")[0] for launch in schedule.launches for what in launch.first}
    if {DAMAGE, POWER_LOSS} <= families:
        raise UsageError("damage and power-loss are families of their own; one schedule has one")
    if POWER_LOSS in families and durability == "process":
        raise UsageError(
            "power-loss: the target promises to survive the end of its process only; a target file "
            'with durability = "fsync" promises more'
        )
    for number, launch in enumerate(schedule.launches):
        if launch.starts > 1 and launch.role not in CROWDS:
            raise UsageError(f"{launch.role}*{launch.starts}: only {' and '.join(CROWDS)} can be")
        for what in launch.first:
            _check(what, launch, number)
    return schedule


def _check(what: str, launch: PlannedLaunch, number: int) -> None:
    word, _, how = what.partition(": ")
    if word == EVENT:
        do, at, instant = how.partition(" at ")
        if not at or do.partition(":")[0] not in CALL_KINDS:
            known = ", ".join(CALL_KINDS)
            raise UsageError(f"{what!r}: expected 'event: DO at INSTANT' with one of {known}")
        check_act(do, instant)
        return
    if number == 0:
        raise UsageError(
            f"{what!r} comes before the first launch ({launch.role}): nothing is there"
        )
    if word == DAMAGE:
        Damage.parse(how)
    elif word == POWER_LOSS:
        Loss.parse(how)
