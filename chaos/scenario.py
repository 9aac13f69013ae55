"""Scenario files: what the target is asked, what the model answers, what must come of it.

Reads the TOML of design section 8 into one frozen value that holds everything a sweep needs. A
scenario that is wrong is refused with file, line and the nearest right name. `parse_scenario` is a
function of the text, so that a saved failure can carry its scenario with it.

Does not know which kill points exist: the run without a kill tells.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.errors import UsageError
from chaos.points import KillPoint, Phase, Schedule, Scope
from chaos.provider.script import Turn
from chaos.scenario_events import PlannedEvent, read_events
from chaos.scenario_schedule import read_schedule
from chaos.scenario_script import check_reach, read_turns
from chaos.target import Target, TargetNotFound, load_target, read_files, read_text
from chaos.toml_table import Table, nearest, read_toml

STEPS = ("run", "resume", "compact", "abort")  # of these, only `run` says something
EFFECT_COUNTS = ("never", "once", "at-most-once", "per-intent")
OUTCOMES = ("completed", "failed", "aborted")
# Why a session waits for something to be restored, as the contract names it.
REASONS = (
    "configuration_changed",
    "environment_changed",
    "replay_declaration_changed",
    "attempts_exhausted",
)
DEFAULT_PROMPT = "begin"  # of a scenario without a [[step]]

_KEYS = ("name", "about", "target", "files", "step", "provider", "event", "kill", "expect")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# What a selector may leave open: the phase, then the ordinal, then the tool.
_SELECTOR = re.compile(
    r"(log|file|state)(:[A-Za-z][A-Za-z0-9_.-]*(\[[^\]]+\])?(#[1-9][0-9]*)?)?"
    r"|effect(:[^#;/\n]+(#[1-9][0-9]*)?)?|provider(:[1-9][0-9]*)?"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the user does: `do` is one of STEPS."""

    do: str
    prompt: str  # of a run; else empty


@dataclass(frozen=True, slots=True)
class KillSelection:
    """Which kills are tried first (those after a kill are all tried). Empty means every one."""

    points: tuple[str, ...]  # selectors such as "log:toolStarted[bash]", or full points
    phases: tuple[Phase, ...]
    steps: tuple[str, ...] = ()  # only in launches of such steps: "compact" …; empty: all
    scope: Scope | None = None  # who dies with the process; None: what the point suggests
    schedule: Schedule | None = None  # this one and no other: what `chaos shrink` left of a failure


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario file, resolved: its target is loaded, its path absolute."""

    name: str
    about: str
    path: str
    target: Target
    env: Mapping[str, str]  # added to the target's env, as it stands
    files: Mapping[str, str]  # workspace-relative path -> content, before the first launch
    steps: tuple[Step, ...]
    turns: tuple[Turn, ...]
    events: tuple[PlannedEvent, ...]
    kill: KillSelection
    expect_effects: Mapping[str, str]  # effect name -> never | once | at-most-once | per-intent
    expect_outcome: str | None  # completed | failed | aborted, of the last operation
    expect_blocked: str | None  # one of REASONS: what holds up a launch that finds a change
    source: str  # the TOML text


def parse_scenario(text: str, path: str, targets: Callable[[str], Target]) -> Scenario:
    """Read a scenario's text; `targets` finds its profile. Raises ScenarioError `path:line: …`."""
    root = read_toml(text, path)
    root.only(*_KEYS)
    name = root.text("name")
    if not NAME.fullmatch(name):
        raise root.error(f"name: expected lower-case words joined by '-', found {name!r}", "name")
    about = root.text("about")
    target, env = _target(root, targets)
    steps = _steps(root, target)
    turns = read_turns(root, target.session.shell)
    events = read_events(root)
    _spare_the_log(root, events, target)
    check_reach(
        root,
        {index: step.prompt for index, step in enumerate(steps) if step.do == "run"},
        turns,
        [event.request for event in events],
        compacts=any(step.do == "compact" for step in steps),
    )
    effects, outcome, blocked = _expect(root)
    return Scenario(
        name=name,
        about=about,
        path=path,
        target=target,
        env=env,
        files=read_files(root, "files"),
        steps=steps,
        turns=turns,
        events=events,
        kill=_kill(root, {step.do for step in steps}, target.durability),
        expect_effects=effects,
        expect_outcome=outcome,
        expect_blocked=blocked,
        source=text,
    )


def load_scenario(path: str) -> Scenario:
    """Read a scenario file and the target it names. Raises ScenarioError."""
    found = Path(os.path.realpath(path))  # Path.resolve raises for a link that leads to itself
    here = str(found.parent)
    return parse_scenario(read_text(found), str(found), lambda name: load_target(name, here))


