"""The whole page as text: what is in it, what can never be, and how large it gets."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from chaos.options import SweepOptions
from chaos.points import Phase
from chaos.report.known import KnownFault
from chaos.report.page import Told, content, html_report
from chaos.report.page.content import contents
from chaos.report.page.gaps import gaps_of
from chaos.report.triage import faults_of_all
from chaos.results import SweepResult, Verdict
from tests.report import sample
from tests.report.large import large_sweep

MEGABYTES = 1_000_000
TOLD = Told("/r", {})


def three() -> SweepResult:
    return sample.sweep_result(sample.passed(), sample.violated(), sample.inconclusive())


def inside(page: str, mark: str) -> str:
    """The text of the element that begins with `mark`."""
    found = re.search(rf"{re.escape(mark)}(.*?)</(?:script|style)>", page, re.DOTALL)
    assert found
    return found[1]


def test_the_data_is_that_of_the_sweep() -> None:
    data = json.loads(
        inside(html_report(three(), TOLD), '<script type="application/json" id="data">')
    )
    assert data == json.loads(json.dumps(contents(three(), TOLD)))
    assert data["head"]["schedules"] == 3
    assert [group["rules"] for group in data["groups"]] == [["E2"], []]
    assert list(data["stories"]) == [sample.violated().id]


def test_a_known_fault_comes_last_with_its_reason() -> None:
    known = {fault.fingerprint: KnownFault(1, "issue 12") for fault in faults_of_all(three())}
    groups = contents(three(), replace(TOLD, known=known))["groups"]
    assert [group["title"] for group in groups][:-1] == ["INCONCLUSIVE"]
    assert groups[-1]["reason"] == "issue 12"


def test_points_at_which_nothing_was_tried_have_a_row() -> None:
    (scenario,) = contents(three(), TOLD)["scenarios"]
    rows = [place for _, place, _ in scenario["rows"]]
    assert rows == ["no kill", "log:header#1", "log:toolStarted[bash]#1"]
    only = contents(sample.sweep_result(sample.passed()), TOLD)["scenarios"][0]
    assert [place for _, place, _ in only["rows"]] == rows
    assert only["rows"][1][0] == "nothing was tried at"
    other = replace(TOLD, options=SweepOptions(faults="signal"))
    idle = contents(sample.sweep_result(sample.passed()), other)["scenarios"][0]
    assert [place for _, place, _ in idle["rows"]] == ["no kill"]


def test_the_page_asks_for_nothing_and_runs_its_own_script_only() -> None:
    page = html_report(three(), TOLD)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; ")
    for tag, mark in (("script", "<script>"), ("style", "<style>")):
        digest = hashlib.sha256(inside(page, mark).encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy[1]
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "@import" not in page
    assert "url(" not in page


def test_no_script_turns_text_into_markup() -> None:
    script = inside(html_report(three(), TOLD), "<script>")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_what_a_target_wrote_cannot_end_its_element() -> None:
    evil = "</script><!--<script>@SCRIPT@ & \u202e \x00"
    sweep = sample.sweep_result(sample.violated())
    scenario = replace(sweep.scenarios[0], name=evil, notes=(evil,), error=evil, points=(evil,))
    page = html_report(replace(sweep, scenarios=(scenario,)), TOLD)
    data = inside(page, '<script type="application/json" id="data">')
    assert data.isascii()
    assert not set("<>&\x00") & set(data)
    assert "\\u202e" in data  # told as an escape, not as the character
    assert page.count("</script>") == html_report(three(), TOLD).count("</script>")


def test_half_a_character_is_told_as_an_escape() -> None:
    broken = replace(sample.violated(), violations=(), why="\udcff", verdict=Verdict.HARNESS_ERROR)
    page = html_report(sample.sweep_result(broken), TOLD)
    told = json.loads(inside(page, '<script type="application/json" id="data">'))
    assert "\\udcff" in told["scenarios"][0]["schedules"][0]


def test_the_api_key_is_not_in_it() -> None:
    sweep = sample.sweep_result(sample.violated(), replace(sample.violated(), id="other"))
    page = html_report(sweep, TOLD)
    assert sample.SECRET not in page
    assert "[api key]" in page


def test_it_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = large_sweep()
    assert len(html_report(sweep, TOLD)) < 5 * MEGABYTES / 3
    monkeypatch.setattr(content, "MOST_STORIES", 10_000)
    monkeypatch.setattr(content, "MOST_BYTES", 100_000)
    assert len(json.dumps(contents(sweep, TOLD)["stories"])) <= 100_000 * 1.1


def test_the_smallest_of_each_fault_is_told_first() -> None:
    schedules = [
        replace(sample.violated(), id="small"),
        replace(sample.violated(), id="later"),
        replace(sample.violated(), id="alone", verdict=Verdict.HARNESS_ERROR, violations=()),
    ]
    assert list(contents(sample.sweep_result(*schedules), TOLD)["stories"]) == [
        "small",
        "alone",
        "later",
    ]


def test_a_scenario_that_failed_as_a_whole_is_told() -> None:
    data = contents(sample.sweep_result(error="no such program"), TOLD)
    assert data["groups"][0]["title"] == "HARNESS_ERROR"
    assert data["scenarios"][0]["error"] == "no such program"


def test_options_that_a_schedule_needs_to_be_met_again() -> None:
    def again(**options: Any) -> list[str]:
        return list(contents(three(), replace(TOLD, options=SweepOptions(**options)))["again"])

    assert again(jobs=9, seed=3) == []
    assert again(launch="warm", depth=None) == ["--launch", "warm", "--depth", "closure"]
    assert again(phases=(Phase.AFTER,), torn="every") == ["--torn", "every", "--phases", "after"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (SweepOptions(), "at its first byte"),
        (SweepOptions(), "SIGKILL keeps the page cache"),
        (SweepOptions(), "recovery from 4 crash images"),
        (SweepOptions(faults="signal"), "Only the family signal"),
        (SweepOptions(phases=(Phase.AFTER, Phase.BEFORE)), "only after, before"),
        (SweepOptions(shard=(1, 4)), "--shard 1/4"),
        (SweepOptions(select=lambda _: True), "-k chose"),
        (SweepOptions(fail_fast=True), "--fail-fast"),
    ],
)
def test_what_was_left_out_is_said(options: SweepOptions, said: str) -> None:
    gaps = gaps_of(three(), options)
    assert any(said in gap for gap in gaps)


def test_an_interruption_is_the_first_gap() -> None:
    assert gaps_of(replace(three(), interrupted=True), SweepOptions())[0].startswith("Interrupted")
