"""One mutant that the sweep kills, one that it does not, and how they are told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.stress.mutants import BROKEN, EXPLAINED, FOLDERS, ROOT, Tree, modules, read_report
from tests.stress.mutate import Mutant, changed_lines
from tests.stress.verdicts import Result, explanations, read_results, tell

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
    assert tell([SURVIVED, KILLED], {"*: a -> c": "another", "*: a -> b": "so everywhere"}) == 0
    assert "agent/store.py: a -> b\n    so everywhere\n" in capsys.readouterr().out


def strangers(explained: Iterable[str], among: Iterable[str]) -> list[str]:
    """Which of these explanations are of no line of these modules."""
    sources = {module: (ROOT / module).read_text(encoding="utf-8") for module in among}
    lines = {
        module: [line.strip() for line in text.splitlines()] for module, text in sources.items()
    }

    def known(key: str) -> bool:
        module, _, change = key.partition(": ")
        before = change.partition(" -> ")[0]
        own = lines.values() if module == "*" else [lines[module]]
        return any(before in text or before in " ".join(text) for text in own)

    return [key for key in explained if not known(key)]


def test_the_explanations_are_of_code_that_is_there() -> None:
    assert strangers(explanations(EXPLAINED), modules(ROOT)) == []
