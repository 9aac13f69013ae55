"""What a run and a sweep give to a Python program: a verdict, and readers of the evidence.

Readers tell of the launches that the scenario's steps were made of. The resume that must do
nothing and the probe turn, which the harness adds at the end, are judged like all else and stand
in `evidence`.

Pure. Does not run anything and does not judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chaos.evidence import STEP_ROLES, Effect, Evidence, Launch, Request
from chaos.judge.log import Fact, read_log
from chaos.report.explain import explain, statement
from chaos.results import Closure, ScenarioResult, ScheduleResult, Verdict, Violation


class NotPassed(AssertionError):  # noqa: N818 - an assertion that failed, not an error of chaos
    """`check()` of a run or sweep that did not pass. Its text is the explanation; `headline` says
    in a line what is broken."""

    def __init__(self, result: ScheduleResult, artifact: str | None = None, rest: str = "") -> None:
        super().__init__(explain(result, artifact) + rest)
        broken = next((f"{v.id} {statement(v.id, result)}" for v in result.violations), None)
        self.headline = broken or f"{result.verdict} {result.why.partition(chr(10))[0]}"


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """One schedule, carried out and judged."""

    result: ScheduleResult
    evidence: Evidence
    artifact: str | None = None  # the failure file that it came from

    @property
    def verdict(self) -> Verdict:
        """PASS, VIOLATION, INCONCLUSIVE or HARNESS_ERROR."""
        return self.result.verdict

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The broken rules."""
        return self.result.violations

    @property
    def schedule(self) -> str:
        """The schedule, as failures print it; `Schedule.parse` reads it."""
        return self.result.schedule

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of the scenario's steps, with roles, exit codes, signals, seconds."""
        return tuple(each for each in self.evidence.launches if each.role in STEP_ROLES)

    def log(self, of: Launch | None = None) -> bytes:
        """The session log after a launch; after the last one, if none is named."""
        return self.evidence.blobs.get((of or self.launches[-1]).log_after)

    def facts(self, of: Launch | None = None) -> tuple[Fact, ...]:
        """The facts of that log, in order: `type`, `body`, `seq`, `line`."""
        return read_log(self.log(of)).facts

    def requests(self, of: Launch | None = None) -> list[Any]:
        """The bodies of the requests to the model, as JSON reads them, of a launch or all. One
        that is no JSON is its text."""
        return [_json(self.evidence.blobs.get(e.body)) for e in self._events(Request, of)]

    def effects(self, of: Launch | None = None) -> list[str]:
        """The names of the effects, in order, of a launch or all."""
        return [event.name for event in self._events(Effect, of)]

    def files(self, of: Launch | None = None) -> dict[str, bytes]:
        """The workspace after a launch, without what is the target's own: path -> content."""
        blobs, tree = self.evidence.blobs, (of or self.launches[-1]).files_after
        return {path: blobs.get(content) for path, content in tree.items()}

    def stdout(self, of: Launch | None = None) -> str:
        """What a launch printed; the last one, if none is named."""
        return self.evidence.blobs.text((of or self.launches[-1]).stdout)

    def stderr(self, of: Launch | None = None) -> str:
        """What a launch said on standard error; the last one, if none is named."""
        return self.evidence.blobs.text((of or self.launches[-1]).stderr)

    def explain(self) -> str:
        """The explanation that `chaos run` prints, also of a run that passed."""
        return explain(self.result, self.artifact)

    def check(self) -> Run:
        """Raises NotPassed unless the verdict is PASS."""
        __tracebackhide__ = True  # of pytest: what the caller wrote is what failed
        if self.verdict is not Verdict.PASS:
            raise NotPassed(self.result, self.artifact)
        return self

    def _events(self, kind: type[Any], of: Launch | None) -> Iterator[Any]:
        chosen = {launch.index for launch in (self.launches if of is None else (of,))}
        return (e for e in self.evidence.events if isinstance(e, kind) and e.launch in chosen)

    def __repr__(self) -> str:
        broken = ", ".join(dict.fromkeys(violation.id for violation in self.violations))
        return f"<Run {self.schedule!r}: {self.verdict}{f' {broken}' if broken else ''}>"


@dataclass(frozen=True, slots=True, repr=False)
class Sweep:
    """All schedules of one scenario."""

    result: ScenarioResult

    @property
    def points(self) -> tuple[str, ...]:
        """The kill points of the run without a kill, without phases."""
        return self.result.points

    @property
    def schedules(self) -> tuple[ScheduleResult, ...]:
        """What became of each, in the order of the walk."""
        return self.result.schedules

    @property
    def closure(self) -> Closure:
        """How far the walk over crash images came."""
        return self.result.closure

    @property
    def failures(self) -> tuple[Run, ...]:
        """The schedules that were carried out and did not pass, with their evidence."""
        failed = (r for r in self.schedules if r.verdict is not Verdict.PASS)
        return tuple(Run(r, r.evidence) for r in failed if r.evidence is not None)

    def check(self) -> Sweep:
        """Raises NotPassed unless every verdict is PASS; explains the first that is not."""
        __tracebackhide__ = True
        failed = [r for r in self.schedules if r.verdict is not Verdict.PASS]
        if failed:
            rest = f"\n{len(failed)} of {len(self.schedules)} schedules did not pass\n"
            raise NotPassed(failed[0], rest=rest)
        return self

    def __repr__(self) -> str:
        failed = sum(r.verdict is not Verdict.PASS for r in self.schedules)
        return f"<Sweep {self.result.name}: {len(self.schedules)} schedules, {failed} not passed>"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
