"""The `[kill] schedule` of a scenario: what a schedule may ask for, beyond how it is written.

Pure. `chaos.points.Schedule` knows the grammar; here the words between launches are read, and what
could never be carried out is refused. Which kill points exist is not known here.
"""

from __future__ import annotations

from chaos.damage import Damage
from chaos.errors import UsageError
from chaos.points import DAMAGE, EVENT, POWER_LOSS, PlannedLaunch, Schedule, told
from chaos.power_loss import Loss
from chaos.scenario_events import read_event

CROWDS = ("resume", "abort")  # two runs would be two prompts


def read_schedule(text: str, durability: str) -> Schedule:
    """Read a schedule and the words in it. `durability` is what the target promises. Raises
    UsageError."""
    schedule = Schedule.parse(text)
    if not schedule.launches:
        raise UsageError(f"{text!r} has no launch; write for example 'run: log@5/after'")
    first = [what for launch in schedule.launches for what in launch.first]
    if told(first, DAMAGE) and told(first, POWER_LOSS):
        raise UsageError("damage and power-loss are families of their own; one schedule has one")
    if told(first, POWER_LOSS) and durability == "process":
        raise UsageError(
            "power-loss: the target promises to survive the end of its process only; a target file "
            'with durability = "fsync" promises more'
        )
    for number, launch in enumerate(schedule.launches):
        _check(launch, number)
    return schedule


def _check(launch: PlannedLaunch, number: int) -> None:
    if launch.starts > 1 and launch.role not in CROWDS:
        raise UsageError(f"{launch.role}*{launch.starts}: only {' and '.join(CROWDS)} can be")
    for said in told(launch.first, EVENT):
        read_event(said, number + 1)
    damages, losses = (told(launch.first, word) for word in (DAMAGE, POWER_LOSS))
    for how in damages:
        Damage.parse(how)
    for how in losses:
        Loss.parse(how)
    if number == 0 and (damages or losses):
        raise UsageError(
            f"{launch.first[0]!r} comes before the first launch ({launch.role}): nothing is there"
        )
