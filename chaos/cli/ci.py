"""What a CI service wants to be told apart from the report: where the repository is, and GitHub's
own files and commands.

Off GitHub the annotations are printed as well; there is no summary, and nothing is switched off.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chaos.cli.output import complain
from chaos.report.context import Context
from chaos.report.github import MOST_BYTES, summary
from chaos.report.triage import Fault
from chaos.results import SweepResult

SUMMARY = "GITHUB_STEP_SUMMARY"
WORKSPACE = "GITHUB_WORKSPACE"


def repository() -> str:
    """The root of the repository that we are in: GitHub's, or the nearest `.git` above; without
    one, the current directory. Real, as the paths of scenarios are."""
    if told := os.environ.get(WORKSPACE):
        return os.path.realpath(told)
    here = Path.cwd().resolve()
    return str(next((each for each in (here, *here.parents) if (each / ".git").exists()), here))


@contextmanager
def no_commands(write: Callable[[str], None]) -> Iterator[None]:
    """GitHub takes any line that looks like one of its commands for a command. Within this, it does
    not: an agent's words are in the report."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    token = secrets.token_hex(16)  # that nobody else knows, or the agent could resume them
    write(f"::stop-commands::{token}\n")
    try:
        yield
    finally:
        write(f"::{token}::\n")


def write_summary(sweep: SweepResult, faults: Sequence[Fault], context: Context) -> None:
    """Add to the summary of this step, as far as there is room in it."""
    file = os.environ.get(SUMMARY)
    if not file:
        return
    path = Path(file)
    try:
        used = path.stat().st_size if path.exists() else 0
        text = summary(sweep, faults, context, max(0, MOST_BYTES - used))
        with path.open("a", encoding="utf-8", errors="replace") as out:
            out.write(text)
    except OSError as error:  # the verdict stands all the same
        complain(f"{SUMMARY}={file}: cannot be written: {error.strerror}")
