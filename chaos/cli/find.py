"""From the command line's files and folders to scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chaos.errors import ScenarioError, UsageError
from chaos.scenario import Scenario, load_scenario
from chaos.toml_table import nearest

DEFAULT_FOLDER = "scenarios"


def find_scenarios(names: Sequence[str]) -> list[Scenario]:
    """Load every scenario named, or those of the default folder. Raises ScenarioError with all
    that is wrong in any of them, UsageError where there is nothing to load."""
    if not names and not Path(DEFAULT_FOLDER).is_dir():
        raise UsageError(
            f"no scenario named, and no folder {DEFAULT_FOLDER}/ in {Path.cwd()}; "
            "write for example: chaos run my-scenario.toml"
        )
    paths = [path for name in names or (DEFAULT_FOLDER,) for path in _files(Path(name))]
    loaded: dict[str, Scenario] = {}
    wrong: list[str] = []
    for path in dict.fromkeys(path.resolve() for path in paths):
        try:
            scenario = load_scenario(str(path))
        except ScenarioError as error:
            wrong.append(str(error))
            continue
        other = loaded.setdefault(scenario.name, scenario)
        if other is not scenario:
            wrong.append(f"{path}: the name {scenario.name!r} is taken by {other.path}")
    if wrong:
        raise ScenarioError("\n".join(wrong))
    return list(loaded.values())


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(path.glob("*.toml"))
        if not found:
            raise UsageError(f"{path}: no scenario in this folder (a file *.toml)")
        return found
    if path.is_file():
        return [path]
    folder = path.parent if path.parent.is_dir() else Path()
    known = {str(folder / other.name) for other in folder.glob("*.toml")}
    raise ScenarioError(f"{path}: no such scenario file or folder{nearest(str(path), known)}")
