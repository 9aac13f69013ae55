"""The JSON report has the shape of the contract."""

from __future__ import annotations

import json

from chaos.report.json_ import json_report
from chaos.results import ScheduleResult
from tests.report import sample


def report(*schedules: ScheduleResult, **more: bool) -> dict[str, object]:
    text = json_report(sample.sweep_result(*schedules, **more), {sample.violated().id: "f.json"})
    value = json.loads(text)
    assert isinstance(value, dict)
    return value


def test_the_whole_of_a_small_report() -> None:
    assert report(sample.passed(), sample.violated()) == {
        "version": 1,
        "scenarios": [
            {
                "name": "deploy",
                "points": ["log:header#1", "log:toolStarted[bash]#1"],
                "schedules": [
                    {
                        "id": "deploy-baseline",
                        "schedule": ["run: none"],
                        "verdict": "PASS",
                        "violations": [],
                        "artifact": None,
                    },
                    {
                        "id": "deploy-log-toolStarted-bash-1-after",
                        "schedule": ["run: log:toolStarted[bash]#1/after", "resume: none"],
                        "verdict": "VIOLATION",
                        "violations": [
                            {
                                "id": "E2",
                                "message": "deploy with key [api key]: expected 0, found 1 "
                                "at launch 2 (resume), line 4, seq 3",
                                "evidence": {
                                    "launch": 1,
                                    "line": 4,
                                    "seq": 3,
                                    "order": 6,
                                    "expected": "0",
                                    "found": "1",
                                },
                            }
                        ],
                        "artifact": "f.json",
                    },
                ],
                "closure": {
                    "complete": False,
                    "states": 2,
                    "depth": 1,
                    "cut": False,
                    "harvested": 0,
                    "verified": 0,
                    "left": 4,
                    "wanted": 1,
                },
            }
        ],
        "groups": [
            {
                "fingerprint": "E2 toolStarted > effect",
                "ids": ["E2"],
                "smallest": "deploy-log-toolStarted-bash-1-after",
                "count": 1,
                "known": False,
            }
        ],
        "summary": {
            "schedules": 2,
            "kills": 1,
            "exact": 1,
            "harvested": 0,
            "passed": 1,
            "violations": 1,
            "inconclusive": 0,
            "errors": 0,
            "seconds": 2.0,
        },
    }


def test_a_verdict_that_accuses_nobody_says_why() -> None:
    value = json.dumps(report(sample.inconclusive()))
    assert '"why": "log:header#1/before was never reached"' in value


def test_an_interrupted_sweep_says_so() -> None:
    assert report(interrupted=True)["interrupted"] is True


def test_it_is_ascii() -> None:
    text = json_report(sample.sweep_result(error="\x1b \x9b \u202e ü \ud800"), {})
    assert text.isascii()
    assert "\x1b" not in text
