"""A small sweep to report on: one schedule that passed, one that broke E2, one that proved nothing.

The evidence is a lineage of two launches: the first dies at an intent, the second runs the effect
again. Times and bytes are made up; what matters is who wrote what in which order.
"""

from __future__ import annotations

import json
from dataclasses import replace

from chaos.evidence import (
    Answered,
    Blobs,
    Effect,
    Evidence,
    Exec,
    Facts,
    Kill,
    Launch,
    LogWrite,
    Request,
)
from chaos.report.context import Context
from chaos.report.known import NONE, Known
from chaos.results import (
    Closure,
    ScenarioResult,
    ScheduleResult,
    SweepResult,
    Verdict,
    Violation,
)
from chaos.scenario import Scenario, parse_scenario
from chaos.target import load_target

CLOSURE = Closure(complete=False, states=2, depth=1, harvested=0, verified=0, left=4, wanted=1)
SECRET = "sk-killpoint-0123"
POINT = "log:toolStarted[bash]#1/after"

SCENARIO = """\
name = "deploy"
about = "Once."
target.profile = "agent"
[[provider.turn]]
tool_calls = [{ name = "bash", arguments = { command = "deploy" } }]
[[provider.turn]]
content = "done"
"""


def scenario() -> Scenario:
    return parse_scenario(SCENARIO, "/s/deploy.toml", lambda n: load_target(n, "/nowhere"))


def fact(seq: int, **record: object) -> bytes:
    value = {"kind": "record", "seq": seq, "id": f"id-{seq}", "record": record}
    return json.dumps(value).encode() + b"\n"


HEADER = b'{"kind":"header"}\n'
BEFORE = HEADER + fact(1, type="runStarted") + fact(2, type="stepAttempt", attempt=1)
INTENT = fact(3, type="toolStarted", toolName="bash", replay="never")
AFTER = BEFORE + INTENT


def context(source: str = SCENARIO, known: Known = NONE) -> Context:
    """What a CI service knows of it: the repository is /s."""
    shown = replace(scenario(), source=source)
    files = {violated().id: "rep/failures/x.json"}
    return Context(files, known, {"deploy": shown}, "/s", "warm")


def evidence() -> Evidence:
    blobs = Blobs()
    before, after, intent = map(blobs.put, (BEFORE, AFTER, INTENT))
    error = blobs.put(f"warning: \x1b[31mred\x1b[0m\nkey {SECRET} refused\n".encode())
    nothing = blobs.put(b"")
    shared = {"step": 0, "timed_out": False, "files_before": {}, "files_after": {}}
    launches = (
        Launch(
            index=0,
            role="run",
            argv=("agent", "run", "deploy it"),
            prompt="deploy it",
            exit_code=None,
            signal=9,
            killed=True,
            seconds=0.2,
            log_before=nothing,
            log_after=after,
            state_files=(),
            stdout=nothing,
            stderr=nothing,
            **shared,
        ),
        Launch(
            index=1,
            role="resume",
            argv=("agent", "resume"),
            prompt=None,
            exit_code=0,
            signal=None,
            killed=False,
            seconds=0.2,
            log_before=after,
            log_after=after,
            state_files=(),
            stdout=nothing,
            stderr=error,
            **shared,
        ),
    )
    events = (
        Request(1, 0, 1.0, 1, "POST", "/t/v1/chat/completions", nothing, before, 200, "", nothing),
        Answered(2, 0, 2.0, 1, complete=True),
        LogWrite(
            3, 0, 3.0, 7, "write", POINT[:-6], 4, len(BEFORE), len(INTENT), len(INTENT), after
        ),
        Kill(
            order=4,
            launch=0,
            at_ms=3.1,
            point=POINT,
            call="write",
            pid=7,
            tid=7,
            offset=len(BEFORE),
            length=len(INTENT),
            kept=len(INTENT),
            returned=len(INTENT),
            before=before,
            payload=intent,
            after=after,
            wait_status=9,
        ),
        Exec(5, 1, 9.0, 8, ("bash", "-c", "deploy"), after),
        Effect(6, 1, 9.5, 8, ("bash", "-c", "deploy"), "deploy", after, holds_log=False),
    )
    facts = Facts(
        scenario="deploy",
        dialect="session-v2",
        prompts=("deploy it",),
        probe_prompt="probe",
        exit_codes={"completed": 0},
        expect_outcome=None,
        expect_effects={},
        temporary=(),
        secret=SECRET,
    )
    return Evidence(f"run: {POINT}; resume: none", facts, launches, events, blobs)


def violated() -> ScheduleResult:
    return ScheduleResult(
        id="deploy-log-toolStarted-bash-1-after",
        schedule=f"run: {POINT}; resume: none",
        verdict=Verdict.VIOLATION,
        violations=(
            Violation(
                "E2",
                f"deploy with key {SECRET}: expected 0, found 1 "
                "at launch 2 (resume), line 4, seq 3",
                {"launch": 1, "line": 4, "seq": 3, "order": 6, "expected": "0", "found": "1"},
            ),
        ),
        why="",
        kills=1,
        exact=1,
        seconds=0.4,
        evidence=evidence(),
    )


def passed(ident: str = "deploy-baseline") -> ScheduleResult:
    return ScheduleResult(ident, "run: none", Verdict.PASS, (), "", 0, 0, 0.1)


def inconclusive() -> ScheduleResult:
    return ScheduleResult(
        id="deploy-log-header-1-before",
        schedule="run: log:header#1/before",
        verdict=Verdict.INCONCLUSIVE,
        violations=(),
        why="log:header#1/before was never reached",
        kills=1,
        exact=0,
        seconds=0.2,
    )


def scenario_result(*schedules: ScheduleResult, error: str = "") -> ScenarioResult:
    points = ("log:header#1", "log:toolStarted[bash]#1")
    return ScenarioResult("deploy", "/s/deploy.toml", points, schedules, CLOSURE, 1.5, error)


def sweep_result(
    *schedules: ScheduleResult, error: str = "", interrupted: bool = False
) -> SweepResult:
    return SweepResult((scenario_result(*schedules, error=error),), 2.0, 7, interrupted)
