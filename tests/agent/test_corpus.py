"""Our own corpus: every log, every error, every plan (see `tests/corpus/cases.py`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent import inspection
from tests.corpus import generate
from tests.corpus.cases import ACCEPTED, REFUSED

LOGS = sorted(generate.LOGS.glob("*.jsonl"))
PLANS = json.loads(generate.PLANS_FILE.read_text())


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_inspect(log: Any) -> None:
    expected = json.loads((generate.EXPECTED / f"{log.stem}.json").read_text())
    assert inspection.inspect(log.read_bytes()) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_log_has_the_error_written_beside_it(name: str) -> None:
    log, error = REFUSED[name]
    assert inspection.inspect(log.data()) == {"ok": False, "error": error}


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case["log"])
def test_plan(case: dict[str, Any]) -> None:
    data = (generate.LOGS / f"{case['log']}.jsonl").read_bytes()
    assert inspection.plan(data, case["current"]) == case["plan"]


def test_the_files_are_those_of_the_cases() -> None:
    assert {log.stem: log.read_bytes() for log in LOGS} == generate.logs()
    assert json.loads(json.dumps(generate.plans())) == PLANS


def test_every_accepted_log_is_accepted() -> None:
    for name, log in ACCEPTED.items():
        assert inspection.inspect(log.data())["ok"], name


def test_every_kind_of_unfinished_log_has_a_plan() -> None:
    """No accepted log leaves recovery without an answer, and every answer prints."""
    now = generate.plans()[0]["current"]
    for name, log in ACCEPTED.items():
        assert inspection.plan(log.data(), now)["type"], name
