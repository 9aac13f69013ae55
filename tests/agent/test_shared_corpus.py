"""Every fixture of the public contract, where a checkout has it beside the repository.

The project does not need it: `test_corpus` runs logs of our own. Where the folder is missing,
these tests are skipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent import inspection

CONTRACT = Path(__file__).resolve().parents[3] / "shared" / "contract"
REDUCER = CONTRACT / "fixtures"
PLANNER = CONTRACT / "planner-fixtures"


def _names(folder: Path) -> list[dict[str, str]]:
    manifest = folder / "manifest.json"
    return json.loads(manifest.read_text())["fixtures"] if manifest.exists() else []


pytestmark = pytest.mark.skipif(not CONTRACT.is_dir(), reason="no contract beside the repository")


@pytest.mark.parametrize("case", _names(REDUCER), ids=lambda case: case["name"])
def test_inspect_prints_the_expected_state_or_error(case: dict[str, str]) -> None:
    expected = json.loads((REDUCER / case["expected"]).read_text())
    assert inspection.inspect((REDUCER / case["file"]).read_bytes()) == expected


@pytest.mark.parametrize("case", _names(PLANNER), ids=lambda case: case["name"])
def test_plan_prints_the_expected_plan(case: dict[str, str]) -> None:
    given = json.loads((PLANNER / case["input"]).read_text())
    log = (REDUCER / given["sessionFile"]).read_bytes()
    assert inspection.plan(log, given) == json.loads((PLANNER / case["expected"]).read_text())
