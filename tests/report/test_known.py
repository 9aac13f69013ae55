"""Known faults: the file, what it accepts, and what of it is not true any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.errors import UsageError
from chaos.report.counts import exit_code
from chaos.report.github import annotations_of
from chaos.report.json_ import json_report
from chaos.report.junit import junit_report
from chaos.report.known import KnownFault, accepted, gone, read_known
from chaos.report.text import failures
from chaos.report.triage import faults_of_all
from tests.report import sample

FINGERPRINT = "E2 toolStarted > effect"


def write(path: Path, text: str) -> Path:
    file = path / "known.txt"
    file.write_text(text)
    return file


def test_a_line_a_fault_with_its_reason(tmp_path: Path) -> None:
    file = write(tmp_path, f"# accepted\n\n  {FINGERPRINT}   #  issue 7 # for now\n")
    assert read_known(file) == {FINGERPRINT: KnownFault(3, "issue 7 # for now")}


@pytest.mark.parametrize("line", [FINGERPRINT, f"{FINGERPRINT} #", f"{FINGERPRINT} #  "])
def test_a_line_without_a_reason_is_refused(tmp_path: Path, line: str) -> None:
    file = write(tmp_path, f"\n{line}\n")
    with pytest.raises(UsageError, match=r"known\.txt:2: expected 'FINGERPRINT  # why"):
        read_known(file)


def test_a_fault_stands_in_it_once(tmp_path: Path) -> None:
    file = write(tmp_path, f"{FINGERPRINT} # a\n{FINGERPRINT} # b\n")
    with pytest.raises(UsageError, match=r"known\.txt:2: .* stands in line 1 already"):
        read_known(file)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: cannot be read: No such file"):
        read_known(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="bytes: cannot be read: not UTF-8"):
        read_known(tmp_path / "bytes")


def test_a_known_fault_is_green_everywhere_and_said() -> None:
    known = {FINGERPRINT: KnownFault(1, "issue 7")}
    sweep = sample.sweep_result(sample.violated())
    fine = accepted(known, faults_of_all(sweep))
    assert exit_code(sweep, fine) == 0
    text = failures(sweep.scenarios[0], {}, known)
    assert text == f"\nknown  {FINGERPRINT}  (1 schedule): issue 7\n"
    assert '"known": true' in json_report(sweep, {}, known)
    xml = junit_report(sweep, faults_of_all(sweep), sample.context(known=known))
    assert 'failures="0" errors="0" skipped="1"' in xml
    assert '<skipped type="VIOLATION" message="known fault: issue 7">' in xml
    assert annotations_of(sweep, faults_of_all(sweep), sample.context(known=known)) == ""


def test_a_new_one_beside_it_is_red() -> None:
    known = {"E4 unanswered-calls > exec": KnownFault(1, "issue 7")}
    sweep = sample.sweep_result(sample.violated())
    fine = accepted(known, faults_of_all(sweep))
    assert exit_code(sweep, fine) == 1
    assert "  killed " in failures(sweep.scenarios[0], {}, known)
    context = sample.context(known=known)
    assert "<failure" in junit_report(sweep, faults_of_all(sweep), context)
    assert "::error " in annotations_of(sweep, faults_of_all(sweep), context)


def test_what_proves_nothing_is_never_accepted() -> None:
    known = {FINGERPRINT: KnownFault(1, "issue 7")}
    sweep = sample.sweep_result(sample.violated(), sample.inconclusive())
    assert exit_code(sweep, accepted(known, faults_of_all(sweep))) == 3


def test_one_that_was_not_met_has_gone() -> None:
    known = {FINGERPRINT: KnownFault(1, "a"), "R1 torn-write": KnownFault(2, "b")}
    assert gone(known, faults_of_all(sample.sweep_result(sample.violated()))) == ["R1 torn-write"]
