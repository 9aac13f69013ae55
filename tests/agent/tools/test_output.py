"""The tail is what the model sees, the head is what is kept, and no character is split."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.tools.output import CAPTURE_LIMIT, MAX_BYTES, MAX_LINES, CapturedOutput


def captured(*data: bytes) -> CapturedOutput:
    output = CapturedOutput()
    for piece in data:
        output.add(piece)
    return output


@pytest.mark.parametrize("text", ["", "one", "one\ntwo\n", "\n" * MAX_LINES, "x" * MAX_BYTES])
def test_what_fits_is_shown_whole(text: str) -> None:
    assert captured(text.encode()).shown() == (text, False)


def test_of_many_lines_the_last_ones_are_shown() -> None:
    lines = [f"{number}\n" for number in range(MAX_LINES + 5)]
    assert captured("".join(lines).encode()).shown() == ("".join(lines[5:]), True)
    unended = "".join(lines) + "end"
    assert captured(unended.encode()).shown() == ("".join(lines[6:]) + "end", True)


@pytest.mark.parametrize("shift", range(4))
def test_the_cut_never_splits_a_character(shift: int) -> None:
    text = "😀" * MAX_BYTES + "a" * shift
    shown, cut = captured(text.encode()).shown()
    assert cut
    assert set(shown.removesuffix("a" * shift)) == {"😀"}
    assert MAX_BYTES - 4 < len(shown.encode()) <= MAX_BYTES


def test_the_tail_is_right_however_the_bytes_arrive() -> None:
    data = b"".join(b"%d\n" % number for number in range(200_000))
    pieces = [data[at : at + 70_001] for at in range(0, len(data), 70_001)]
    assert captured(*pieces).shown() == captured(data).shown()
    assert captured(*pieces).shown()[0].endswith("199999\n")


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert captured(b"\xff\xc3\n").shown() == ("\ufffd\ufffd\n", False)


def test_the_whole_output_is_kept_in_a_file(tmp_path: Path) -> None:
    (tmp_path / ".agent").mkdir()
    data = b"line\n" * 30_000
    note = captured(data).save(tmp_path, "id")
    kept = tmp_path / ".agent" / "tool-output" / "id.txt"
    assert kept.read_bytes() == data
    assert kept.stat().st_mode & 0o777 == 0o600
    assert note == "output cut; all 150000 bytes are in .agent/tool-output/id.txt"


def test_past_the_capture_limit_the_text_says_so(tmp_path: Path) -> None:
    (tmp_path / ".agent").mkdir()
    output = captured(b"x" * (CAPTURE_LIMIT + 5))
    assert "the rest was not kept" in output.save(tmp_path, "id")
    assert (tmp_path / ".agent/tool-output/id.txt").stat().st_size == CAPTURE_LIMIT


def test_an_output_that_cannot_be_kept_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".agent").write_text("in the way")
    assert "could not be kept" in captured(b"x").save(tmp_path, "id")
