"""`read` gives a page and says how to go on; following its word gives the whole file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.agent.tools.conftest import Call


def test_a_small_file_is_given_whole(workspace: Path, call: Call) -> None:
    (workspace / "a").write_text("one\ntwo")
    assert call("read", path="a").text == "one\ntwo"


def test_offset_and_limit(workspace: Path, call: Call) -> None:
    (workspace / "a").write_text("1\n2\n3\n4\n")
    assert call("read", path="a", offset=2, limit=2).text == (
        "2\n3\n\n[more lines follow; go on with offset=4]"
    )
    assert call("read", path="a", offset=4, limit=9).text == "4\n"
    assert call("read", path="a", offset=9).text == "[no line 9: the file has 4 lines]"


@pytest.mark.parametrize("line", ["short", "é" * 3000])
def test_going_on_as_told_gives_the_whole_file(workspace: Path, call: Call, line: str) -> None:
    whole = "".join(f"{number} {line}\n" for number in range(5000 if line == "short" else 100))
    (workspace / "a").write_text(whole)
    read, offset = "", 1
    while offset:
        text = call("read", path="a", offset=offset).text
        assert len(text.encode()) < 51 * 1024 + 100
        more = re.search(r"\n\[more lines follow; go on with offset=(\d+)\]$", text)
        read += text[: more.start()] if more else text
        offset = int(more[1]) if more else 0
    assert read == whole


def test_a_line_without_end_is_cut_on_a_character(workspace: Path, call: Call) -> None:
    (workspace / "a").write_text("x\n" + "é" * 200_001 + "\nlast\n")
    assert call("read", path="a").text.endswith("go on with offset=2]")
    text = call("read", path="a", offset=2).text
    assert "\ufffd" not in text
    assert "line 2 is cut after 51200 bytes" in text
    assert call("read", path="a", offset=3).text == "last\n"


@pytest.mark.parametrize("name", ["missing", "directory", "fifo", "binary"])
def test_what_is_no_text_file_is_an_error(workspace: Path, call: Call, name: str) -> None:
    (workspace / "directory").mkdir()
    os.mkfifo(workspace / "fifo")
    (workspace / "binary").write_bytes(b"\x7fELF\0\0")
    result = call("read", path=name)
    assert result.kind == "error"
    assert name in result.text
