"""Are the tests exact? `python -m tests.stress.unit_mutants` (or `make unit-mutants`).

Random mutants of the rules (`chaos/judge/`) against `tests/judge`, and of the agent's reducer,
planner and state against their unit tests, one at a time, in a copy of the tree. Tests that draw
their own examples have no say: what they find differs from run to run. Results are kept as those
of `tests.stress.mutants` are, and a run that is started again goes on there. A mutant is

    killed     a test fails; `by` is its file, or `import`: the module does not even load
    refused    the tests end in another way
    survived   the tests are green
    timeout    the tests were not over in time

Prints the share that was killed, and the survivors with what `unit_survivors.toml` says of each.
Exit code 1: a survivor that nobody has explained, or tests that cannot tell a broken rule.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from tests.stress.mutants import BROKEN, ROOT
from tests.stress.mutate import Mutant, copy, draw, put
from tests.stress.verdicts import (
    Result,
    can_mutate,
    carry_out,
    explanations,
    parser,
    sha,
    tell,
)

EXPLAINED = Path(__file__).with_name("unit_survivors.toml")
KINDS = ("rules", "agent")
_AGENT = ("reducer", "planner", "state")
_AGENT_TESTS = (
    *("reducer", "planner", "corpus", "compaction", "loop", "view", "blocked", "abort"),
    "new_facts",
)
_COPIED = ("agent", "chaos", "tests", "pyproject.toml")
_OPTIONS = (
    *("-q", "-x", "--no-header", "--tb=no", "-m", "not hypothesis"),
    *("-p", "no:killpoint", "-p", "no:xdist", "-p", "no:cacheprovider"),
)
_TRUSTED = {"chaos/judge": "rules_log", "agent": "reducer"}  # one of each folder
_LIMIT_S, _SLOWER = 30.0, 4.0  # tests may take so many times what they take without a mutant


def modules(root: Path, kinds: Sequence[str] = KINDS) -> list[str]:
    """What is mutated."""
    rules = [path.relative_to(root).as_posix() for path in (root / "chaos/judge").glob("[a-z]*.py")]
    agent = [f"agent/{room}.py" for room in _AGENT]
    return sorted([*(rules * ("rules" in kinds)), *(agent * ("agent" in kinds))])


def suite(root: Path, module: str) -> list[str]:
    """The files of tests that have a say, those that are likely to kill first."""
    if module.startswith("agent/"):
        files = [f"tests/agent/test_{name}.py" for name in _AGENT_TESTS]
    else:
        found = (root / "tests/judge").glob("test_*.py")
        files = sorted(path.relative_to(root).as_posix() for path in found)
    stem = Path(module).stem
    subject = stem.removeprefix("rules_").replace("strict", "log").partition("_")[0]
    likely = (f"/test_{stem}.py", subject, "smallest")
    return sorted(files, key=lambda file: [part not in file for part in likely])


class Tree:
    """A copy of the tree, in which the tests test the modules of the copy; `files`: only the tests
    of so many files have a say."""

    def __init__(self, root: Path, files: int | None = None) -> None:
        self.root = root
        self.files = files
        copy(ROOT, root, _COPIED)

    def test(self, module: str, limit_s: float, *, compiled: bool = False) -> tuple[str, str, str]:
        """Run the tests of a module until the first that fails: verdict, its file, its name.
        `compiled`: keep what Python makes of the sources, for the runs to come."""
        keep = {} if compiled else {"PYTHONDONTWRITEBYTECODE": "1"}
        tests = suite(self.root, module)[: self.files]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *_OPTIONS, *tests],
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": str(self.root), **keep},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "timeout", f"not over in {limit_s:.0f} s", ""
        return read_end(done.returncode, done.stdout + done.stderr)

    def try_mutant(self, mutant: Mutant, limit_s: float) -> Result:
        """Put the mutant in the place of its module, test, and put the module back."""
        # What was compiled is known by its second and size, which a mutant may share.
        stem = Path(mutant.module).stem
        for old in (self.root / mutant.module).parent.glob(f"__pycache__/{stem}.*.pyc"):
            old.unlink()
        began = time.monotonic()
        with put(self.root, mutant):
            told = self.test(mutant.module, limit_s)
        seconds = round(time.monotonic() - began, 1)
        return Result(mutant.key, mutant.line, sha(mutant.source), *told, seconds)

    def trust(self, module: str) -> float:
        """See that the tests of a module are green, and red where it cannot be imported.
        Returns the seconds of the green ones. Raises SystemExit."""
        began = time.monotonic()
        told = self.test(module, 3600, compiled=True)
        seconds = time.monotonic() - began
        if told[0] != "survived":
            raise SystemExit(f"the tests of the sound tree are not green: {' '.join(told)}")
        broken = Mutant(module, 1, "", "", BROKEN)
        if self.try_mutant(broken, _LIMIT_S + seconds).verdict != "killed":
            raise SystemExit(f"the tests are green without {module}: is it the copy's?")
        return seconds


def read_end(code: int, output: str) -> tuple[str, str, str]:
    """Verdict, file and name of the test that failed, by pytest's exit code and summary."""
    if code == 0:
        return "survived", "", ""
    if "while loading conftest" in output:
        return "killed", "import", "conftest.py"
    summary = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    name = summary[0].split(" ", 1)[1].partition(" - ")[0] if summary else ""
    if code not in {1, 2} or not name:
        last = (output.strip() or "nothing said").splitlines()[-1]
        return "refused", last[:200], ""
    if "::" not in name:  # a whole file, as it was collected
        return "killed", "import", name
    return "killed", Path(name.partition("::")[0]).name, name


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    made = parser("tests.stress.unit_mutants", 400, "unit-*.jsonl")
    made.add_argument("--of", choices=KINDS, help="default: both")
    made.add_argument("--again", action="store_true", help="try survivors again")
    return made.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command does. Returns its exit code."""
    asked = parse(arguments)
    if not can_mutate():
        return 4
    kinds = [asked.of] if asked.of else KINDS
    name = f"unit-{'-'.join(kinds)}-{asked.seed}.jsonl"
    file = asked.results or ROOT / "chaos-report-mutants" / name
    with tempfile.TemporaryDirectory(prefix="killpoint-mutants-") as place:
        tree = Tree(Path(place).resolve())

        @cache
        def limit_s(folder: str) -> float:
            return _LIMIT_S + _SLOWER * tree.trust(f"{folder}/{_TRUSTED[folder]}.py")

        def try_one(mutant: Mutant) -> Result:
            return tree.try_mutant(mutant, limit_s(mutant.module.rpartition("/")[0]))

        drawn = islice(draw(ROOT, modules(ROOT, kinds), asked.seed), asked.count)
        results = carry_out(drawn, try_one, file, asked.again)
    return 1 if tell(results, explanations(EXPLAINED), "test") else 0


if __name__ == "__main__":
    sys.exit(main())
