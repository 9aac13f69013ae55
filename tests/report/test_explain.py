"""A failure reads from the top down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import Kill, Process
from chaos.report.counts import results_of
from chaos.report.explain import explain
from chaos.report.timeline import facts_around, kill_in_words, timeline
from tests.judge.build import plain
from tests.report import sample


def explained() -> str:
    (result,) = results_of(sample.scenario_result(sample.violated()))
    return explain(result, sample.STATEMENTS, "my report/failures/x.json")


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
    lines = explain(told, sample.STATEMENTS, None).splitlines()
    at = lines.index("  beside it")
    assert lines[at + 1] == "    process 8, tracing-stop: sh -c 'deploy [api key]'"


def test_rule_then_kill_then_facts_then_world_then_the_command() -> None:
    assert (
        explained()
        == """\
VIOLATION  deploy-log-toolStarted-bash-1-after
  schedule  run: log:toolStarted[bash]#1/after; resume: none
  E2        an effect that may not be replayed happens at most once per intent
            deploy with key [api key]: expected 0, found 1 at launch 2 (resume), line 4, seq 3
  killed    launch 1 (run) at log:toolStarted[bash]#1/after
            when write of 117 bytes was done, before the next instruction
  log       as of event 6
      line 2   seq 1   runStarted
      line 3   seq 2   stepAttempt attempt=1
    > line 4   seq 3   toolStarted tool=bash replay=never
  happened
      -- launch 1 (run): killed by the schedule
            1.0 ms  request  1 /t/v1/chat/completions -> 200
            2.0 ms  answer   1 sent
            3.0 ms  log      log:toolStarted[bash]#1  write 117 bytes, returned 117
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


def test_a_rule_is_stated_once_however_often_it_is_broken() -> None:
    twice = replace(sample.violated(), violations=sample.violated().violations * 2)
    text = explain(twice, sample.STATEMENTS, None)
    assert text.count(sample.STATEMENTS["E2"]) == 1
    assert text.count("expected 0, found 1") == 2


def test_a_verdict_without_evidence_says_why() -> None:
    assert (
        explain(sample.inconclusive(), {}, None)
        == """\
INCONCLUSIVE  deploy-log-header-1-before
  schedule  run: log:header#1/before
  why       log:header#1/before was never reached
"""
    )


@pytest.mark.parametrize(
    ("point", "kept", "words"),
    [
        ("log@1/before", 0, "on entry of write of 117 bytes: nothing of it happened"),
        ("log@1/torn@9", 9, "inside write of 117 bytes: exactly 9 bytes reached the file"),
        ("log@1/after", 117, "when write of 117 bytes was done, before the next instruction"),
    ],
)
def test_a_kill_in_words(point: str, kept: int, words: str) -> None:
    kill = sample.evidence().events[3]
    assert kill_in_words(replace(kill, point=point, kept=kept)) == words  # type: ignore[arg-type]


def test_a_line_that_is_no_fact_is_shown_as_it_is() -> None:
    log = sample.BEFORE + b'{"seq": \x1b\xff}\n'
    assert facts_around(log, 4)[-1] == '> line 4   cannot be read as facts: {"seq": \\x1b�}'
    assert facts_around(b"", 1) == ["> line 1   cannot be read as facts: "]


def test_what_a_launch_found_changed_stands_in_its_line() -> None:
    launch: dict[str, Any] = {"first": ("damage: glue@3",), "changed": ("write:A.md=1\n2",)}
    story = plain().launch("resume").exec("make").end(4, **launch)
    (told,) = [line for _, line in timeline(story.evidence()) if "launch 2" in line]
    assert told == (r"-- launch 2 (resume): damage: glue@3; write:A.md=1\n2; exit code 4")
