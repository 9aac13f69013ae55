"""What a session tells between two launches: which prompts it has accepted, and what comes next.

Two ways to know: `ByFacts` reads the session log; `ByWire` has no log that it could read and goes
by the requests that arrived and by exit codes. Looks only; starts nothing.
Source: design section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from chaos.evidence import Launch
from chaos.judge.history import history_of
from chaos.judge.log import read_log
from chaos.judge.talks import turns_of
from chaos.scenario import Step
from chaos.supervise.notebook import Notebook
from chaos.supervise.steps import compacts, next_launch
from chaos.target import Target


class Session(Protocol):
    """`log` is the session log, as it is or would be; empty where there is none that is read."""

    def found(self, step: int, log: bytes) -> None:
        """A step is launched, and finds the log so."""

    def next(self, step: int, log: bytes) -> tuple[int, str]:
        """The step and the role of the launch that follows, with `step` in hand."""

    def accepted(self, log: bytes) -> int:
        """How many prompts are accepted."""

    def compacts(self, role: str, log: bytes) -> bool:
        """Will a launch of this role ask for a summary?"""

    def unfinished(self, log: bytes) -> bool:
        """Has the last launch left something for a `resume`?"""


class ByFacts:
    """A session whose log records facts."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._begun: dict[int, bytes] = {}  # by step: the log that its first launch found

    def found(self, step: int, log: bytes) -> None:
        self._begun.setdefault(step, log)

    def next(self, step: int, log: bytes) -> tuple[int, str]:
        return next_launch(self._steps, step, self._begun.get(step, log), log)

    def accepted(self, log: bytes) -> int:
        return sum(fact.type == "runStarted" for fact in read_log(log).facts)

    def compacts(self, role: str, log: bytes) -> bool:
        return compacts(role, log)

    def unfinished(self, log: bytes) -> bool:
        return history_of(log).open_operation is not None


class ByWire:
    """A session of which only the wire and the exit codes tell. `launches` and the notebook grow
    as the course goes on."""

    def __init__(
        self, steps: Sequence[Step], target: Target, launches: Sequence[Launch], notebook: Notebook
    ) -> None:
        self._steps, self._launches, self._notebook = steps, launches, notebook
        self._by_exit = target.session.acknowledged == "exit"
        self._completed = target.exit_codes["completed"]
        self._side = target.session.side

    def found(self, step: int, log: bytes) -> None:
        """The log tells nothing."""

    def next(self, step: int, log: bytes) -> tuple[int, str]:  # noqa: ARG002 - not read
        if step >= len(self._steps):
            return step, "idle"
        return step, "resume" if self._is_accepted(step) else self._steps[step].do

    def accepted(self, log: bytes) -> int:  # noqa: ARG002 - not read
        return sum(map(self._is_accepted, range(len(self._steps))))

    def compacts(self, role: str, log: bytes) -> bool:  # noqa: ARG002 - it has no such command
        return False

    def unfinished(self, log: bytes) -> bool:  # noqa: ARG002 - not read
        return self._launches[-1].exit_code != self._completed

    def _is_accepted(self, step: int) -> bool:
        """Did this step's prompt arrive, or (where that counts) did the launch end well which took
        it? A prompt that was said before must be there once more."""
        if self._steps[step].do != "run":
            return False
        if self._by_exit:
            return any(
                (launch.step, launch.role, launch.exit_code) == (step, "run", self._completed)
                for launch in self._launches
            )
        earlier = max((self._heard(other, step) for other in range(step)), default=0)
        return self._heard(step, step) > earlier

    def _heard(self, step: int, prompt_of: int) -> int:
        """How often a step's prompt stands in a request of a step's launches, at most."""
        prompt, blobs = self._steps[prompt_of].prompt, self._notebook.blobs
        launches = {launch.index for launch in self._launches if launch.step == step}
        events = (e for e in self._notebook.events if e.launch in launches)
        turns = turns_of(events, blobs, self._side)
        counts = (sum(prompt in text for text in turn.conversation.users) for turn in turns)
        return max(counts, default=0)
