"""What is written is what `tomllib` reads, and what a person would write."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.toml_write import write_toml

ROOT = Path(__file__).resolve().parents[1]

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXT, below, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_tomllib_reads_what_was_written(data: dict[str, object]) -> None:
    assert tomllib.loads(write_toml(data)) == data


@pytest.mark.parametrize("path", sorted(ROOT.glob("scenarios/**/*.toml")), ids=lambda p: p.stem)
def test_every_scenario_survives(path: Path) -> None:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    assert tomllib.loads(write_toml(data)) == data


def test_it_reads_like_a_scenario() -> None:
    data = {
        "name": "a",
        "target": {"profile": "agent"},
        "files": {"a b.txt": 'say "hi"\n'},
        "step": [{"run": "go"}, {"compact": True}],
        "provider": {"turn": [{"content": "ü", "tool_calls": [{"name": "x", "arguments": {}}]}]},
    }
    assert write_toml(data) == (
        'name = "a"\n'
        '\n[target]\nprofile = "agent"\n'
        '\n[files]\n"a b.txt" = "say \\"hi\\"\\n"\n'
        '\n[[step]]\nrun = "go"\n'
        "\n[[step]]\ncompact = true\n"
        '\n[[provider.turn]]\ncontent = "ü"\ntool_calls = [{ name = "x", arguments = {} }]\n'
    )


def test_a_date_is_refused() -> None:
    with pytest.raises(TypeError, match="has no date"):
        write_toml({"day": date(2020, 1, 1)})
