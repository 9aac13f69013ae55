"""Two readings of one contract over mutated logs: `inspect` of the agent, `check_log` of the judge.

They share no code, so what both accept, and what both refuse at the same line for the same reason,
is most likely what the contract says. Every disagreement is a bug of one of them.

    python -m tests.differential [SEEDS]    # 5,000 logs a seed, 20 seeds: 100,000 logs

Prints how many logs were accepted, or refused with which code, and each disagreement with its seed,
history and variant; `tests.loggen.sample_at` makes that log again. Exit code 1 if there is one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.inspection import inspect
from chaos.judge.strict import check_log
from tests.loggen import Sample, samples

LOGS_PER_SEED = 5_000
SEEDS = 20

Verdict = tuple[object, ...]  # ("ok",) or (code, line, seq)


@dataclass
class Comparison:
    """What the judge says of the logs, and where the agent says something else."""

    verdicts: Counter[str] = field(default_factory=Counter)  # ok, or the code
    disagreements: list[str] = field(default_factory=list)

    def add(self, logs: Iterable[Sample]) -> Comparison:
        """Read them, both ways."""
        for sample in logs:
            judged = judges(sample.data)
            self.verdicts[str(judged[0])] += 1
            if judged != agents(sample.data):
                self.disagreements.append(described(sample))
        return self


def agents(data: bytes) -> Verdict:
    """What the agent says of a log."""
    printed = inspect(data)
    if printed["ok"]:
        return ("ok",)
    error = printed["error"]
    return error["code"], error["line"], error.get("seq")


def judges(data: bytes) -> Verdict:
    """What the judge says of it."""
    violations = check_log(data)
    if not violations:
        return ("ok",)
    (violation,) = violations  # the first one only: what follows has no meaning
    evidence = violation.evidence
    return evidence["code"], evidence["line"], evidence.get("seq")


def described(sample: Sample) -> str:
    """How the log was made, and what both say of it."""
    said = [violation.message for violation in check_log(sample.data)]
    return f"{sample.made}\n  agent {agents(sample.data)}\n  judge {judges(sample.data)} {said}"


def main(seeds: int) -> int:
    """Compare over `seeds` seeds. Gives the exit code."""
    found = Comparison()
    for seed in range(1, seeds + 1):
        found.add(samples(LOGS_PER_SEED, seed))
    print(f"{found.verdicts.total():,} logs, {len(found.disagreements)} disagreements")
    for verdict, count in found.verdicts.most_common():
        print(f"{count:>8,}  {verdict}")
    print("\n".join(found.disagreements), end="")
    return 1 if found.disagreements else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS))
