"""The scenario library, by name: file names are unique over its folders."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = {
    path.stem: path
    for path in sorted((ROOT / "scenarios").rglob("*.toml"))
    if "targets" not in path.parts
}


def scenario_file(name: str) -> str:
    """The path of a scenario; a folder in front of its name is for the reader."""
    return str(SCENARIOS[name.rpartition("/")[2]])
