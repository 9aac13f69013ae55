"""Which changes are drawn, and what counts as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.mutants import ROOT, modules
from tests.stress.mutate import changed_lines, differs, draw

SOURCE = """
def larger(one: int | None, two: int) -> bool:
    if one is None:
        return False
    return one > two
"""


def test_an_annotation_is_no_difference() -> None:
    assert not differs(SOURCE, SOURCE.replace("int | None", "int & None"))
    assert not differs("x: int = 1", "x: int | str = 1")
    assert not differs("def f() -> int: ...", "def f() -> str: ...")
    assert not differs(SOURCE, SOURCE.replace("if one", "if (one)").replace("None:", "None :"))
    assert differs(SOURCE, SOURCE.replace("one > two", "one >= two"))
    assert differs("x: int = 1", "x: int = 2")


def test_what_does_not_parse_is_none() -> None:
    assert not differs(SOURCE, SOURCE.replace("return", "retrun"))


def test_what_python_warns_of_is_none() -> None:
    assert not differs("x == 1", "x is 1")
    assert differs("x == y", "x is y")


def test_the_changed_lines_are_told_without_those_around_them() -> None:
    after = SOURCE.replace("one > two", "one < two")
    assert changed_lines(SOURCE, after) == ("return one > two", "return one < two")
    assert changed_lines("a\n@b\na\n", "a\na\n") == ("@b", "")
    assert changed_lines("a\na\n", "a\na\na\n") == ("", "a")


def test_a_seed_draws_the_same_mutants_in_the_same_order(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray", reason="random mutants need cosmic-ray (extra `mutants`)")
    (tmp_path / "larger.py").write_text(SOURCE)

    def keys(seed: int) -> list[str]:
        return [mutant.key for mutant in draw(tmp_path, ["larger.py"], seed)]

    assert keys(1) == keys(1)
    assert len({tuple(keys(seed)) for seed in range(8)}) > 1
    for mutant in draw(tmp_path, ["larger.py"], 1):
        assert differs(SOURCE, mutant.source)
        assert mutant.before in SOURCE.splitlines()[mutant.line - 1]
        assert mutant.key == f"larger.py: {mutant.before} -> {mutant.after}"
    lines = [mutant.line for mutant in draw(tmp_path, ["larger.py"], 1)]
    assert sorted(lines) == [3, 4, 5]


def test_what_is_mutated_is_there() -> None:
    found = modules(ROOT)
    assert {"agent/store.py", "agent/planner.py", "agent/tools/bash.py"} <= set(found)
    assert all((ROOT / module).is_file() for module in found)
    assert not [module for module in found if "__init__" in module]
