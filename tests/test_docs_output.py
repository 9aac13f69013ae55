"""docs/output.md is true: the keys, the labels, the options, the codes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos.cli.parser import parse
from chaos.report import github, junit
from chaos.report.text import failures
from tests.report import sample
from tests.report.test_schemas import schema

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "output.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def properties(value: Any) -> set[str]:
    """Every key that a schema names."""
    if isinstance(value, list):
        return {key for item in value for key in properties(item)}
    if not isinstance(value, dict):
        return set()
    own = value.get("properties")
    inside = {key for item in value.values() for key in properties(item)}
    return inside | (set(own) if isinstance(own, dict) else set())


@pytest.mark.parametrize("name", ["report", "failure"])
def test_every_key_of_the_schemas_is_named(name: str) -> None:
    told = set(re.findall(r"`([a-z_]+)`", section("JSON")))
    missed = properties(schema(name)) - told - {"path", "source"}  # of a file in a failure file
    assert missed == set()


def test_the_python_of_the_page_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["schema"] == schema("report")


def test_a_failure_has_the_labels_of_the_page_in_their_order() -> None:
    (other,) = sample.violated().violations
    twice = replace(sample.violated(), violations=(other, replace(other, id="E2")))
    results = [twice, replace(twice, id="deploy-other")]
    text = failures(sample.scenario_result(*results), {twice.id: "f.json"})
    shown = re.findall(r"^  (\w+)", text, re.MULTILINE)
    told = re.findall(r"^      (\w+)", section("How a failure reads"), re.MULTILINE)
    told = ["E2" if name == "E4" else name for name in told if name != "schedule"]
    assert shown == told


def test_the_options_are_there() -> None:
    for option in re.findall(r"`(--?[a-z]+)`", section("The terminal")):
        assert parse(["run", option]).command == "run"


def test_the_bounds_are_those_of_the_program() -> None:
    assert f"first {junit.EXPLAINED} cases, at most {junit._BODY:,} characters" in PAGE
    assert github.MOST_ANNOTATIONS == 10
    assert "At most ten annotations" in PAGE
    assert (github.MOST_BYTES, github._EXPLAINED) == (1_000_000, 5)
    assert "explanation of the first five" in PAGE


def test_the_exit_codes_are_those_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    told = " ".join(capsys.readouterr().out.split()).partition("exit codes: ")[2]
    codes = re.findall(r"^\| (\d) ", section("Exit codes"), re.MULTILINE)
    assert codes == re.findall(r"\b(\d) ", told)
