"""The table of fault classes is whole: each class has scenarios that provoke it, rules that see it
and planted bugs that prove that; no scenario and no bug is left out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from chaos.judge import STATEMENTS
from tests.library import SCENARIOS
from tests.planted.bugs import BUGS

ROOT = Path(__file__).resolve().parents[1]
CLASSES: list[dict[str, Any]] = tomllib.loads((ROOT / "docs" / "faults.toml").read_text())["class"]
KNOWN = [each for each in CLASSES if each["number"]]


def test_all_twenty_one_classes_are_there_in_order() -> None:
    assert [each["number"] for each in KNOWN] == list(range(1, 22))


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: str(each["what"])[:40])
def test_a_class_is_provoked_seen_and_proved(each: dict[str, Any]) -> None:
    assert set(each["rules"]) <= set(STATEMENTS)
    assert each["scenarios"]
    assert set(each["scenarios"]) <= set(SCENARIOS)
    assert each["planted"]
    proved_by = {name: BUGS[name].rule for name in each["planted"]}
    assert set(proved_by.values()) <= set(each["rules"]), proved_by


@pytest.mark.parametrize("each", KNOWN, ids=lambda each: str(each["number"]))
def test_a_known_class_has_a_regression_scenario_of_its_own(each: dict[str, Any]) -> None:
    (own,) = [name for name in SCENARIOS if name.startswith(f"{each['number']:02}-")]
    assert own in each["scenarios"]
    assert SCENARIOS[own].parent.name == "regression"


def test_names_of_scenario_files_are_unique() -> None:
    every = [p for p in (ROOT / "scenarios").rglob("*.toml") if "targets" not in p.parts]
    assert len(every) == len(SCENARIOS)


@pytest.mark.parametrize(("key", "everything"), [("scenarios", SCENARIOS), ("planted", BUGS)])
def test_nothing_is_left_out(key: str, everything: dict[str, object]) -> None:
    listed = {name for each in CLASSES for name in each[key]}
    assert set(everything) - listed == set()
