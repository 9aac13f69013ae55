"""Where sessions are, and how they are named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.failures import UsageFailure
from agent.workspace import Workspace, session_id_of

ID = "018f0000-0000-7000-8000-000000000001"


@pytest.fixture(name="workspace")
def _workspace(tmp_path: Path) -> Workspace:
    return Workspace.at(str(tmp_path))


def test_a_new_session_is_named_by_its_id_alone(workspace: Workspace) -> None:
    path = workspace.path_of_new(ID)
    assert path.name == f"2024-04-21T09-32-31-104Z_{ID}.jsonl"
    assert workspace.path_of_new(ID) == path
    assert path.parent == workspace.root / ".agent" / "sessions"
    assert path.parent.is_dir()


def test_the_last_id_there_is_has_a_name_too(workspace: Workspace) -> None:
    last = "ffffffff-ffff-7fff-bfff-ffffffffffff"
    assert workspace.path_of_new(last).name == f"10889-08-02T05-31-50-655Z_{last}.jsonl"


def test_a_session_is_found_by_id_or_path(workspace: Workspace) -> None:
    assert workspace.find(ID) is None
    path = workspace.path_of_new(ID)
    path.touch()
    assert workspace.find(ID) == path
    assert workspace.find(str(path)) == path
    assert workspace.known(ID) == path
    assert workspace.session_files() == [path]


def test_other_files_are_no_sessions(workspace: Workspace) -> None:
    sessions = workspace.path_of_new(ID).parent
    (sessions / "notes.txt").touch()
    (sessions / f"x_{ID.upper()}.jsonl").touch()
    assert workspace.session_files() == []
    assert session_id_of(Path("x.jsonl")) is None


def test_a_pipe_named_like_a_session_is_none(workspace: Workspace) -> None:
    path = workspace.path_of_new(ID)
    os.mkfifo(path)
    assert workspace.session_files() == []  # or `sessions` would wait for a writer for ever
    assert workspace.find(ID) is None


@pytest.mark.parametrize("session", ["", "1", ID.upper(), ID.replace("-7", "-4", 1), "x.jsonl"])
def test_what_is_no_session_name_is_refused(workspace: Workspace, session: str) -> None:
    with pytest.raises(UsageFailure):
        workspace.find(session)


def test_an_id_that_two_files_claim_is_refused(workspace: Workspace) -> None:
    path = workspace.path_of_new(ID)
    path.touch()
    path.with_name(f"other_{ID}.jsonl").touch()
    with pytest.raises(UsageFailure, match="both claim"):
        workspace.find(ID)


def test_an_unknown_session_says_where_it_was_looked_for(workspace: Workspace) -> None:
    with pytest.raises(UsageFailure, match=str(workspace.sessions)):
        workspace.known(ID)


def test_a_workspace_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match="not a directory"):
        Workspace.at(str(tmp_path / "missing"))
