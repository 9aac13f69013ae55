"""docs/any-agent.md: its target file and scenario are read as they stand, its commands parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from chaos.cli.parser import parse
from chaos.judge import RULES
from chaos.judge.applicable import statements
from chaos.scenario import parse_scenario
from chaos.supervise.facts import facts_of
from chaos.supervise.standard import standard_course
from chaos.target import parse_target

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "any-agent.md").read_text(encoding="utf-8")
TARGET, SCENARIO = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_target_file_of_the_page_is_one() -> None:
    target = parse_target(TARGET, "mine.toml")
    assert target.goes_on
    assert len(standard_course(target)) == 2


def test_the_scenario_of_the_page_runs_the_shell_of_its_target() -> None:
    target = parse_target(TARGET, "mine.toml")
    scenario = parse_scenario(SCENARIO, "deploy-once.toml", lambda _: target)
    assert scenario.turns[0].tool_calls[0].name == "bash"


def test_its_commands_are_commands() -> None:
    shown = re.findall(r"^ {4}chaos (.*?)(?: +#.*)?$", PAGE, re.MULTILINE)
    assert len(shown) >= 5
    for line in shown:
        parse(shlex.split(line))


def test_the_rules_it_lists_are_those_that_are_judged_without_a_log() -> None:
    target = parse_target(TARGET, "mine.toml")
    facts = facts_of(parse_scenario(SCENARIO, "d.toml", lambda _: target), "key")
    listed = re.findall(r"^\| ((?:[LPERX]\d+(?:, )?)+) \|", PAGE, re.MULTILINE)
    told = {ident for row in listed for ident in row.split(", ")}
    assert told == set(statements(RULES, facts))


def test_its_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (DOCS / link).exists(), link
