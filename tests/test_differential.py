"""The agent and the judge read 20,000 mutated logs in the same way; slow tests read 80,000 more.

What is compared, and how to repeat it by hand, is in `tests.differential`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.differential import LOGS_PER_SEED, SEEDS, Comparison, agents, described, judges, main
from tests.loggen import samples

QUICK = 4  # of the SEEDS; `make test-slow` reads the others

CODES = {
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


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=[pytest.mark.slow] if seed > QUICK else [])
        for seed in range(1, SEEDS + 1)
    ],
)
def test_both_readers_agree_on_code_line_and_seq(seed: int) -> None:
    found = Comparison().add(samples(LOGS_PER_SEED, seed))
    assert not found.disagreements, (
        f"{len(found.disagreements)} disagreements, first of them:\n"
        + ("\n".join(found.disagreements[:5]))
    )
    # The generator is worth something only if it reaches both sides of every code.
    assert found.verdicts["ok"] > LOGS_PER_SEED / 20
    assert set(found.verdicts) >= CODES


def test_histories_without_a_mutation_are_accepted_by_both() -> None:
    for seed in range(100, 400):
        (sample,) = samples(1, seed)
        assert agents(sample.data) == judges(sample.data) == ("ok",), described(sample)


def test_a_disagreement_is_told_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.differential.LOGS_PER_SEED", 1)
    assert main(1) == 0
    assert capsys.readouterr().out == "1 logs, 0 disagreements\n       1  ok\n"
    monkeypatch.setattr("tests.differential.agents", lambda _: ("BLANK_LINE", 1, None))
    assert main(1) == 1
    assert "seed 1, history 0, unchanged\n  agent ('BLANK_LINE', 1, None)\n  judge ('ok',)" in (
        capsys.readouterr().out
    )


def test_the_generator_shares_no_code_with_either_reader() -> None:
    for path in (Path(__file__).parent / "loggen").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            roots = {name.partition(".")[0] for name in names}
            assert not roots & {"agent", "chaos"}, f"{path.name}:{node.lineno}"
