"""`chaos run`: sweep the scenarios, print as results come, write the reports."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from chaos.cli.ci import no_commands, repository, write_summary
from chaos.cli.expression import compile_expression
from chaos.cli.find import find_scenarios
from chaos.cli.output import STDOUT, check_writable, complain, near_each, say, tell, write_report
from chaos.cli.screen import screen_for
from chaos.cli.tally import Tally
from chaos.cli.teller import Teller, Telling
from chaos.errors import UsageError
from chaos.options import FAULTS, SweepOptions
from chaos.report.context import Context
from chaos.report.counts import exit_code
from chaos.report.folder import ReportFolder
from chaos.report.github import annotations_of
from chaos.report.json_ import json_report
from chaos.report.junit import junit_report
from chaos.report.known import NONE, Known, accepted, gone, read_known
from chaos.report.triage import faults_of_all
from chaos.supervise.sweep import sweep


def command(args: argparse.Namespace) -> int:
    """Run all and give the exit code of design section 7."""
    options = SweepOptions(
        phases=args.phases,
        torn=args.torn,
        faults=args.faults,
        jobs=args.jobs,
        executor=args.executor,
        launch=args.launch,
        depth=args.depth,
        budget_s=args.budget,
        max_states=args.max_states,
        verify_dedup=args.verify_dedup,
        shard=args.shard,
        seed=args.seed,
        fail_fast=args.fail_fast,
        select=compile_expression(args.k) if args.k else None,
        keep=args.keep,
    )
    if options.faults != FAULTS[0] and options.depth != 1:
        raise UsageError(f"--faults {options.faults} has no depth: leave --depth out")
    scenarios = find_scenarios(args.scenarios)
    for file in (args.json, args.junit):
        check_writable(file)
    if args.json == args.junit == STDOUT:
        raise UsageError("--json - and --junit -: standard output takes one of them")
    if args.known and args.fail_fast:
        raise UsageError("--fail-fast would stop at a known fault; leave it out, or --known")
    known = read_known(Path(args.known)) if args.known else NONE
    folder = ReportFolder(Path(os.path.realpath(args.report)), known, options, args.line)
    folder.prepare()

    to_stderr = STDOUT in (args.json, args.junit)
    write = tell if to_stderr else say
    tally = Tally.of((s.name for s in scenarios), time.monotonic(), deep=options.depth != 1)
    screen = screen_for(sys.stderr if to_stderr else sys.stdout, write, tally, quiet=args.quiet)
    telling = Telling.QUIET if args.quiet else Telling.VERBOSE if args.verbose else Telling.USUAL
    teller = Teller(scenarios, folder, screen, tally, telling)
    with no_commands(write) if args.github else nullcontext():
        try:
            teller.head()
            result = sweep(scenarios, options, teller)
            teller.rest(result)
        finally:
            screen.close()
        teller.sums(result)
    folder.finish(result)
    faults = faults_of_all(result)
    context = Context(
        near_each(folder.artifacts), known, teller.scenarios, repository(), args.launch
    )
    write_report(args.json, json_report(result, folder.artifacts, known))
    write_report(args.junit, junit_report(result, faults, context))
    if args.github:
        write(annotations_of(result, faults, context))
        write_summary(result, faults, context)
    code = exit_code(result, accepted(known, faults))
    if code:
        complain(f"the report is in {folder.path} (report.html is to look at)")
        return code
    return _check_true(args.known, known, gone(known, faults))


def _check_true(file: str, known: Known, past: Sequence[str]) -> int:
    """Say which known faults were not met in a sweep that is green but for known ones."""
    for fingerprint in past:
        complain(
            f"{file}:{known[fingerprint].line}: known fault not met any more: {fingerprint}\n"
            "  take the line out, or look for what this run left out"
        )
    return UsageError.exit_code if past else 0
