"""`chaos judge`: today's rules over saved evidence, or over any session log."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from chaos.cli.output import say, show
from chaos.errors import ChaosError, UsageError
from chaos.judge import STATEMENTS, unaccounted
from chaos.judge.strict import check_log
from chaos.regular import read_regular
from chaos.report.counts import code_of
from chaos.report.explain import explain
from chaos.report.failure import read_failure
from chaos.report.folder import evidence_folders
from chaos.report.visible import visible
from chaos.results import Verdict, Violation
from chaos.saved import load_evidence
from chaos.supervise.conclude import conclude


def command(args: argparse.Namespace) -> int:
    """Judge a folder or a file; quiet about a log that is good."""
    subject = Path(args.subject)
    # Not Path.is_dir, which raises for a name that is too long.
    return _folder(subject) if os.path.isdir(subject) else _log(subject)  # noqa: PTH112


def _folder(path: Path) -> int:
    """Every piece of evidence in a folder: the proof of its kills and its rules."""
    found = evidence_folders(path)
    if not found:
        raise UsageError(
            f"{path}: no saved evidence here; `chaos run --keep --report DIR` keeps it in DIR"
        )
    results = []
    for folder in found:
        evidence = load_evidence(folder)
        result = conclude(folder.resolve().name, evidence, 0.0, keep=True)
        results.append(result)
        proof = f"kills: {result.kills}, proven exact: {result.exact}"
        if result.verdict is Verdict.PASS:
            say(f"{result.verdict}  {visible(result.id)}  {proof}\n")
            for lost in unaccounted(evidence):
                say(f"  lost, though paid for: {lost}\n")
        else:
            show(explain(result, None))
    passed = sum(result.verdict is Verdict.PASS for result in results)
    say(f"\n{len(results)} judged again: {passed} passed\n")
    return code_of(results)


def _log(path: Path) -> int:
    """A session log by itself, as far as one log can show a fault."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    _refuse_a_failure(path)
    violations = check_log(data)
    for violation in violations:
        say(_in_words(path, violation))
    return 1 if violations else 0


def _refuse_a_failure(path: Path) -> None:
    """A failure file is no log, and its evidence lies beside it."""
    try:
        read_failure(path)
    except ChaosError:
        return
    raise UsageError(
        f"{path}: a failure file, no session log; judge its evidence with `chaos judge "
        f"{path.with_suffix('')}`, or run it again with `chaos replay {path}`"
    )


def _in_words(path: Path, violation: Violation) -> str:
    """Rule, line, seq, what was expected and found; then what the rule says."""
    statement = STATEMENTS.get(violation.id, "")
    return f"{path}: {violation.id}: {visible(violation.message)}\n  {statement}\n"
