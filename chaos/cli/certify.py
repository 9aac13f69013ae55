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
from chaos.cli.output import (
    STDOUT,
    check_writable,
    complain,
    near,
    near_each,
    say,
    show,
    write_report,
)
from chaos.cli.screen import screen_for
from chaos.cli.tally import Tally
from chaos.cli.teller import Watcher
from chaos.options import SweepOptions
from chaos.report.certificate import Subject, certificate, certificate_json
from chaos.report.counts import exit_code
from chaos.report.folder import ReportFolder
from chaos.report.known import NONE
from chaos.supervise.certify import certify
from chaos.supervise.standard import standard_course
from chaos.target import Target, TargetNotFound, load_target

_VERSION_LIMIT_S = 120.0
_UNKNOWN = "(version unknown)"


def command(args: argparse.Namespace) -> int:
    """Certify, and give the exit code of `chaos run`."""
    target = _target(args.target)
    check_writable(args.json)
    options = SweepOptions(jobs=args.jobs, launch=args.launch, budget_s=args.budget, keep=True)
    scenarios = standard_course(target)
    folder = ReportFolder(Path(os.path.realpath(args.report)), NONE, options, args.line)
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
    try:
        result = certify(scenarios, options, Watcher(screen, tally))
    finally:
        screen.close()
    try:
        for scenario, done in zip(scenarios, result.scenarios, strict=True):
            folder.add(scenario, done)
        folder.finish(result)
    finally:  # a disk that is full does not keep back what was found
        artifacts = near_each(folder.artifacts)
        if args.json != STDOUT:
            show(certificate(subject, result, artifacts))
        if args.json is not None:
            write_report(args.json, certificate_json(subject, result, artifacts))
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
