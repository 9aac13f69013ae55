"""From the command line's files and folders to scenarios.

A folder stands for every `*.toml` in it and below, without target profiles (`targets`) and what is
hidden.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from chaos.errors import ScenarioError, UsageError
from chaos.scenario import Scenario, load_scenario
from chaos.target import TARGETS
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
    # Not Path.resolve, which raises for a link that leads to itself; reading says what is wrong.
    for path in dict.fromkeys(Path(os.path.realpath(path)) for path in paths):
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
    try:
        folder = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        beside = path.parent if path.parent.is_dir() else Path()
        known = {str(beside / other.name) for other in beside.glob("*.toml")}
        raise ScenarioError(
            f"{path}: no such scenario file or folder{nearest(str(path), known)}"
        ) from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    if not folder:
        return [path]
    found = list(_below(path))
    if not found:
        raise UsageError(f"{path}: no scenario in this folder (a file *.toml)")
    return found


def _below(folder: Path) -> Iterator[Path]:
    """The scenario files of a folder, then those of its subfolders; links are not followed."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != TARGETS and name[0] != ".")
        yield from (Path(at, name) for name in sorted(files) if name.endswith(".toml"))
