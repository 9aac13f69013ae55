"""`chaos replay`: one saved schedule again, and whether it says the same as then."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from chaos.cli.output import complain, say, show
from chaos.report.counts import code_of
from chaos.report.explain import explain
from chaos.report.failure import read_failure
from chaos.results import Verdict, Violation
from chaos.supervise.course import Held
from chaos.supervise.replay import replay


def command(args: argparse.Namespace) -> int:
    """Replay and explain. The exit code is that of today's verdict."""
    failure = read_failure(Path(args.failure))
    result = replay(failure, _hold if args.hold else None)
    show(explain(result, None))
    now = _verdict(result.verdict, result.violations)
    then = _verdict(failure.verdict, failure.violations)
    say(f"\nsame as saved: {now}\n" if now == then else f"\nsaved: {then}\nnow:   {now}\n")
    return code_of([result])


def _verdict(verdict: Verdict, violations: tuple[Violation, ...]) -> str:
    ids = sorted({violation.id for violation in violations})
    return f"{verdict}({', '.join(ids)})" if ids else str(verdict)


def _hold(held: Held) -> None:
    """Show where the target stands, until Enter (or the end of stdin)."""
    say(
        f"held at   {held.point}\n"
        f"pid       {held.pid}\n"
        f"workspace {held.workspace}\n"
        f"resume    {shlex.join(held.resume)}\n"
    )
    complain("the target stands still; Enter kills it and goes on")
    if sys.stdin is not None:  # as it is where it was closed
        sys.stdin.readline()
