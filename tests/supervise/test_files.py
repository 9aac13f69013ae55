"""Saved evidence comes back equal, and damage to it is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

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
from chaos.supervise.files import load_evidence, save_evidence


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
    with pytest.raises(UsageError, match="names blobs that are not in"):
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
