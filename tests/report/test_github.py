"""What GitHub shows: annotations that it can read, and a summary that is nobody's but ours."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.report.github import MOST_ANNOTATIONS, annotations_of, summary
from chaos.report.known import KnownFault
from chaos.report.triage import faults_of_all
from chaos.results import ScheduleResult, SweepResult
from tests.report import sample


def annotated(sweep: SweepResult, **more: object) -> str:
    return annotations_of(sweep, faults_of_all(sweep), sample.context(**more))  # type: ignore[arg-type]


def summed(sweep: SweepResult, *most: int, **more: object) -> str:
    return summary(sweep, faults_of_all(sweep), sample.context(**more), *most)  # type: ignore[arg-type]


def unescaped(text: str) -> str:
    for code, character in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_an_annotation_a_fault() -> None:
    same = replace(sample.violated(), id="deploy-other")
    (line,) = annotated(sample.sweep_result(sample.passed(), sample.violated(), same)).splitlines()
    properties, _, data = line.removeprefix("::error ").partition("::")
    assert properties == (
        "file=deploy.toml,line=1,title=E2%3A an effect that may not be replayed happens at most "
        "once per intent"
    )
    assert unescaped(data).splitlines() == [
        "agent killed after `toolStarted[bash]` was durable, before its result",
        "deploy with key [api key]",
        "expected 0",
        "found 1",
        "at launch 2 (resume), line 4, seq 3",
        "chaos replay rep/failures/x.json",
        "and in 1 more schedule",
    ]


def test_what_proves_nothing_is_annotated_once_a_scenario() -> None:
    other = replace(sample.inconclusive(), id="deploy-other")
    first, second = annotated(
        sample.sweep_result(sample.inconclusive(), other, error="no such program")
    ).splitlines()
    assert "title=INCONCLUSIVE%3A deploy-log-header-1-before::" in first
    assert first.endswith("log:header#1/before was never reached%0Aand 1 more")
    assert "title=HARNESS_ERROR%3A deploy-error::no such program" in second


def broken(ident: str, **more: object) -> ScheduleResult:
    (violation,) = sample.violated().violations
    return replace(sample.violated(), id=ident, violations=(replace(violation, **more),))  # type: ignore[arg-type]


def test_there_are_at_most_ten() -> None:
    sweep = sample.sweep_result(*(broken(f"kind-{n}", id=f"X{n}") for n in range(15)))
    assert len(annotated(sweep).splitlines()) == MOST_ANNOTATIONS == 10


@given(st.text(st.characters()))
def test_nothing_that_a_target_wrote_is_a_command(text: str) -> None:
    result = broken(
        "x",
        message=f"a: expected {text}, found b\n::error::{text}",
        evidence={"expected": text, "found": "b"},
    )
    (line,) = annotated(sample.sweep_result(result)).splitlines()
    properties, _, data = line.removeprefix("::error ").partition("::")
    assert re.fullmatch(r"file=[^,:]*,line=\d+,title=[^,:]*", properties)
    assert not re.search(r"[\r\n]|%(?!25|0A|0D)", data)


# -- the summary --------------------------------------------------------------------------------


def test_the_sums_the_faults_and_the_kill_map() -> None:
    sweep = sample.sweep_result(sample.passed(), sample.violated(), sample.inconclusive())
    text = summed(sweep)
    assert text.startswith(
        "## Killpoint\n\n1 scenario, 3 schedules, 2 kills (1 proven exact) in 2.0 s"
    )
    assert (
        "| <code>E2 toolStarted &#62; effect</code> "
        "| E2: an effect that may not be replayed happens at most once per intent | 1 |  |\n"
    ) in text
    assert "killed    launch 1 (run): agent killed after `toolStarted[bash]` was durable" in text
    assert text.index("<details open><summary><code>E2") < text.index("killed    launch 1")
    assert "<details open><summary>deploy: 3 schedules</summary>" in text
    rows = [line for line in text.splitlines() if line.startswith("| <code>") or "boundary" in line]
    point = "log&#58;toolStarted&#91;bash&#93;&#35;1"
    assert rows[1:] == [
        "| boundary | before | within | after |",
        "| <code>no kill</code> |  |  | ✓ 1 |",
        f"| <code>launch 1 (run)&#58; {point}</code> |  |  | ✗ **1** of 1 |",
        "| <code>launch 1 (run)&#58; log&#58;header&#35;1</code> | ? 1 of 1 |  |  |",
    ]


def test_a_known_fault_is_in_it_with_its_reason_and_without_words() -> None:
    known = {"E2 toolStarted > effect": KnownFault(1, "issue 7 | @who")}
    text = summed(sample.sweep_result(sample.violated()), known=known)
    assert "| 1 | issue 7 &#124; &#64;who |\n" in text
    assert "<pre>" not in text


def test_what_passed_is_folded() -> None:
    text = summed(sample.sweep_result(sample.passed()))
    assert "<details><summary>deploy: 1 schedule</summary>" in text
    assert "| fault |" not in text


@pytest.mark.parametrize("most", [0, 300, 2000, 4000])
def test_it_is_no_longer_than_there_is_room(most: int) -> None:
    sweep = sample.sweep_result(*(broken(f"kind-{n}", id=f"X{n}") for n in range(15)))
    text = summed(sweep, most)
    assert len(text.encode()) <= max(most, 200)
    assert text.endswith("The report folder has it all._\n")


@given(st.text(st.characters()))
def test_nothing_that_a_target_wrote_is_markdown_or_html(text: str) -> None:
    hostile = f"</pre><b>|{text}"
    result = broken("x", message=hostile)
    plain = summed(sample.sweep_result(broken("x", message="plain")))
    told = summed(sample.sweep_result(result))
    for sign in ("</pre>", "<b>", "<details", "\n|"):
        assert told.count(sign) == plain.count(sign)
