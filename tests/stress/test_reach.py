"""Which statements a scenario runs, and that a mutant is tried by those that run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.mutants import BROKEN, NOT_RUN, ROOT, Tree
from tests.stress.mutate import Mutant
from tests.stress.reach import runs, statement

SOURCE = """\
@decorated(
    1)
def f(a,
      b=2):
    if a and (
        b
    ):
        return [
            a,
        ]
    elif a:
        try:
            a()
        except (
            KeyError
        ):
            return 1
    match a:
        case 1:
            return 2
"""


@pytest.mark.parametrize(
    ("line", "first", "last"),
    [
        (1, 1, 4),  # decorator, defaults: run at import
        (4, 1, 4),
        (6, 5, 7),
        (9, 8, 10),
        (11, 11, 11),
        (12, 12, 12),
        (13, 13, 13),
        (15, 14, 16),
        (17, 17, 17),
        (18, 18, 18),
        (19, 19, 19),
        (20, 20, 20),
        (99, 99, 99),
    ],
)
def test_a_statement_has_the_lines_that_are_not_of_one_within_it(
    line: int, first: int, last: int
) -> None:
    assert statement(SOURCE, line) == range(first, last + 1)


def test_only_scenarios_that_come_to_a_line_are_told() -> None:
    a, b = Path("a"), Path("b")
    reached = {a: {("m", 1), ("m", 2)}, b: {("m", 2), ("n", 3)}}
    assert runs(reached, "m", range(1, 2)) == [a]
    assert runs(reached, "m", range(1, 3)) == [a, b]
    assert runs(reached, "n", range(1, 3)) == []


def test_a_mutant_is_tried_by_the_scenarios_that_run_it(tmp_path: Path) -> None:
    plain, deploy = "calls/plain-answer.toml", "calls/deploy-is-never-repeated.toml"
    tree = Tree(tmp_path, (plain, deploy))
    both = [tmp_path / "scenarios" / name for name in (plain, deploy)]

    def at(module: str, text: str) -> Mutant:
        """A change of the one line of a module that has this text."""
        lines = (ROOT / module).read_text(encoding="utf-8").splitlines()
        (line,) = [number for number, each in enumerate(lines, 1) if text in each]
        return Mutant(module, line, text, "", BROKEN)

    in_time_out = at("agent/guard.py", 'return "timeout 0"')
    assert tree.needed(in_time_out) == both  # nothing is known yet
    tree.learn(2)
    assert tree.needed(at("agent/guard.py", "_CHUNK = 1 << 16")) == both  # at import
    assert tree.needed(at("agent/guard.py", "keep_only(pipes")) == both  # in a fork of the agent
    assert tree.needed(at("agent/loop.py", "append_synthetic(plan)")) == both[1:]
    assert tree.needed(in_time_out) == []
    told = tree.try_mutant(in_time_out, 1, 60)
    assert (told.verdict, told.by) == ("survived", NOT_RUN)
    assert not {"lines", "sitecustomize.py"} & {path.name for path in tmp_path.iterdir()}
