"""AGENTS.md joins the system prompt, and nothing that it can be keeps a session from going on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.prompt import INSTRUCTIONS_LIMIT, SYSTEM_PROMPT, system_prompt
from tests.agent.support import configuration


@pytest.fixture(name="workspace")
def _workspace(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    root.mkdir()
    return root


@pytest.mark.parametrize("text", [None, "", " \n\t\n"])
def test_without_instructions_the_prompt_is_the_agents_own(
    workspace: Path, text: str | None
) -> None:
    if text is not None:
        (workspace / "AGENTS.md").write_text(text)
    assert system_prompt(workspace) == SYSTEM_PROMPT


def test_the_instructions_stand_after_the_agents_own_text(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("\nSpeak Chinese: 你好\u2028.\r\nRun `make`.\n\n")
    assert system_prompt(workspace) == (
        f"{SYSTEM_PROMPT}\nThe workspace's AGENTS.md says:\n\n"
        "Speak Chinese: 你好\u2028.\r\nRun `make`.\n"
    )
    assert str(workspace) not in system_prompt(workspace)


def test_a_link_inside_the_workspace_is_followed(workspace: Path) -> None:
    (workspace / "CLAUDE.md").write_text("as elsewhere")
    (workspace / "AGENTS.md").symlink_to("CLAUDE.md")
    assert "as elsewhere" in system_prompt(workspace)


def test_a_link_out_of_the_workspace_sends_nothing_to_the_provider(workspace: Path) -> None:
    (workspace.parent / "id_rsa").write_text("secret")
    (workspace / "AGENTS.md").symlink_to(workspace.parent / "id_rsa")
    prompt = system_prompt(workspace)
    assert "secret" not in prompt
    assert "links to a place outside the workspace" in prompt


def test_what_cannot_be_read_is_said_and_no_path_with_it(workspace: Path) -> None:
    (workspace / "AGENTS.md").mkdir()
    prompt = system_prompt(workspace)
    assert prompt.endswith("(AGENTS.md could not be read: Is a directory)\n")
    (workspace / "AGENTS.md").rmdir()
    os.mkfifo(workspace / "AGENTS.md")  # would hang whoever waits for a writer
    assert "(AGENTS.md could not be read: not a regular file)" in system_prompt(workspace)


def test_bytes_that_are_no_text_do_not_end_the_session(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_bytes(b"\xff\xfe tabs")
    assert "\ufffd\ufffd tabs" in system_prompt(workspace)


def test_the_size_is_bounded_and_the_cut_is_told(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("x" * INSTRUCTIONS_LIMIT)
    assert "is cut here" not in system_prompt(workspace)
    (workspace / "AGENTS.md").write_text("x" * (INSTRUCTIONS_LIMIT + 1))
    prompt = system_prompt(workspace)
    assert prompt.endswith(f"x\n(AGENTS.md is cut here, after {INSTRUCTIONS_LIMIT} bytes)\n")


def test_other_instructions_are_another_configuration(workspace: Path) -> None:
    bare = configuration(workspace)
    assert bare.in_workspace(workspace) is bare
    (workspace / "AGENTS.md").write_text("one")
    one = bare.in_workspace(workspace)
    (workspace / "AGENTS.md").write_text("two")
    two = one.in_workspace(workspace)
    digests = {c.current.configuration_digest for c in (bare, one, two)}
    assert len(digests) == 3
    assert two.snapshot["systemPromptDigest"] != one.snapshot["systemPromptDigest"]
    assert two.snapshot == one.snapshot | {"systemPromptDigest": two.snapshot["systemPromptDigest"]}
    (workspace / "AGENTS.md").unlink()
    assert two.in_workspace(workspace).snapshot == bare.snapshot
