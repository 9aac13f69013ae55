"""A file that a user named is read whole, or refused before it can hang or fill the memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import chaos.regular
from chaos.regular import read_regular


def refusal(path: Path) -> str:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - what matters is what it says
        read_regular(path)
    return caught.value.strerror or ""


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * (2**20 + 1))
    assert read_regular(path) == path.read_bytes()
    assert read_regular(Path("/proc/self/stat"))  # which says that its size is 0


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "expected a regular file, found a pipe"
    assert refusal(Path("/dev/zero")) == "expected a regular file, found a device"
    assert refusal(tmp_path) == "Is a directory"


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chaos.regular, "MOST_BYTES", 2**20)
    path = tmp_path / "f"
    path.write_bytes(b"x" * 2**20)
    assert len(read_regular(path)) == 2**20
    path.write_bytes(b"x" * (2**20 + 1))
    assert refusal(path) == "expected at most 1 MiB, found more"
