"""One mutant that the sweep kills, one that it does not, and how they are told."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.stress.mutants import (
    BROKEN,
    FOLDERS,
    ROOT,
    Result,
    Tree,
    explanations,
    modules,
    read_report,
    read_results,
    tell,
)
from tests.stress.mutate import Mutant, changed_lines

SURVIVED = Result("agent/store.py: a -> b", 7, "0" * 64, "survived", "", "", 1.5)
KILLED = replace(SURVIVED, key="agent/store.py: c -> d", verdict="killed", by="L1")


def changed(module: str, before: str, after: str) -> Mutant:
    source = (ROOT / module).read_text(encoding="utf-8")
    assert source.count(before) == 1
    mutated = source.replace(before, after)
    return Mutant(module, 1, *changed_lines(source, mutated), mutated)


def test_a_mutant_is_killed_by_the_sweep_and_a_harmless_one_is_not(tmp_path: Path) -> None:
    tree = Tree(tmp_path, ("calls/plain-answer.toml",))
    file = tmp_path / "agent/store.py"
    sound = file.read_text()
    fatal = tree.try_mutant(changed("agent/store.py", "size != self._v", "size == self._v"), 1, 60)
    assert (fatal.verdict, fatal.by) == ("killed", "L1"), fatal
    assert "torn" in fatal.schedule
    harmless = changed("agent/store.py", "_READ_CHUNK = 1 << 20", "_READ_CHUNK = 1 << 19")
    assert tree.try_mutant(harmless, 1, 60).verdict == "survived"
    assert file.read_text() == sound


def test_a_module_that_does_not_run_is_refused(tmp_path: Path) -> None:
    tree = Tree(tmp_path, ("calls/plain-answer.toml",))
    broken = tree.try_mutant(Mutant("agent/loop.py", 1, "", "", BROKEN), 1, 60)
    assert broken.verdict == "refused"


def test_the_folders_are_those_of_make_chaos() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"QUICK  := $(addprefix scenarios/,{' '.join(FOLDERS)})" in makefile


def test_the_first_rule_is_told_and_a_rule_before_anything_else(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    assert read_report(file) is None
    schedules = [
        {"verdict": "PASS", "violations": [], "schedule": ["run: none"]},
        {"verdict": "INCONCLUSIVE", "violations": [], "schedule": ["run: log@1/after"]},
        {
            "verdict": "VIOLATION",
            "violations": [{"id": "R1"}, {"id": "L1"}],
            "schedule": ["run: log@2/after", "resume: none"],
        },
    ]
    for count, told in (
        (1, None),
        (2, ("refused", "INCONCLUSIVE", "run: log@1/after")),
        (3, ("killed", "R1", "run: log@2/after; resume: none")),
    ):
        file.write_text(json.dumps({"scenarios": [{"schedules": schedules[:count]}]}))
        assert read_report(file) == told


def test_results_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    assert read_results(file) == {}
    file.write_text(json.dumps(asdict(SURVIVED)) + "\n")
    assert read_results(file) == {SURVIVED.source: SURVIVED}


def test_a_survivor_needs_an_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell([SURVIVED, KILLED], {}) == 1
    assert "survived: agent/store.py: a -> b\n    UNEXPLAINED" in capsys.readouterr().out
    assert tell([SURVIVED, KILLED], {SURVIVED.key: "equivalent: a is b"}) == 0
    told = capsys.readouterr().out
    assert "    equivalent: a is b\nby rule: L1 1\n" in told
    assert "2 random mutants: 1 killed by a rule, 0 refused, 1 survived" in told


def test_the_explanations_are_of_code_that_is_there() -> None:
    sources = {module: (ROOT / module).read_text(encoding="utf-8") for module in modules(ROOT)}
    lines = {
        module: [line.strip() for line in text.splitlines()] for module, text in sources.items()
    }
    for key in explanations():
        module, _, change = key.partition(": ")
        before = change.partition(" -> ")[0]
        assert before in lines[module] or before in " ".join(lines[module]), key
