"""Two readings of one contract: `inspect` of the agent and `check_log` of the judge.

They share no code, so what both accept, and what both refuse at the same line for the same reason,
is most likely what the contract says. Every disagreement is a bug of one of them. A failure names
seed, history and variant; `tests.loggen.sample_at` makes that log again.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from agent.inspection import inspect
from chaos.judge.strict import check_log
from tests.loggen import Sample, samples

LOGS_PER_SEED = 5_000
SEEDS = range(1, 5)  # 20,000 logs in each run
MORE_SEEDS = range(5, 21)  # 80,000 more with `make test-slow`

Verdict = tuple[object, ...]  # ("ok",) or (code, line, seq)


def agents(data: bytes) -> Verdict:
    printed = inspect(data)
    if printed["ok"]:
        return ("ok",)
    error = printed["error"]
    return error["code"], error["line"], error.get("seq")


def judges(data: bytes) -> Verdict:
    violations = check_log(data)
    if not violations:
        return ("ok",)
    (violation,) = violations  # the first one only: what follows has no meaning
    evidence = violation.evidence
    return evidence["code"], evidence["line"], evidence.get("seq")


def described(sample: Sample) -> str:
    said = [violation.message for violation in check_log(sample.data)]
    return f"{sample.made}\n  agent {agents(sample.data)}\n  judge {judges(sample.data)} {said}"


@pytest.mark.parametrize(
    "seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MORE_SEEDS)]
)
def test_both_readers_agree_on_code_line_and_seq(seed: int) -> None:
    disagreed: list[Sample] = []
    refused: set[object] = set()
    accepted = 0
    for sample in samples(LOGS_PER_SEED, seed):
        judged = judges(sample.data)
        if judged == ("ok",):
            accepted += 1
        refused.add(judged[0])
        if judged != agents(sample.data):
            disagreed.append(sample)
    assert not disagreed, f"{len(disagreed)} disagreements, first of them:\n" + "\n".join(
        map(described, disagreed[:5])
    )
    # The generator is worth something only if it reaches both sides of every code.
    assert accepted > LOGS_PER_SEED / 20
    assert refused >= {
        "BLANK_LINE",
        "CRLF_NOT_ALLOWED",
        "DUPLICATE_ID",
        "EMPTY_TRANSACTION",
        "INVALID_FACT",
        "INVALID_HEADER",
        "INVALID_REFERENCE",
        "INVALID_TRANSCRIPT",
        "INVALID_TRANSITION",
        "INVALID_UTF8",
        "MALFORMED_JSON",
        "MISSING_HEADER",
        "SEQ_MISMATCH",
        "UNSUPPORTED_VERSION",
    }


def test_histories_without_a_mutation_are_accepted_by_both() -> None:
    for seed in range(100, 400):
        (sample,) = samples(1, seed)
        assert agents(sample.data) == judges(sample.data) == ("ok",), described(sample)


def test_the_generator_shares_no_code_with_either_reader() -> None:
    for path in (Path(__file__).parent / "loggen").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            roots = {name.partition(".")[0] for name in names}
            assert not roots & {"agent", "chaos"}, f"{path.name}:{node.lineno}"
