"""A failure reads from the top down."""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from typing import Any

import pytest

from chaos.evidence import Blobs, Effect, Exec, Kill, Process
from chaos.judge import STATEMENTS
from chaos.report.counts import results_of
from chaos.report.explain import explain, said, statement
from chaos.report.page.story import story_of
from chaos.report.timeline import event_in_words, facts_around, kill_in_words, timeline
from chaos.results import Violation
from tests.judge.build import plain
from tests.report import sample


def explained() -> str:
    (result,) = results_of(sample.scenario_result(sample.violated()))
    return explain(result, "my report/failures/x.json")


def test_who_stood_beside_the_dead_is_told() -> None:
    result = sample.violated()
    assert result.evidence is not None
    agent = Process(7, 1, ("agent",), "tracing-stop", 1, 5, 30_000_000, 0.1)
    tool = replace(agent, pid=8, ppid=7, argv=("sh", "-c", f"deploy {sample.SECRET}"))
    events = tuple(
        replace(event, tree=(agent, tool)) if isinstance(event, Kill) else event
        for event in result.evidence.events
    )
    told = replace(result, evidence=replace(result.evidence, events=events))
    lines = explain(told, None).splitlines()
    at = lines.index("  beside it")
    assert lines[at + 1] == "    process 8, tracing-stop: sh -c 'deploy [api key]'"


def test_rule_then_kill_then_facts_then_world_then_the_command() -> None:
    assert (
        explained()
        == """\
VIOLATION  deploy-log-toolStarted-bash-1-after
  E2        an effect that may not be replayed happens at most once per intent
  killed    launch 1 (run): agent killed after `toolStarted[bash]` was durable, before its result
            log:toolStarted[bash]#1/after: SIGKILL at the exit of write of 117 bytes
  broken    deploy with key [api key]
  expected  0
  found     1
  where     launch 2 (resume), line 4, seq 3
  log       as it was then
      line 2   seq 1   runStarted
      line 3   seq 2   stepAttempt attempt=1
    > line 4   seq 3   toolStarted tool=bash replay=never
  happened
      -- launch 1 (run): killed by the schedule
            1.0 ms  request  1 /t/v1/chat/completions -> 200
            2.0 ms  answer   1 sent
            3.0 ms  log      log:toolStarted[bash]#1  write 117 bytes
            3.1 ms  KILL     log:toolStarted[bash]#1/after
      -- launch 2 (resume): exit code 0
            9.0 ms  process  8 runs bash -c deploy
    >       9.5 ms  effect   deploy  by bash -c deploy
  stderr    launch 2 (resume), last lines
    warning: \\x1b[31mred\\x1b[0m
    key [api key] refused
  again     chaos replay 'my report/failures/x.json'
"""
    )


def broken(**more: object) -> Violation:
    (violation,) = sample.violated().violations
    return replace(violation, **more)  # type: ignore[arg-type]


def test_a_rule_is_stated_once_and_only_its_first_violation_is_told_at_length() -> None:
    many = replace(sample.violated(), violations=tuple(broken() for _ in range(7)))
    lines = explain(many, None).splitlines()
    assert len([line for line in lines if STATEMENTS["E2"] in line]) == 1
    assert len([line for line in lines if line.startswith("  expected")]) == 1
    also = [line for line in lines if line.startswith("  also      E2  deploy with key [api key]:")]
    assert len(also) == 4
    assert lines[lines.index(also[0]) + 4] == "            … 2 more in the failure file"


@pytest.mark.parametrize(
    ("message", "evidence", "parts"),
    [
        (
            "a thing: expected 1: one, found 2 at launch 2 (resume), line 4",
            {"expected": "1: one", "found": "2"},
            ("a thing", "1: one", "2", "launch 2 (resume), line 4"),
        ),
        (
            "MALFORMED_JSON at line 4: expected JSON; found '{', as left by launch 1 (run)",
            {"expected": "JSON", "found": "'{'"},
            ("MALFORMED_JSON at line 4", "JSON", "'{'", "as left by launch 1 (run)"),
        ),
        ("of its own, 2", {"expected": 1, "found": 2}, ("of its own, 2", "1", "", "")),
        ("nothing to compare", {}, ("nothing to compare", "", "", "")),
    ],
)  # fmt: skip
def test_a_message_taken_apart(
    message: str, evidence: dict[str, object], parts: tuple[str, ...]
) -> None:
    assert astuple(said(Violation("E2", message, evidence))) == parts


@pytest.mark.parametrize("before", range(100, 130))
def test_no_half_of_the_secret_is_left_where_a_line_is_cut(before: int) -> None:
    result = sample.violated()
    assert result.evidence is not None
    evidence = result.evidence
    said = evidence.blobs.put(f"{'x' * before}{sample.SECRET}{'y' * 200}".encode())
    first, last = evidence.launches
    told = replace(evidence, launches=(first, replace(last, stderr=said)))
    text = explain(replace(result, evidence=told), None)
    assert sample.SECRET[:8] not in text
    assert sample.SECRET[-8:] not in text


