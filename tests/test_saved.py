"""Saved evidence comes back equal, and damage to it is named."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos.cli import main
from chaos.errors import UsageError
from chaos.evidence import (
    Blobs,
    Effect,
    Evidence,
    Facts,
    Kill,
    Launch,
    Process,
    Request,
    Survivor,
)
from chaos.saved import load_evidence, save_evidence
from tests.report import sample


def evidence() -> Evidence:
    blobs = Blobs()
    log = blobs.put(b"a log\n")
    facts = Facts(
        scenario="s",
        dialect="session-v2",
        prompts=("go",),
        probe_prompt="probe",
        exit_codes={"completed": 0},
        expect_outcome=None,
        expect_effects={"deploy": "once"},
        temporary=("*.tmp",),
        secret="sk",
    )
    launch = Launch(
        index=0,
        role="run",
        step=0,
        argv=("agent", "run"),
        prompt="go",
        exit_code=None,
        signal=9,
        killed=True,
        timed_out=False,
        seconds=0.5,
        log_before="",
        log_after=log,
        files_before={},
        files_after={"a": blobs.put(b"content")},
        state_files=(".agent/x",),
        stdout=blobs.put(b""),
        stderr=blobs.put(b"\xff"),
        survivors=(Survivor(7, ("sleep", "9")),),
    )
    events = (
        Request(1, 0, 0.1, 1, "POST", "/v1", log, log, 200, "", log, {"prompt_tokens": 3}),
        kill(log),
        Effect(3, 0, 0.2, 7, ("sh",), "deploy", log, False),
    )
    other = Blobs({log: b"a log\n", **blobs.data})
    plain = Evidence("run: none", facts, (replace(launch, stdout=other.put(b"hi")),), (), other)
    return Evidence("run: log@1/after", facts, (launch,), events, blobs, (plain,), "other")


def kill(log: str) -> Kill:
    tree = (Process(7, 1, ("agent",), "tracing-stop", 1, 5, 30_000_000, 0.1),)
    return Kill(
        order=2,
        launch=0,
        at_ms=0.2,
        point="log@1/after",
        call="write",
        pid=7,
        tid=7,
        offset=0,
        length=6,
        kept=6,
        returned=6,
        before="",
        payload=log,
        after=log,
        wait_status=9,
        tree=tree,
    )


def test_what_is_saved_comes_back_equal(tmp_path: Path) -> None:
    saved = evidence()
    loaded = load_evidence(save_evidence(saved, tmp_path / "e"))
    # Loaded evidence shares one set of blobs; what it says is the same.
    assert replace(loaded, blobs=saved.blobs, references=saved.references) == saved
    assert replace(loaded.references[0], blobs=saved.references[0].blobs) == saved.references[0]
    assert loaded.blobs.get(loaded.references[0].launches[0].stdout) == b"hi"


def test_a_missing_blob_is_refused(tmp_path: Path) -> None:
    save_evidence(evidence(), tmp_path)
    next((tmp_path / "blobs").iterdir()).unlink()
    with pytest.raises(UsageError, match="expected the name of a file in blobs/"):
        load_evidence(tmp_path)


def test_a_folder_written_by_half_is_refused(tmp_path: Path) -> None:
    save_evidence(evidence(), tmp_path)
    (tmp_path / "evidence.json").rename(tmp_path / "evidence.json.partial")
    with pytest.raises(UsageError, match="no saved evidence here"):
        load_evidence(tmp_path)


def test_a_changed_blob_is_refused(tmp_path: Path) -> None:
    save_evidence(evidence(), tmp_path)
    blob = next((tmp_path / "blobs").iterdir())
    blob.write_bytes(b"something else")
    with pytest.raises(UsageError, match="content does not match its name"):
        load_evidence(tmp_path)


@pytest.mark.parametrize("damage", ["{", "[]", '{"version": 2}'])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    save_evidence(evidence(), tmp_path)
    (tmp_path / "evidence.json").write_text(damage)
    with pytest.raises(UsageError, match=r"evidence\.json"):
        load_evidence(tmp_path)


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    save_evidence(evidence(), tmp_path)
    path = tmp_path / "evidence.json"
    value = json.loads(path.read_text())
    del value["events"][0]["status"]
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match="status"):
        load_evidence(tmp_path)


FIELDS = [
    (("launches", 0, "argv"), None, "launches[0].argv: expected an array, found null"),
    (("launches", 0, "argv", 1), 7, "launches[0].argv[1]: expected a string, found 7"),
    (("launches", 0, "index"), 1, "launches[0].index: expected 0, found 1"),
    (("launches", 0, "killed"), 1, "launches[0].killed: expected true or false, found 1"),
    (("launches", 0, "seconds"), True, "launches[0].seconds: expected a number, found True"),
    (("launches", 0, "step"), 9, "launches[0].step: expected one of the steps, 1 of them with a"),
    (("launches", 0, "log_after"), "0", "launches[0].log_after: expected the name of a file in b"),
    (("launches", 0, "files_after", "a"), [], "launches[0].files_after['a']: expected a string"),
    (("launches", 0, "survivors", 0, "pid"), "7", "launches[0].survivors[0].pid: expected a whole"),
    (("launches",), [], "launches: expected one launch at least, found nothing"),
    (("facts", "exit_codes", "completed"), 0.5, "facts.exit_codes['completed']: expected a whole"),
    (("facts", "expect_effects", "deploy"), "no", "facts.expect_effects['deploy']: expected one o"),
    (("events", 1, "point"), "log:x", "events[1].point: not a kill point: 'log:x'"),
    (("facts", "dialect"), {}, "facts.dialect: expected a string, found an object"),
    (("events", 0, "launch"), 1, "events[0].launch: expected one of the 1 launches, found 1"),
    (("events", 0, "launch"), -1, "events[0].launch: expected one of the 1 launches, found -1"),
    (("events", 0, "at_ms"), math.nan, "events[0].at_ms: expected a number, found nan"),
    (("events", 0, "pid"), 7, "events[0]: expected a Request without a field 'pid', found an ob"),
    (("events", 1, "kind"), "Killed", "events[1].kind: expected one of LogWrite, Request, "),
    (("events", 1, "order"), 10**30, "events[1].order: expected a whole number, found 1000"),
    (("events", 1, "offset"), 2**60, "events[1].offset: expected at most 268435456 bytes, found"),
    (("references", 0, "facts"), [], "references[0].facts: expected an object, found an array"),
    (("references", 0), 1, "references: expected an array of objects, found an array"),
    (("schedule",), "run", "schedule: not a launch: 'run'"),
    (("merged_into",), 0, "merged_into: expected a string, found 0"),
]


@pytest.mark.parametrize(("keys", "value", "message"), FIELDS)
def test_a_field_of_another_type_is_named(
    tmp_path: Path, keys: tuple[str | int, ...], value: object, message: str
) -> None:
    save_evidence(evidence(), tmp_path)
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps(changed(json.loads(path.read_text()), keys, value)))
    with pytest.raises(UsageError) as caught:
        load_evidence(tmp_path)
    assert str(caught.value).startswith(f"{path}: damaged evidence: {message}")


def test_evidence_that_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    save_evidence(evidence(), tmp_path)
    (tmp_path / "blobs/folder").mkdir()
    with pytest.raises(UsageError, match="blobs/folder: cannot be read: Is a directory"):
        load_evidence(tmp_path)
    (tmp_path / "evidence.json").unlink()
    os.mkfifo(tmp_path / "evidence.json")
    with pytest.raises(UsageError, match="cannot be read: expected a regular file, found a pipe"):
        load_evidence(tmp_path)


def test_any_single_change_is_judged_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # References are judged by the same code as what refers to them, and reached by few rules.
    save_evidence(replace(sample.evidence(), references=(sample.evidence(),)), tmp_path)
    path = tmp_path / "evidence.json"
    whole = json.loads(path.read_text())
    places = list(paths(whole))
    chance = random.Random(7)
    codes = set()
    for _ in range(600):
        keys, value = chance.choice(places), chance.choice(ODD)
        path.write_text(json.dumps(changed(whole, keys, value)))
        code = main(["judge", str(tmp_path)])
        codes.add(code)
        err = capsys.readouterr().err
        # 3 is INCONCLUSIVE, or a fault of chaos, which says so.
        assert code in (1, 3, 4), (keys, value)
        assert "fault of chaos" not in err, (keys, value, err)
        assert "the system refused" not in err, (keys, value, err)
        assert (code == 4) == ("damaged evidence" in err or "of version" in err), (keys, value, err)
    assert codes >= {1, 4}


ODD = (
    *(None, True, 0, -1, 1, 7, 2**40, 2**70, 0.5, 1e300),
    *("", "x", "\ud800", "\0", "run", "9" * 5000),
    *([], {}, [[]], ["x"], {"x": 1}, [None], [{}]),
)


def paths(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value in a JSON value, but the whole."""
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    for key, each in inside:
        yield (*at, key)
        yield from paths(each, (*at, key))


def changed(whole: Any, keys: Sequence[str | int], value: object) -> Any:
    """A copy with one value put in the place of another."""
    copy = json.loads(json.dumps(whole))
    *way, last = keys
    at = copy
    for key in way:
        at = at[key]
    at[last] = value
    return copy
