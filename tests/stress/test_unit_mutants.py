"""A broken rule is told from an unharmed one, and how the end of pytest is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.mutants import BROKEN, ROOT
from tests.stress.test_mutants import changed, strangers
from tests.stress.unit_mutants import EXPLAINED, Tree, modules, read_end, suite
from tests.stress.verdicts import explanations

RULES = "chaos/judge/rules_log.py"


def test_a_broken_rule_is_told_from_an_unharmed_one(tmp_path: Path) -> None:
    tree = Tree(tmp_path, files=1)
    file = tmp_path / RULES
    sound = file.read_text()
    assert tree.test(RULES, 600) == ("survived", "", "")
    inverted = changed(RULES, "if not found.startswith(before)", "if found.startswith(before)")
    fatal = tree.try_mutant(inverted, 600)
    assert (fatal.verdict, fatal.by) == ("killed", "test_rules_log.py"), fatal
    assert fatal.schedule.startswith("tests/judge/test_rules_log.py::"), fatal
    assert file.read_text() == sound


def test_tests_that_are_red_by_themselves_are_not_trusted(tmp_path: Path) -> None:
    tree = Tree(tmp_path, files=1)
    (tmp_path / RULES).write_text(BROKEN)
    with pytest.raises(SystemExit, match=r"not green: killed import tests/judge/test_rules_log"):
        tree.trust(RULES)
    (tmp_path / "tests/judge/test_rules_log.py").write_text("def test_nothing():\n    pass\n")
    with pytest.raises(SystemExit, match=rf"green without {RULES}"):
        tree.trust(RULES)


def test_the_end_of_pytest_is_read() -> None:
    failed = "F\nFAILED tests/judge/test_log.py::test_a[b c] - assert 1 == 2\n1 failed\n"
    assert read_end(1, failed) == ("killed", "test_log.py", "tests/judge/test_log.py::test_a[b c]")
    unread = "ERROR tests/judge/test_log.py - NameError: x\n!!! Interrupted !!!\n"
    assert read_end(2, unread) == ("killed", "import", "tests/judge/test_log.py")
    loading = "ImportError while loading conftest '/t/tests/agent/conftest.py'.\nE  x\n"
    assert read_end(4, loading) == ("killed", "import", "conftest.py")
    assert read_end(0, "1 passed\n") == ("survived", "", "")
    assert read_end(4, "ERROR: not found: x\n") == ("refused", "ERROR: not found: x", "")
    assert read_end(-9, "") == ("refused", "nothing said", "")


def test_what_is_mutated_is_there_and_has_tests() -> None:
    found = modules(ROOT)
    assert {"agent/planner.py", "chaos/judge/case.py", "chaos/judge/strict.py"} <= set(found)
    assert modules(ROOT, ["agent"]) == ["agent/planner.py", "agent/reducer.py", "agent/state.py"]
    assert len(modules(ROOT, ["rules"])) == len(found) - 3
    for module in found:
        files = suite(ROOT, module)
        assert all((ROOT / file).is_file() for file in files)
    assert suite(ROOT, "chaos/judge/rules_abort.py")[:2] == [
        "tests/judge/test_rules_abort.py",
        "tests/judge/test_smallest.py",
    ]
    assert suite(ROOT, "chaos/judge/strict_steps.py")[0] == "tests/judge/test_log.py"


def test_the_explanations_are_of_code_that_is_there() -> None:
    assert strangers(explanations(EXPLAINED), modules(ROOT)) == []
