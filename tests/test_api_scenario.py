"""Scenarios made in Python are what a file with the same content would be."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from chaos import ScenarioError, UsageError, load_scenario, make_scenario, vary
from tests.library import scenario_file

DATA = {
    "name": "ping",
    "about": "One answer.",
    "target": {"profile": "agent"},
    "provider": {"turn": [{"content": "hello"}]},
}


def test_from_data_and_from_the_text_of_it() -> None:
    made = make_scenario(DATA)
    assert make_scenario(made.source) == made
    assert tomllib.loads(made.source) == DATA
    assert [turn.content for turn in made.turns] == ["hello"]


def test_a_target_is_looked_for_beside_it(tmp_path: Path) -> None:
    agent = make_scenario(DATA).target
    (tmp_path / "targets").mkdir()
    (tmp_path / "targets" / "mine.toml").write_text(agent.source.replace('"agent"', '"mine"', 1))
    made = make_scenario({**DATA, "target": {"profile": "mine"}}, beside=tmp_path)
    assert made.target.name == "mine"
    assert vary(made, name="pong").target.name == "mine"
    assert vary(made, target={"profile": "agent"}).target.name == "agent"
    with pytest.raises(ScenarioError, match="no target 'mine'"):
        make_scenario({**DATA, "target": {"profile": "mine"}})


def test_a_variation_says_only_what_is_different() -> None:
    scenario = load_scenario(scenario_file("deploy-is-never-repeated"))
    varied = vary(scenario, step=[{"run": "again"}], expect=None)
    assert [step.prompt for step in varied.steps] == ["again"]
    assert varied.expect_effects == {}
    assert varied.files == scenario.files
    assert varied.turns == scenario.turns
    assert varied.target is scenario.target
    assert vary(varied, step=tomllib.loads(scenario.source)["step"]).steps == scenario.steps


def test_a_file_can_be_varied(tmp_path: Path) -> None:
    file = scenario_file("plain-answer")
    assert vary(file, name="other") == vary(load_scenario(file), name="other")
    assert vary(Path(file), name="other").name == "other"


def test_what_is_wrong_is_told_as_of_a_file() -> None:
    scenario = load_scenario(scenario_file("plain-answer"))
    with pytest.raises(ScenarioError, match=r"answer\.toml \(varied\):\d+: unknown key 'stp'"):
        vary(scenario, stp=[])
    with pytest.raises(ScenarioError, match=r"<python>:\d+: missing key 'about'"):
        make_scenario({"name": "ping"})
    with pytest.raises(UsageError, match=r"a scenario holds what TOML holds: .*Path"):
        make_scenario({**DATA, "files": {"a": Path("b")}})
