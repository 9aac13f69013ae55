"""Scenario files: what the target is asked, what the model answers, what must come of it.

Reads the TOML of design section 8 into one frozen value that holds everything a sweep needs. A
scenario that is wrong is refused with file, line and the nearest right name. `parse_scenario` is a
function of the text, so that a saved failure can carry its scenario with it.

Does not know which kill points exist: the run without a kill tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.points import Phase
from chaos.target import Target

if TYPE_CHECKING:
    from chaos.provider.script import Turn


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the user does: `do` is "run"."""

    do: str
    prompt: str


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """Something else that happens: `do` ("provider:500") in launch `launch` (1-based) at `at`."""

    launch: int
    at: str  # "provider:1/request"
    do: str

    @property
    def request(self) -> int:
        """The ordinal of the provider request that `at` names, 1-based within the launch."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class KillSelection:
    """Which kills are tried. No points means every point."""

    points: tuple[str, ...]  # selectors such as "log:toolStarted[bash]", or full points
    phases: tuple[Phase, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario file, resolved: its target is loaded, its path absolute."""

    name: str
    about: str
    path: str
    target: Target
    env: Mapping[str, str]  # added to the target's env; the same placeholders
    files: Mapping[str, str]  # workspace-relative path -> content, before the first launch
    steps: tuple[Step, ...]
    turns: tuple[Turn, ...]
    events: tuple[PlannedEvent, ...]
    kill: KillSelection
    expect_effects: Mapping[str, str]  # effect name -> never | once | at-most-once | per-intent
    expect_outcome: str | None  # completed | failed | aborted
    source: str  # the TOML text


def parse_scenario(text: str, path: str, targets: Callable[[str], Target]) -> Scenario:
    """Read a scenario's text; `targets` finds its profile. Raises ScenarioError `path:line: …`."""
    raise NotImplementedError


def load_scenario(path: str) -> Scenario:
    """Read a scenario file and the target it names. Raises ScenarioError."""
    raise NotImplementedError
