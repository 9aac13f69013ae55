"""What a sweep says: verdicts and their containers, as plain picklable data.

Pure. Shapes follow the `--json` contract of design section 7; `chaos.report` turns them into text,
JSON and JUnit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chaos.evidence import Evidence


class Verdict(StrEnum):
    """The four things that can be said of a schedule."""

    PASS = "PASS"  # noqa: S105 - a verdict
    VIOLATION = "VIOLATION"
    INCONCLUSIVE = "INCONCLUSIVE"
    HARNESS_ERROR = "HARNESS_ERROR"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `evidence` says where: launch, line, seq, order, expected, found …"""

    id: str
    message: str
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """One judged schedule. `why` explains INCONCLUSIVE and HARNESS_ERROR."""

    id: str  # stable, short, safe in file names
    schedule: str
    verdict: Verdict
    violations: tuple[Violation, ...]
    why: str
    kills: int  # kills asked of the engine and carried out
    exact: int  # of these, proven exact by the judge
    seconds: float
    merged_into: str | None = None  # id of the schedule that judged the same crash image to its end
    evidence: Evidence | None = None  # kept for everything but PASS
    inherited: int = 0  # of its kills, those that made the image it starts from: others' too

    @property
    def made(self) -> int:
        """The kills that it made itself. Over all schedules no kill is counted twice."""
        return self.kills - self.inherited

    @property
    def made_exact(self) -> int:
        """Of these, proven exact."""
        return max(self.exact - self.inherited, 0)


@dataclass(frozen=True, slots=True)
class Closure:
    """How far the walk over crash images came (design section 3)."""

    complete: bool  # no image is left whose every kill was not tried
    states: int  # distinct crash images, each reached by a real kill
    depth: int  # of the deepest level that was gone into: so many kills in a row
    harvested: int  # kills not made, since a launch was seen to pass through a known image there
    verified: int  # schedules judged to their end though their image was known, and compared
    left: int  # images whose recovery was not killed everywhere
    wanted: int | None  # the depth asked for; None: as deep as it goes
    cut: bool = False  # it ended before that: no time, too many images, or it was stopped


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """All schedules of one scenario."""

    name: str
    path: str
    points: tuple[str, ...]  # kill points of the run without a kill
    schedules: tuple[ScheduleResult, ...]
    closure: Closure
    seconds: float
    error: str = ""  # why there are no schedules, where the baseline itself failed
    notes: tuple[str, ...] = ()  # what the user should know and no rule calls a fault
    not_applicable: Mapping[str, str] = field(default_factory=dict)  # rule -> why it cannot be seen


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A whole `chaos run`."""

    scenarios: tuple[ScenarioResult, ...]
    seconds: float
    seed: int
    interrupted: bool = False
