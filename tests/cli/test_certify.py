"""`chaos certify`: what it tells where something cannot be written. The course itself is tested in
`tests/supervise/test_certify.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import chaos.cli.certify
from chaos.cli import main
from chaos.results import SweepResult
from chaos.scenario import Scenario
from tests.report import sample

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture(autouse=True)
def _course(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in in which each scenario breaks a rule."""

    def certify(scenarios: Sequence[Scenario], *_: object) -> SweepResult:
        broken = sample.scenario_result(sample.violated())
        return SweepResult(tuple(replace(broken, name=s.name) for s in scenarios), 1.0, 0)

    monkeypatch.setattr(chaos.cli.certify, "certify", certify)


@pytest.mark.usefixtures("full_disk")
def test_what_was_found_is_told_where_its_evidence_cannot_be_saved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["certify", "agent"]) == 3
    out, err = capsys.readouterr()
    assert "\nVIOLATION  deploy-" in out
    assert "chaos-report: cannot hold the report: No space left on device" in err


def test_a_table_that_cannot_be_written_after_all_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["certify", "agent", "--json", "/dev/full"]) == 3
    out, err = capsys.readouterr()
    assert "\nVIOLATION  deploy-" in out
    assert "/dev/full: cannot be written: No space left on device" in err
