"""A kill at a point: from the signal to the moment when all that were struck are reaped.

Knows whom a strike reaches, and that a child which was born while its parent was being killed is
reached too. Does not hold anybody back meanwhile: `chaos.launch.stops` does.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from chaos.evidence import Survivor
from chaos.launch.model import Call, Strike
from chaos.launch.tracees import Tracees
from chaos.points import Scope


@dataclass(slots=True)
class Dying:
    """Processes killed at a point, not all reaped."""

    strike: Strike
    victim: int
    call: Call | None  # that stood there
    left: set[int]  # still to be reaped
    since: float  # monotonic
    status: int = 0  # wait status of the victim


class Kills:
    """The kills of a launch; there is one at a time."""

    def __init__(self, tracees: Tracees) -> None:
        self._tracees = tracees
        self._families: set[int] = set()  # roots: of them or below them somebody was killed
        self._groups: set[int] = set()
        self._whole_tree = False
        self.dying: Dying | None = None
        self.happened = False

    @property
    def over(self) -> bool:
        """Was there a kill, and nobody's start is left that it spared?"""
        spared = self._tracees.living_roots - self._families
        return self.happened and self.dying is None and not spared

    def plan(self, strike: Strike, call: Call | None) -> Dying | None:
        """Whom a strike reaches. None: its victim ended by itself. Nobody is killed yet."""
        tracees = self._tracees
        victim = strike.victim or (call.pid if call else tracees.root)
        struck = {
            Scope.PROCESS: lambda: {victim},
            Scope.GROUP: lambda: {victim, *tracees.group(victim)},
            Scope.TREE: lambda: set(tracees.processes()),
        }[strike.scope]()
        if victim not in tracees.processes():
            return None
        return Dying(strike, victim, call, struck & set(tracees.processes()), time.monotonic())

    def begin(self, dying: Dying) -> None:
        """The kill happens now."""
        self.happened, self.dying = True, dying
        self._families |= {self._tracees.family(process) for process in dying.left}
        if dying.strike.scope is Scope.GROUP:
            self._groups.add(self._tracees.group_of(dying.victim))
        self._whole_tree |= dying.strike.scope is Scope.TREE

    def send(self) -> None:
        """SIGKILL to all that were struck."""
        if self.dying is not None:
            self._tracees.signal(self.dying.left, signal.SIGKILL)

    def reach(self, process: int) -> bool:
        """A process shows itself. Is it dying? One that was born before its parent heard of the
        kill, into the group or the tree that was killed, is killed as it would have been by the
        kernel, which knew of it."""
        dying = self.dying
        if dying is not None and process in dying.left:
            return True
        if not self._among_the_struck(process):
            return False
        if dying is not None:
            dying.left.add(process)
        self._tracees.signal([process], signal.SIGKILL)
        return True

    def _among_the_struck(self, process: int) -> bool:
        groups = self._groups
        return self._whole_tree or (bool(groups) and self._tracees.group_of(process) in groups)

    def survivors(self) -> tuple[Survivor, ...]:
        """Who lives and was not struck: a late-born one that was killed may still be on its way."""
        everybody = self._tracees.survivors()
        return tuple(each for each in everybody if not self._among_the_struck(each.pid))

    def reaped(self, process: int, status: int) -> bool:
        """A process has ended. Was it struck?"""
        dying = self.dying
        if dying is None or process not in dying.left:
            return False
        dying.left.discard(process)
        if process == dying.victim:
            dying.status = status
        return True

    def finished(self) -> Dying | None:
        """The kill whose dead are all reaped just now."""
        dying = self.dying
        if dying is None or dying.left:
            return None
        self.dying = None
        return dying
