"""The table of planted bugs, and how a bug is entered into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Plant = Callable[[], None]


@dataclass(frozen=True)
class Bug:
    """One planted fault."""

    plant: Plant
    rule: str  # the id that must be reported
    depth: int  # kills that the smallest schedule needs
    scenario: str  # a scenario that provokes it
    cut: bool = False  # only a write that is torn, or not made, shows it
    faults: str = "kill"  # the family of faults that shows it


BUGS: dict[str, Bug] = {}


class With:
    """A module with one function replaced, for one importer only."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def bug(
    rule: str, depth: int, scenario: str, *, cut: bool = False, faults: str = "kill"
) -> Callable[[Plant], Plant]:
    """Enter a bug into the table under its function's name."""

    def enter(plant: Plant) -> Plant:
        BUGS[plant.__name__.replace("_", "-")] = Bug(plant, rule, depth, scenario, cut, faults)
        return plant

    return enter