def _target(root: Table, targets: Callable[[str], Target]) -> tuple[Target, dict[str, str]]:
    table = root.table("target")
    table.only("profile", "env")
    profile = table.text("profile")
    try:
        return targets(profile), table.environment("env")
    except TargetNotFound as error:
        raise table.error(str(error), "profile") from None


def _steps(root: Table, target: Target) -> tuple[Step, ...]:
    steps = []
    for table in root.tables("step"):
        table.only(*STEPS)
        if len(table.names()) != 1:
            raise table.error(f"a step is one of: {', '.join(STEPS)}")
        do = table.names()[0]
        if do not in target.commands:
            raise table.error(
                f"the target {target.name!r} has no command {do!r}; add commands.{do} to "
                f"{target.path}",
                do,
            )
        if do == "run":
            steps.append(Step(do, table.argument(do)))
        elif table.either(do, bool):
            steps.append(Step(do, ""))
        else:
            raise table.error(f"{do} = false says nothing; leave the step out", do)
    return tuple(steps) or (Step("run", DEFAULT_PROMPT),)


def _spare_the_log(root: Table, events: Sequence[PlannedEvent], target: Target) -> None:
    """What a launch finds changed is not the target's own state: that is `damage`'s business."""
    for table, event in zip(root.tables("event"), events, strict=True):
        path = f"{event.argument.partition('=')[0]}/"
        owns = (f"{posixpath.normpath(own)}/" for own in target.state)
        if event.kind in ("write", "delete") and any(
            path.startswith(own) or own.startswith(path) for own in owns
        ):
            raise table.error(
                f"{event.do!r} would change where the session lies; a schedule can damage the log: "
                "'damage: cut@100'",
                "do",
            )


def _kill(root: Table, done: Collection[str], durability: str) -> KillSelection:
    table = root.table("kill")
    table.only("points", "phases", "steps", "scope", "schedule")
    scope = _scope(table)
    if "schedule" in table:
        return _one_schedule(table, scope, durability)
    known: tuple[str, ...] = tuple(map(str, Phase))
    phases = table.texts("phases", known)
    for index, phase in enumerate(phases):
        if phase not in known:
            raise table.error(f"unknown phase {phase!r}{nearest(phase, known)}", "phases", index)
    if not phases:
        raise table.error("kill.phases is empty; leave it out for all of them", "phases")
    points = table.texts("points", ())
    for index, point in enumerate(points):
        wanted = _phase(table, point, index)
        if wanted and wanted not in phases:
            raise table.error(
                f"{point!r} can never be tried: kill.phases leaves out {wanted!r}", "points", index
            )
    within = table.texts("steps", ())
    for index, do in enumerate(within):
        if do not in done:
            raise table.error(f"no step does {do!r}{nearest(do, done)}", "steps", index)
    chosen = tuple(phase for phase in Phase if phase in phases)
    return KillSelection(points, chosen, within, scope)


def _scope(table: Table) -> Scope | None:
    if "scope" not in table:
        return None
    scope, known = table.text("scope"), [each.value for each in Scope]
    if scope not in known:
        raise table.error(f"unknown scope {scope!r}{nearest(scope, known)}", "scope")
    return Scope(scope)


def _one_schedule(table: Table, scope: Scope | None, durability: str) -> KillSelection:
    others = [name for name in table.names() if name not in ("schedule", "scope")]
    if others:
        raise table.error(f"kill.schedule says it all; leave {others[0]!r} out", others[0])
    try:
        schedule = read_schedule(table.text("schedule"), durability)
    except UsageError as error:
        raise table.error(f"kill.schedule: {error}", "schedule") from None
    return KillSelection((), tuple(Phase), scope=scope, schedule=schedule)


def _phase(table: Table, point: str, index: int) -> str:
    """The phase that a full kill point names; empty for a selector of several."""
    if _SELECTOR.fullmatch(point):
        return ""
    try:
        return str(KillPoint.parse(point).phase)
    except UsageError as error:
        raise table.error(str(error), "points", index) from None


def _expect(root: Table) -> tuple[dict[str, str], str | None, str | None]:
    table = root.table("expect")
    table.only("effects", "outcome", "blocked")
    effects: dict[str, str] = table.mapping("effects", str)
    for name, count in effects.items():
        if count not in EFFECT_COUNTS:
            raise table.error(
                f"expect.effects.{name}: unknown count {count!r}{nearest(count, EFFECT_COUNTS)}",
                "effects",
                name,
            )
    outcome = _one_of(table, "outcome", OUTCOMES)
    return effects, outcome, _one_of(table, "blocked", REASONS)


def _one_of(table: Table, key: str, known: Collection[str]) -> str | None:
    found = table.text(key) if key in table else None
    if found is not None and found not in known:
        raise table.error(f"unknown {key} {found!r}{nearest(found, known)}", key)
    return found
