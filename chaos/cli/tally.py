"""What a sweep has done so far: counts for those who wait. Pure; the caller tells the time.

Promises no time left that it does not know: only where every scenario's schedules are known and no
level follows, and after enough of them to go by.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from chaos.results import ScheduleResult, Verdict

ENOUGH = 20  # schedules to judge the rest by
NOT_PASSED = (
    (Verdict.VIOLATION, "violation"),
    (Verdict.INCONCLUSIVE, "inconclusive"),
    (Verdict.HARNESS_ERROR, "error"),
)


@dataclass(slots=True)
class Track:
    """One scenario."""

    name: str
    begun: bool = False
    over: bool = False
    planned: int = 0  # schedules known so far
    done: int = 0
    kills: int = 0


@dataclass(slots=True)
class Tally:
    """A sweep. Times are seconds of one monotonic clock."""

    tracks: dict[str, Track]
    started: float
    deep: bool  # does a scenario plan further levels as it goes?
    since: float | None = None  # when the first schedules could begin
    kills: int = 0
    verdicts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))

    @classmethod
    def of(cls, names: Iterable[str], started: float, *, deep: bool) -> Tally:
        """Before anything is done."""
        return cls({name: Track(name) for name in names}, started, deep)

    def plan(self, name: str, more: int, now: float) -> None:
        """So many schedules more: the run without a kill is done."""
        self.since = now if self.since is None else self.since
        self.tracks[name].begun = True
        self.tracks[name].planned += more

    def take(self, name: str, result: ScheduleResult) -> None:
        """A schedule is judged."""
        track = self.tracks[name]
        track.done += 1
        track.kills += result.made
        self.kills += result.made
        self.verdicts[result.verdict] += 1

    def end(self, name: str) -> None:
        """Nothing more comes of this scenario, whatever was planned."""
        track = self.tracks[name]
        track.begun = track.over = True
        track.planned = track.done

    @property
    def planned(self) -> int:
        """Schedules known so far, of all scenarios."""
        return sum(track.planned for track in self.tracks.values())

    @property
    def done(self) -> int:
        """Schedules judged."""
        return sum(track.done for track in self.tracks.values())

    @property
    def over(self) -> int:
        """Scenarios done."""
        return sum(track.over for track in self.tracks.values())

    def at_work(self, most: int) -> list[Track]:
        """The scenarios to look at: those that have results, else the next ones."""
        left = [track for track in self.tracks.values() if not track.over]
        return sorted(left, key=lambda track: not track.done)[:most]

    def left_s(self, now: float) -> float | None:
        """How long it will take, by what schedules took so far; None where nobody knows."""
        known = all(track.begun for track in self.tracks.values()) and not self.deep
        if not known or self.since is None or self.done < ENOUGH:
            return None
        return (self.planned - self.done) * (now - self.since) / self.done

    def in_words(self, now: float) -> list[str]:
        """`312 of 499 schedules`, `21 kills/s`, `2 violations`, `0:14`, `about 0:09 left`; how many
        schedules there are is known when a run without a kill is over."""
        elapsed = max(now - self.started, 0.001)
        bad = ((self.verdicts[verdict], noun) for verdict, noun in NOT_PASSED)
        left = self.left_s(now)
        return [
            f"{self.done} of {self.planned} schedules" if self.planned else "runs without a kill",
            f"{self.kills / elapsed:.0f} kills/s",
            *(_number(number, noun) for number, noun in bad if number or noun == "violation"),
            clock(elapsed),
            *([f"about {clock(left)} left"] if left is not None else []),
        ]


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 or noun == 'inconclusive' else 's'}"


def clock(seconds: float) -> str:
    """`0:09`, `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
