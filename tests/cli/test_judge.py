"""`chaos judge`: over saved evidence, and over a log by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.report.failure import Failure, write_failure
from chaos.saved import save_evidence
from tests.report import sample

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_judge_recomputes_saved_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    # The sample's header is no header: today's rules say so, whatever was said when it was saved.
    save_evidence(sample.evidence(), Path("kept/some-id"))
    assert main(["judge", "kept"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("VIOLATION  some-id\n")
    assert "\n  L1 " in out
    assert out.endswith("\n1 judged again: 0 passed\n")


def test_judge_names_what_a_log_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.jsonl").write_bytes(sample.AFTER)
    assert main(["judge", "log.jsonl"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("log.jsonl: L1: INVALID_HEADER at line 1: ")


def test_judge_says_where_the_evidence_of_a_failure_file_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.json"
    write_failure(Failure.of(sample.scenario(), sample.violated(), "warm", 0), file)
    assert main(["judge", str(file)]) == 4
    said = capsys.readouterr().err
    assert f"chaos judge {tmp_path / 'one'}`" in said
    assert f"chaos replay {file}`" in said


def test_judge_is_quiet_about_a_good_log(capsys: pytest.CaptureFixture[str]) -> None:
    header = {
        "kind": "header",
        "version": 2,
        "id": "01890f3e-7b5a-7cc0-98c4-dc0c0c07398f",
        "createdAt": 1,
        "cwd": "/w",
        "provider": "p",
        "model": "m",
        "environmentIdentity": "/w",
    }
    Path("log.jsonl").write_text(json.dumps(header) + "\n")
    assert main(["judge", "log.jsonl"]) == 0
    assert capsys.readouterr() == ("", "")
