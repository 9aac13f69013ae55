"""What became of each mutant: kept as it comes, read again, counted, explained.

Shared by the two kinds of random mutants, `mutants` (the sweep alone) and `unit_mutants`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.stress.mutate import Mutant

LIVING = {"survived", "timeout"}  # verdicts that ask for an explanation


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant; a line of the file of results."""

    key: str
    line: int
    source: str  # SHA-256 of the mutated module: a result holds for that only
    verdict: str
    by: str  # rule, or file of tests
    schedule: str  # or the name of the test
    seconds: float


def parser(module: str, count: int, results: str) -> argparse.ArgumentParser:
    """What both drivers are asked: how many mutants, which, and where results are kept."""
    made = argparse.ArgumentParser(prog=f"python -m {module}")
    made.add_argument("--count", type=int, default=count)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--results", type=Path, help=f"default: chaos-report-mutants/{results}")
    return made


def can_mutate() -> bool:
    """Is there what makes mutants? Else it is said what to do."""
    there = importlib.util.find_spec("cosmic_ray") is not None
    if not there:
        print("random mutants need cosmic-ray: pip install -e '.[mutants]'")
    return there


def sha(text: str) -> str:
    """A name for a source."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_results(file: Path) -> dict[str, Result]:
    """What an earlier run found, by mutated source. The last result of a mutant counts."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    return {result.source: result for result in results}


def carry_out(
    drawn: Iterable[Mutant],
    try_one: Callable[[Mutant], Result],
    file: Path,
    again: bool = False,
) -> list[Result]:
    """Try the mutants that the file has no result for; `again`: and those that lived."""
    file.parent.mkdir(parents=True, exist_ok=True)
    known, results = read_results(file), []
    for mutant in drawn:
        result = known.get(sha(mutant.source))
        if result is None or (again and result.verdict in LIVING):
            result = try_one(mutant)
            with file.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(asdict(result)) + "\n")
            what = f"{result.verdict:<9} {result.by[:60]:<4} {result.seconds:6.1f} s"
            print(f"{what}  {mutant.module}:{mutant.line}: {mutant.after}"[:160], flush=True)
        results.append(result)
    return results


def explanations(file: Path) -> dict[str, str]:
    """Why a survivor is none: by its key. The module `*` is any."""
    table: Mapping[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return {f"{e['module']}: {e['before']} -> {e['after']}": e["why"] for e in table["survivor"]}


def tell(results: Sequence[Result], explained: Mapping[str, str], by: str = "rule") -> int:
    """The survivors and the share. Returns how many nobody has explained."""
    unexplained = 0
    for result in results:
        if result.verdict in LIVING:
            everywhere = "*:" + result.key.partition(":")[2]
            why = explained.get(result.key) or explained.get(everywhere, "")
            unexplained += not why
            print(f"{result.verdict}: {result.key}\n    {why or 'UNEXPLAINED'}")
    counts = Counter(result.verdict for result in results)
    killers = Counter(result.by for result in results if result.verdict == "killed")
    print(f"by {by}:", ", ".join(f"{killer} {count}" for killer, count in killers.most_common()))
    print(
        f"{len(results)} random mutants: {counts['killed']} killed by a {by}, {counts['refused']} "
        f"refused, {counts['survived']} survived, {counts['timeout']} not over in time; "
        f"{unexplained} unexplained"
    )
    return unexplained
