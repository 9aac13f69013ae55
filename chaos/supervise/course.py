"""The course: the launches that one schedule is made of.

    each step:  as written → (killed) → the same until it has begun, then resume → …
    at the end: a resume that must do nothing → a probe turn that uses a tool

A damage of the log ends the steps: what is left is for the launches that the schedule names, and
for `resume`.

Promises: every launch is over, to the last process of its tree, before the next one starts; the
crash image after a kill is taken at that moment. Does not choose schedules and does not judge.
Source: design sections 2 and 3, fault catalogue lesson 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.canonical import image_key
from chaos.damage import Damage
from chaos.errors import UsageError
from chaos.evidence import STEP_ROLES, Evidence, Injected, Launch, Sha, Signal, Tree
from chaos.explore.work import Beyond
from chaos.launch.tracer import trace
from chaos.points import DAMAGE, POWER_LOSS, Phase, PlannedLaunch, Schedule, told
from chaos.provider.faults import Fault
from chaos.provider.script import turns_of
from chaos.scenario import Scenario
from chaos.scenario_events import START, PlannedEvent
from chaos.supervise.checkpoint import Checkpoint, nodes_of
from chaos.supervise.disturbed import events_of
from chaos.supervise.drift import changed_paths, drifted, taken_back
from chaos.supervise.facts import facts_of
from chaos.supervise.harvest import KeyOf
from chaos.supervise.losses import lose, unsynced_of
from chaos.supervise.prompts import GO_ON_PROMPT, PROBE_PROMPT, own_turns
from chaos.supervise.recorder import Recorder
from chaos.supervise.session import ByFacts, ByWire, Session
from chaos.supervise.stage import Stage

# What may follow a launch that ended so; nothing follows the others (corrupt, busy).
_MAY_FOLLOW = {
    **dict.fromkeys(("completed", "failed", "aborted"), STEP_ROLES),
    "blocked": ("resume", "abort"),
}
_FAILURES = ("errno:", "short:")  # events that make a call do less than it was asked
_AFTER_DAMAGE = ("resume", "abort", "compact")
MAX_LAUNCHES = 64


@dataclass(frozen=True, slots=True)
class Held:
    """A target that stands at its kill point: what `chaos replay --hold` prints."""

    pid: int
    point: str
    workspace: str
    resume: tuple[str, ...]  # the command that would resume the session


class Course:
    """One schedule of one scenario, launch by launch."""

    def __init__(
        self,
        stage: Stage,
        scenario: Scenario,
        schedule: Schedule,
        *,
        start: Checkpoint | None = None,  # go on from here instead of from nothing
        events: bool = True,  # False: the reference run without the scenario's events
        harvest: bool = False,  # copy the crash images that the launches after the kills pass
        torn: str = "ends",  # the torn writes among them: ends | every
        hold: Callable[[Held], None] | None = None,  # hold at the kill point, call this, then kill
    ) -> None:
        self.stage = stage
        self.scenario = scenario
        self.target = scenario.target
        self.schedule = schedule
        self.start = start
        self.events = events
        self.hold = hold
        self.launches: list[Launch] = list(start.launches) if start else []
        how = self.target.session
        self.recorder = Recorder(
            stage.room,
            self._images if harvest and how.by_facts else None,
            start,
            scope=scenario.kill.scope,
            temporary=self.target.temporary,
            torn=torn,
            transcript=None if how.by_facts else how.transcript,
            port=None if how.by_facts else stage.mock.port,
        )
        self.session: Session = (
            ByFacts(scenario.steps)
            if how.by_facts
            else ByWire(scenario.steps, self.target, self.launches, self.recorder.notebook)
        )
        # Keys of images: empty where the session is not read, since equal ones cannot be told then.
        self.image = ""  # of the last crash image, if nothing is done to it
        self.end = ""  # of what the recovery left
        self._step = start.step if start else 0
        self._damaged = False
        self._changed: Sequence[str] = ()  # paths of the workspace that the launch finds changed,
        self._unchanged: tuple[Tree, Sequence[str]] = {}, ()  # and files and state before
        self._intervened = -1  # before this launch, the schedule's interventions were made
        for launch in self.launches:
            self.session.found(launch.step, self.recorder.notebook.blobs.get(launch.log_before))

    def run(
        self,
        merge: Callable[[str], str | None] = lambda _: None,
        known_end: Callable[[str], bool] = lambda _: False,
        passed: Callable[[Course], None] = lambda _: None,
    ) -> Evidence:
        """Carry the schedule out. `merge` is told the key of the crash image after the last kill
        and may name the schedule that has judged this image to its end already: then this one
        stops there. `known_end` is told the key of what the recovery left: a known one needs no
        idle resume and no probe turn any more. `passed` is called between launches, with the room
        at rest."""
        room = self.stage.room
        room.require_space()
        if self.start:
            self.start.restore(room)
        else:
            self.stage.lay_out(self.scenario.files, self.target)
        may_follow: Sequence[str] = STEP_ROLES
        if self.launches and not self.launches[-1].killed:
            may_follow = self._may_follow(self.launches[-1])
        while self._step < len(self.scenario.steps) or self._goes_on_damaged():
            self._intervene()
            self._step, role = self._next(room.log())
            if role in may_follow or self._damaged:
                launch = self._launch(role, self._step, self.scenario.steps[self._step].prompt)
                if launch.killed:
                    merged = self._merged(merge)
                    if merged is not None:
                        return self._evidence(merged)
                    continue
                if self._failed_by_event(launch):
                    continue
                may_follow = self._may_follow(launch)
            self._step += 1
            if not self._damaged:
                passed(self)
        self._intervene()
        self.end = self._key_of(room.log())
        if self.end and known_end(self.end):
            return self._evidence(None)
        end = len(self.scenario.steps)
        begun = self._damaged or self.session.accepted(room.log())
        if begun and not self.launches[-1].timed_out:
            self._launch("idle", end, None)
            if "run" in may_follow:
                self._launch("probe", end, PROBE_PROMPT)
        return self._evidence(None)

    def _merged(self, merge: Callable[[str], str | None]) -> str | None:
        """Who has judged this crash image already. One that something is still done to is nobody's
        but this schedule's."""
        if not self._kills_are_over():
            return None
        self.image = self._key_of(self.stage.room.log())
        return merge(self.image) if self.image else None

    def beyond(self) -> Iterator[Beyond]:
        """The crash images that launches without a kill passed through, in order."""
        planned = self.schedule.launches
        for passed in self.recorder.harvest.harvested:
            # The last launches of a schedule may be named without a kill.
            *alive, last = (
                planned[index] if index < len(planned) else PlannedLaunch(launch.role, None)
                for index, launch in enumerate(self.launches[: passed.launch + 1])
            )
            yield Beyond(Schedule((*alive, replace(last, kill=passed.point))), passed.image)

    def checkpoint(self) -> Checkpoint:
        """What the last launch left, with its past: a crash image, or the rest between launches."""
        return Checkpoint(
            nodes_of(self.stage.room),
            tuple(self.launches),
            tuple(self.recorder.notebook.events),
            self.recorder.notebook.blobs,
            self._step,
        )

    def _kills_are_over(self) -> bool:
        """Is nothing of the schedule left but launches without a kill?"""
        left = self.schedule.launches[len(self.launches) :]
        return all((launch.kill, launch.first) == (None, ()) for launch in left)

    def _intervene(self) -> None:
        """What the schedule does to the session before the next launch, once."""
        if self._intervened == len(self.launches):
            return
        self._intervened = len(self.launches)
        room, first = self.stage.room, self.schedule.of(len(self.launches)).first
        for how in told(first, DAMAGE):
            room.lay_log(Damage.parse(how).apply(room.log()))
            self._damaged = True
        for how in told(first, POWER_LOSS):
            past = self.launches[0], self.recorder.notebook.events, self.recorder.notebook.blobs
            lose(room, how, unsynced_of(self.target.log, *past))

    def _goes_on_damaged(self) -> bool:
        """Does the schedule name a further launch of a session that it damages?"""
        left = self.schedule.launches[len(self.launches) : len(self.launches) + 1]
        return any(self._damaged or told(planned.first, DAMAGE) for planned in left)

    def _may_follow(self, launch: Launch) -> Sequence[str]:
        """The roles that may come after a launch that was not killed."""
        if launch.timed_out:
            return ()
        codes = self.target.exit_codes
        ends = (name for name in _MAY_FOLLOW if codes[name] == launch.exit_code)
        return _MAY_FOLLOW.get(next(ends, ""), ())

    def _failed_by_event(self, launch: Launch) -> bool:
        """Did an error or a signal that an event sent end it, with its step not done; or did it
        refuse to begin, for what an event changed? The user starts it again, as after a kill."""
        events = list(self.recorder.notebook.of_launch(launch.index))
        failed = any(isinstance(e, Injected) and e.do.startswith(_FAILURES) for e in events)
        signalled = any(isinstance(e, Signal) for e in events)
        log = self.stage.room.log()
        not_begun = launch.role != "resume" and self._next(log) == (launch.step, launch.role)
        unfinished = self.session.unfinished(log)
        refused = bool(launch.changed) and launch.exit_code == self.target.exit_codes["blocked"]
        return (not_begun and (failed or signalled or refused)) or (unfinished and failed)

    def _next(self, log: bytes) -> tuple[int, str]:
        """The step and the role of the launch that would follow, with `log` as the session log."""
        if self._damaged:
            role = self.schedule.of(len(self.launches)).role or "resume"
            if role not in _AFTER_DAMAGE or role not in self.target.commands:
                known = ", ".join(_AFTER_DAMAGE)
                raise UsageError(f"{self.schedule}: {role!r} after a damage; expected {known}")
            return len(self.scenario.steps) - 1, role
        return self.session.next(self._step, log)

    def _key_of(self, log: bytes) -> str:
        """Key of the crash image that a kill would leave here, with `log` as the session log."""
        return self._images()(log, {}) if self.target.session.by_facts else ""

    def _images(self) -> KeyOf:
        """The keys of the images that kills at this instant would leave: the room is read once."""
        room, blobs = self.stage.room, self.recorder.notebook.blobs
        tree, effects, state = room.tree(blobs), self.recorder.effects(), room.state_files()
        files_before, state_before = self._unchanged
        if self._changed:  # not after the launch, when a kill has ended it
            now, before = (dict.fromkeys(names) for names in (state, state_before))
            state = tuple(sorted(taken_back(now, before, self._changed)))
        events = (*self._events_ahead(), *self._starts_ahead())

        def key_of(log: bytes, changed: Mapping[str, Sha]) -> str:
            return image_key(
                log,
                taken_back({**tree, **changed}, files_before, self._changed),
                effects,
                self.session.accepted(log),
                state,
                self.stage.chance(),
                ahead=(str(self._next(log)), *events),
            )

        return key_of

    def _events_ahead(self) -> Iterator[str]:
        """The events of launches to come, counted from the one that comes next."""
        gone = self.recorder.notebook.launch + 1
        for event in self.scenario.events if self.events else ():
            if event.launch > gone:
                yield f"{event.launch - gone} {event.at} {event.do}"

    def _starts_ahead(self) -> Iterator[str]:
        """What the schedule starts several times in launches to come."""
        ahead = self.schedule.launches[self.recorder.notebook.launch + 1 :]
        return (f"{place} {each}" for place, each in enumerate(ahead) if each.starts > 1)

    def _launch(self, role: str, step: int, prompt: str | None) -> Launch:
        index = len(self.launches)
        if index >= MAX_LAUNCHES:
            raise AssertionError("a schedule has at most one kill a launch and so must end")
        with_events = self.events and role in STEP_ROLES and not self._damaged
        events = [e for e in self.scenario.events if with_events and e.launch == index + 1]
        events += events_of(self.schedule.of(index), index + 1)
        how, room = "warm" if self.stage.launcher else "exec", self.stage.room
        self._changed = changed_paths(events)
        if self._changed:
            self._unchanged = room.tree(self.recorder.notebook.blobs), room.state_files()
        with drifted(room, events, how) as variables:
            env = {**self.scenario.env, **variables}
            launch = self._launch_so(role, step, prompt, events, env)
        if self._changed:  # what is found there from now on
            files = taken_back(launch.files_after, self._unchanged[0], self._changed)
            launch = replace(launch, files_after=files)
        self._changed = ()
        self.launches.append(launch)
        return launch

    def _launch_so(
        self,
        role: str,
        step: int,
        prompt: str | None,
        events: Sequence[PlannedEvent],
        env: Mapping[str, str],
    ) -> Launch:
        index, room, blobs = len(self.launches), self.stage.room, self.recorder.notebook.blobs
        planned = self.schedule.of(index)
        before, files = blobs.put(room.log()), room.tree(blobs)
        self.session.found(step, room.log())
        go_on = GO_ON_PROMPT if self.target.goes_on else None
        prompt = go_on or prompt if role in ("resume", "idle") else prompt
        starts = planned.starts if planned.role == role else 1  # two runs would be two prompts
        rivals = [
            self.stage.command(self.target, role, prompt, env, number)
            for number in range(1, starts)
        ]
        self.recorder.begin(
            index,
            planned.kill,
            events,
            harvest=role in STEP_ROLES and self._kills_are_over(),
            rivals=rivals,
            rival=self.stage.command(self.target, "resume", go_on, env, 1) if events else None,
        )
        turns = turns_of(self.scenario.turns, compaction=self.session.compacts(role, room.log()))
        faults = {e.request: e.fault for e in events if e.request and e.fault}
        if planned.kill and planned.kill.phase in (Phase.REQUEST, Phase.CHUNK):
            faults[planned.kill.ordinal] = Fault("hold", after=planned.kill.part)
        turns = (*turns, *own_turns(self.target.session.shell))
        self.stage.open(turns, faults, self.recorder, self.target.session)
        command = self.stage.command(self.target, role, prompt, env)
        outcome = trace(
            command,
            self.recorder,
            self.stage.mock,
            limit_s=self.target.launch_limit_s,
            grace_s=self.target.grace_s,
            launcher=self.stage.launcher,
            hold=self._hold if self.hold and planned.kill else None,
            rivals=rivals,
        )
        self.stage.mock.end()
        self.recorder.finish_launch()
        launch = Launch(
            index=index,
            role=role,
            step=step,
            argv=command.argv,
            prompt=prompt,
            log_before=before,
            files_before=files,
            first=planned.first,
            changed=tuple(e.do for e in events if e.at == START),
            **self.stage.ended(outcome, blobs, self.recorder.notebook.unseen),
        )
        if rivals:
            busy = self.target.exit_codes["busy"]
            launch = self.recorder.director.first_among_rivals(launch, busy)
        return launch

    def _hold(self, pid: int) -> None:
        """The engine has stopped the target at its kill point."""
        kill = self.schedule.kill_at(len(self.launches))
        resume = self.stage.command(self.target, "resume", None, self.scenario.env).argv
        assert self.hold is not None  # noqa: S101 - `_launch` passes this method only then
        self.hold(Held(pid, str(kill), str(self.stage.room.workspace), resume))

    def _evidence(self, merged_into: str | None) -> Evidence:
        return Evidence(
            schedule=str(self.schedule),
            facts=facts_of(self.scenario, self.stage.api_key),
            launches=tuple(self.launches),
            events=tuple(self.recorder.notebook.events),
            blobs=self.recorder.notebook.blobs,
            merged_into=merged_into,
        )
