"""Failure files carry all that is needed to run a schedule again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos.errors import ScenarioError, UsageError
from chaos.report.counts import results_of
from chaos.report.failure import Failure, read_failure, write_failure
from tests.report import sample


def failure() -> Failure:
    (result,) = results_of(sample.scenario_result(sample.violated()))
    return Failure.of(sample.scenario(), result, "warm", 7)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    write_failure(failure(), file)
    # From the file alone: scenario and target are inside, whatever became of theirs.
    assert read_failure(file) == failure()


def test_the_secret_is_not_in_it(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    write_failure(failure(), file)
    assert sample.SECRET not in file.read_text()


def test_what_is_no_failure_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_failure(file)
    file.write_text("{")
    with pytest.raises(UsageError, match="not a failure file"):
        read_failure(file)
    file.write_text('{"version": 99}')
    with pytest.raises(UsageError, match="not a failure file of version 1"):
        read_failure(file)
    file.write_text('{"version": 1}')
    with pytest.raises(
        UsageError, match=r"not a failure file, or damaged: it has no 'scenario'; .*failures/"
    ):
        read_failure(file)


def test_every_missing_key_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    write_failure(failure(), file)
    whole = json.loads(file.read_text())
    for key in set(whole) - {"version"}:
        file.write_text(json.dumps({k: v for k, v in whole.items() if k != key}))
        with pytest.raises(UsageError, match=key):
            read_failure(file)


def test_a_scenario_inside_that_is_refused_is_named(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    write_failure(failure(), file)
    file.write_text(file.read_text().replace("about", "abuot", 1))
    with pytest.raises(ScenarioError, match=r"/s/deploy\.toml:2: unknown key 'abuot'"):
        read_failure(file)
