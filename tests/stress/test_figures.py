"""The page of figures: its commands are commands, and it has one for each of the gates."""

from __future__ import annotations

import importlib
import re
import subprocess

import pytest

from tests.stress.mutants import ROOT

PAGE = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
MODULES = ("exactness", "deaths", "soak", "mutants", "unit_mutants")
COMMANDS = re.findall(r"^    python -m tests\.stress\.(\w+)(.*)$", PAGE, re.MULTILINE)
TARGETS = re.findall(r"^    make ([^\n#]+)", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("module", "arguments"), COMMANDS)
def test_every_command_of_the_page_can_be_given(module: str, arguments: str) -> None:
    if module == "coverage":
        assert len(arguments.split()) == 1
    else:
        assert importlib.import_module(f"tests.stress.{module}").parse(arguments.split())


def test_every_gate_is_on_the_page() -> None:
    assert {module for module, _ in COMMANDS} == {*MODULES, "coverage"}


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_of_the_page_runs_a_gate(target: str) -> None:
    """And hands the numbers on that stand behind it."""
    made = subprocess.run(
        ["make", "--dry-run", "--assume-old=.venv/.installed", *target.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    recipe = made.stdout
    assert re.search(r"-m tests\.(stress\.|bench)", recipe)
    numbers = [word.partition("=")[2] for word in target.split() if "=" in word]
    assert all(number in recipe.split() for number in numbers)
