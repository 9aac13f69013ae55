"""The judge's reading against the public corpus, where a checkout has it beside the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.judge.strict import check_log

FIXTURES = Path(__file__).resolve().parents[3] / "shared" / "contract" / "fixtures"


def fixtures() -> list[dict[str, Any]]:
    manifest = FIXTURES / "manifest.json"
    if not manifest.is_file():
        return []
    listed: list[dict[str, Any]] = json.loads(manifest.read_text(encoding="utf-8"))["fixtures"]
    return listed


@pytest.mark.skipif(not fixtures(), reason="the corpus is not beside the project")
def test_every_fixture_is_judged_as_expected() -> None:
    for fixture in fixtures():
        expected = json.loads((FIXTURES / fixture["expected"]).read_text(encoding="utf-8"))
        violations = check_log((FIXTURES / fixture["file"]).read_bytes())
        judged: dict[str, Any] = {"ok": not violations}
        for violation in violations:
            place = {key: violation.evidence.get(key) for key in ("code", "line", "seq")}
            judged["error"] = {key: value for key, value in place.items() if value is not None}
        expected.pop("state", None)
        assert judged == expected, fixture["name"]
