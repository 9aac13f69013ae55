"""Which files a folder of scenarios stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.cli.find import find_scenarios
from chaos.errors import ScenarioError, UsageError

SCENARIO = """\
name = "{name}"
about = "Nothing but an answer."
target.profile = "agent"
[[provider.turn]]
content = "hi"
"""


def write(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.toml").write_text(SCENARIO.format(name=name))


def names(*given: Path) -> list[str]:
    return [scenario.name for scenario in find_scenarios([str(path) for path in given])]


def test_a_folder_stands_for_all_below_it_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b", "a")
    write(tmp_path / "provider", "d", "c")
    write(tmp_path / "files" / "deep", "e")
    assert names(tmp_path) == ["a", "b", "e", "c", "d"]
    assert names(tmp_path / "provider") == ["c", "d"]
    assert names(tmp_path / "provider" / "d.toml", tmp_path / "provider") == ["d", "c"]


def test_target_profiles_and_what_is_hidden_are_no_scenarios(tmp_path: Path) -> None:
    write(tmp_path, "a")
    for folder in (tmp_path / "targets", tmp_path / "provider" / "targets", tmp_path / ".venv"):
        folder.mkdir(parents=True)
        (folder / "mine.toml").write_text("no scenario")
    assert names(tmp_path) == ["a"]


def test_a_link_to_a_folder_leads_nowhere(tmp_path: Path) -> None:
    write(tmp_path, "a")
    (tmp_path / "round").symlink_to(tmp_path)
    assert names(tmp_path) == ["a"]


def test_a_name_is_taken_once_over_all_folders(tmp_path: Path) -> None:
    write(tmp_path / "one", "a")
    write(tmp_path / "two", "a")
    with pytest.raises(ScenarioError, match="the name 'a' is taken by"):
        names(tmp_path)


def test_a_folder_without_scenarios(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no scenario in this folder"):
        names(tmp_path)
