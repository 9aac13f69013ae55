"""`chaos certify`: put a target to the standard course, and print rule by rule what was found."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chaos.cli.find import DEFAULT_FOLDER
from chaos.cli.output import STDOUT, check_writable, complain, near, say, show
from chaos.cli.screen import Screen, screen_for
from chaos.cli.tally import Tally
from chaos.options import SweepOptions
from chaos.report.certificate import Subject, certificate, certificate_json
from chaos.report.counts import exit_code
from chaos.report.folder import ReportFolder
from chaos.results import ScenarioResult, ScheduleResult
from chaos.supervise.certify import certify
from chaos.supervise.standard import standard_course
from chaos.target import Target, TargetNotFound, load_target
from chaos.whole import write_whole

_VERSION_LIMIT_S = 120.0
_UNKNOWN = "(version unknown)"


def command(args: argparse.Namespace) -> int:
    """Certify, and give the exit code of `chaos run`."""
    target = _target(args.target)
    check_writable(args.json)
    options = SweepOptions(
        jobs=args.jobs, launch=args.launch, budget_s=args.budget, seed=0, keep=True
    )
    scenarios = standard_course(target)
    folder = ReportFolder(Path(args.report).resolve(), args.launch, 0, {}, options, args.line)
    folder.prepare()
    subject = Subject(
        target.name,
        _version(target),
        target.dialect,
        target.commands["run"],
        near(Path(target.path)),
    )
    tally = Tally.of((s.name for s in scenarios), time.monotonic(), deep=False)
    screen = screen_for(sys.stdout, say, tally, quiet=args.json == STDOUT)
    listener = _Listener(screen, tally)
    try:
        result = certify(scenarios, options, listener)
    finally:
        screen.close()
    for scenario, done in zip(scenarios, result.scenarios, strict=True):
        folder.add(scenario, done)
    folder.finish(result)
    artifacts = {ident: near(Path(file)) for ident, file in folder.artifacts.items()}
    if args.json is not None:
        text = certificate_json(subject, result, artifacts)
        say(text) if args.json == STDOUT else write_whole(Path(args.json), text)
    if args.json != STDOUT:
        show(certificate(subject, result, artifacts))
    complain(f"the report is in {folder.path}")
    return exit_code(result)


def _target(name: str) -> Target:
    """A target by the path of its file, or by its name. Raises ScenarioError."""
    try:
        return load_target(name, ".")
    except TargetNotFound:
        return load_target(name, DEFAULT_FOLDER)


def _version(target: Target) -> str:
    """What the target says of its version, in a HOME of its own: its last line with something."""
    if not target.version:
        return _UNKNOWN
    with tempfile.TemporaryDirectory() as home:
        argv = [target.filled(part, {"home": home, "workspace": home}) for part in target.version]
        try:
            done = subprocess.run(
                argv,
                capture_output=True,
                text=True,
                timeout=_VERSION_LIMIT_S,
                check=False,
                stdin=subprocess.DEVNULL,
                cwd=home,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": home},
            )
        except (OSError, subprocess.TimeoutExpired):
            return _UNKNOWN
    said = done.stdout if done.stdout.strip() else done.stderr
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines and done.returncode == 0 else _UNKNOWN


class _Listener:
    """Shows how far it is."""

    def __init__(self, screen: Screen, tally: Tally) -> None:
        self._screen, self._tally = screen, tally

    def scenario_started(self, name: str) -> None:  # noqa: ARG002 - as a listener has it
        self._screen.open()

    def schedules_planned(self, name: str, more: int) -> None:
        self._tally.plan(name, more, time.monotonic())

    def schedule_done(self, name: str, result: ScheduleResult) -> None:
        self._tally.take(name, result)
        self._screen.tick()

    def scenario_done(self, result: ScenarioResult) -> None:
        self._tally.end(result.name)
