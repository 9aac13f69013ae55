"""`bash` tells output and ending of a command, and gives it no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.tools.conftest import Call

ENDINGS = [
    ("true", "success", "(no output)"),
    ("echo out; echo err >&2", "success", "out\nerr"),
    ("echo no; exit 3", "error", "no\n[exit code 3]"),
    ("kill -9 $$", "error", "(no output)\n[ended by SIGKILL]"),
    ("read line || echo empty", "success", "empty"),
    ("echo $AGENT_API_KEY$OPENROUTER_API_KEY$KEPT", "success", "kept"),
    ("sleep 60 & disown; echo left it", "success", "left it"),
]


@pytest.mark.parametrize(("command", "kind", "text"), ENDINGS)
def test_endings(call: Call, command: str, kind: str, text: str) -> None:
    result = call("bash", command=command)
    assert (result.kind, result.text) == (kind, text)


def test_a_command_starts_in_the_workspace(call: Call, workspace: Path) -> None:
    assert call("bash", command="pwd").text == str(workspace)


def test_a_command_past_its_time_is_ended(call: Call) -> None:
    result = call("bash", command="echo begun; sleep 60", timeout=1)
    assert result.kind == "error"
    assert result.text.startswith("begun\n[timed out after 1 s")


def test_long_output_is_cut_and_kept(call: Call, workspace: Path) -> None:
    result = call("bash", command="seq 1 30000; exit 1")
    kept = ".agent/tool-output/018f0000-0000-7000-8000-000000000001.txt"
    assert result.kind == "error"
    assert result.text.startswith("28001\n")
    assert result.text.endswith(
        f"\n30000\n[output cut; all 168894 bytes are in {kept}]\n[exit code 1]"
    )
    assert (workspace / kept).read_text().startswith("1\n2\n")
