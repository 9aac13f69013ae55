"""The docs are true: generated parts are up to date, commands exist, links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from agent.cli import main as agent_main
from chaos.cli.parser import parse

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\[[^\]]+\]\(([^)#]+)\)")
_COMMAND = re.compile(r"^(?:    |\$ )(?:\$ )?(chaos|killpoint-agent|make) +([^#\n]*)", re.MULTILINE)


def commands(program: str) -> list[tuple[str, str]]:
    return [
        (page.name, match[2].strip())
        for page in PAGES
        for match in _COMMAND.finditer(page.read_text(encoding="utf-8"))
        if match[1] == program
    ]


def test_generated_pages_are_not_stale() -> None:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8") == build.invariants()
    assert (ROOT / "docs" / "faults.md").read_text(encoding="utf-8") == build.faults()


@pytest.mark.parametrize(("page", "command"), commands("chaos"))
def test_every_chaos_command_is_one(page: str, command: str) -> None:
    words = command.replace("…", "x").split()
    assert parse(words).command
    named = [word for word in words if word.startswith("scenarios/") and "ping" not in word]
    assert [word for word in named if not (ROOT / word).exists()] == []


@pytest.mark.parametrize(("page", "command"), commands("make"))
def test_every_make_target_is_one(page: str, command: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{re.escape(command.split(maxsplit=1)[0])}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_the_commands_of_the_agent_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert agent_main(["--help"]) == 0
    told = capsys.readouterr().out
    wanted = {command.split(";")[0].split()[0] for _, command in commands("killpoint-agent")}
    assert wanted
    assert all(word in told for word in wanted)