@pytest.mark.parametrize("before", range(0, 120, 5))
def test_nor_where_a_command_line_or_a_fact_is(before: int) -> None:
    """Events are cut as they are put into words."""
    result = sample.violated()
    assert result.evidence is not None
    evidence, words = result.evidence, "x" * before + sample.SECRET + "y" * 100
    blobs = Blobs(dict(evidence.blobs.data))
    log = blobs.put(sample.HEADER + sample.fact(1, type="toolStarted", toolName=words))
    events = [
        replace(event, argv=("bash", *words.split("x", 1))) if isinstance(event, Exec) else event
        for event in evidence.events
    ]
    events = [replace(e, log=log) if isinstance(e, Effect) else e for e in events]
    told = replace(evidence, events=tuple(events), blobs=blobs)
    for text in (
        explain(replace(result, evidence=told), None),
        json.dumps(story_of(replace(result, evidence=told), told)),
    ):
        assert sample.SECRET[:8] not in text
        assert sample.SECRET[-8:] not in text


def test_a_long_value_is_cut() -> None:
    found = "\n".join(f"line {n}" for n in range(30))
    told = broken(message=f"x: expected 0, found {found}", evidence={"expected": 0, "found": found})
    lines = explain(replace(sample.violated(), violations=(told,)), None).splitlines()
    at = lines.index("  found     line 0")
    assert lines[at + 1] == "            line 1"
    assert lines[at + 12] == "            … 18 more lines in the failure file"


def test_the_schedule_is_told_where_it_is_more_than_the_kill() -> None:
    assert "  schedule " not in explained()
    drifted = replace(sample.violated(), schedule="run: none; damage: cut@9; resume: none")
    assert "  schedule  run: none; damage: cut@9; resume: none\n" in explain(drifted, None)


def test_a_kill_far_from_what_it_broke_is_in_the_timeline() -> None:
    result = sample.violated()
    assert result.evidence is not None
    *before, last = result.evidence.events
    far = [replace(before[-1], order=order) for order in range(6, 40)]
    events = (*before, *far, replace(last, order=40))
    (violation,) = result.violations
    told = replace(
        result,
        evidence=replace(result.evidence, events=events),
        violations=(replace(violation, evidence={**violation.evidence, "order": 40}),),
    )
    lines = explain(told, None).splitlines()
    kill = next(i for i, line in enumerate(lines) if " KILL " in line)
    assert lines[kill - 1] == "      … 3 more"
    assert lines[kill + 1].startswith("      -- launch 2")
    assert lines[kill + 2] == "      … 27 more"


def test_a_verdict_without_evidence_says_why() -> None:
    assert (
        explain(sample.inconclusive(), None)
        == """\
INCONCLUSIVE  deploy-log-header-1-before
  schedule  run: log:header#1/before
  why       log:header#1/before was never reached
"""
    )


@pytest.mark.parametrize(
    ("point", "kept", "words"),
    [
        ("log@1/before", 0, "on entry of write of 117 bytes"),
        ("log@1/torn@9", 9, "inside write of 117 bytes, of which 9 reached the file"),
        ("log@1/after", 117, "at the exit of write of 117 bytes"),
    ],
)
def test_where_the_call_of_a_kill_stood(point: str, kept: int, words: str) -> None:
    kill = sample.evidence().events[3]
    assert kill_in_words(replace(kill, point=point, kept=kept)) == words  # type: ignore[arg-type]


def test_a_long_word_of_a_command_line_is_cut() -> None:
    event = Exec(1, 0, 0.0, 7, ("python", "-c", "\nimport sys\nsys.path" + "x" * 5000), "")
    assert event_in_words(event) == r"process  7 runs python -c 'import sys\nsys.pathxxxxx…'"


def test_a_line_that_is_no_fact_is_shown_as_it_is() -> None:
    log = sample.BEFORE + b'{"seq": \x1b\xff}\n'
    assert facts_around(log, 4)[-1] == '> line 4   cannot be read as facts: {"seq": \\x1b�}'
    assert facts_around(b"", 1) == ["> line 1   cannot be read as facts: "]


def test_what_a_launch_found_changed_stands_in_its_line() -> None:
    launch: dict[str, Any] = {"first": ("damage: glue@3",), "changed": ("write:A.md=1\n2",)}
    story = plain().launch("resume").exec("make").end(4, **launch)
    (told,) = [line for _, line in timeline(story.evidence()) if "launch 2" in line]
    assert told == (r"-- launch 2 (resume): damage: glue@3; write:A.md=1\n2; exit code 4")


def test_a_rule_promises_what_the_dialect_lets_be_seen() -> None:
    """Of a session that is not read, intents are not seen: the statement does not speak of them."""
    result = sample.violated()
    assert result.evidence is not None
    facts = replace(result.evidence.facts, dialect="opaque")
    opaque = replace(result, evidence=replace(result.evidence, facts=facts))
    assert statement("E2", result) == STATEMENTS["E2"]
    assert "intent" in statement("E2", result)
    assert statement("E2", opaque) not in ("", statement("E2", result))
