"""Scenarios from Python: a text, or the data of a scenario file, and variations of one.

A scenario made here is what a file with the same content would be: it has its TOML text in it, so
its failures replay from anywhere and can be shrunk. The keys are those of `docs/scenarios.md`;
there is no second vocabulary.

Does not run anything.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaos.errors import UsageError
from chaos.scenario import Scenario, load_scenario, parse_scenario
from chaos.target import Target, load_target
from chaos.toml_write import write_toml

_PATH = "<python>"  # what messages call a scenario that is no file


def make_scenario(
    content: str | Mapping[str, Any], beside: str | os.PathLike[str] = "."
) -> Scenario:
    """A scenario from TOML text, or from the data that such a text would give. Targets are looked
    for from the folder `beside`. Raises ScenarioError; UsageError for a value TOML has not."""
    folder = Path(os.path.realpath(beside))
    text = content if isinstance(content, str) else _written(content)
    return parse_scenario(text, str(folder / _PATH), lambda name: load_target(name, str(folder)))


def vary(scenario: Scenario | str | os.PathLike[str], **keys: Any) -> Scenario:
    """The scenario (or a file's) with other top-level keys: `vary(s, step=[{"run": "again"}])`.
    Each replaces what was there, None takes it away. Raises what `make_scenario` raises."""
    base = scenario if isinstance(scenario, Scenario) else load_scenario(os.fspath(scenario))
    document: dict[str, Any] = tomllib.loads(base.source) | keys
    document = {key: value for key, value in document.items() if value is not None}
    folder = str(Path(base.path).parent)
    profile = tomllib.loads(base.source)["target"]["profile"]

    def target(name: str) -> Target:
        return base.target if name == profile else load_target(name, folder)

    varied = f"{base.path.removesuffix(_VARIED)}{_VARIED}"
    return parse_scenario(_written(document), varied, target)


_VARIED = " (varied)"  # after the path: line numbers are not those of the file


def _written(document: Mapping[str, Any]) -> str:
    try:
        return write_toml(_plain(document))
    except TypeError as error:
        raise UsageError(f"a scenario holds what TOML holds: {error}") from None


def _plain(value: Any) -> Any:
    """Tables as dict and arrays as list, at every depth."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
