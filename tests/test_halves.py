"""The two halves of the tests are the whole, and a red test in either is red."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.halves import FIRST, ROOT, halves, side_by_side

GREEN, RED = "def test_green(): pass\n", "def test_red(): assert 1 == 2\n"


def test_what_is_named_in_the_first_half_is_all_that_is_left_out_of_the_second() -> None:
    first, second = halves()
    assert all((ROOT / "tests" / name).is_dir() for name in FIRST)
    assert second == [f"--ignore={name}" for name in first]


@pytest.mark.parametrize(
    ("first", "second", "code"), [(GREEN, GREEN, 0), (GREEN, RED, 1), (RED, GREEN, 1)]
)
def test_a_red_test_in_either_half_is_red(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], first: str, second: str, code: int
) -> None:
    for name, text in {"first": first, "second": second}.items():
        (tmp_path / f"test_{name}.py").write_text(text, encoding="utf-8")
    words = ["-p", "no:cacheprovider", f"--rootdir={tmp_path}", "-c", "/dev/null"]
    paths = [str(tmp_path / f"test_{name}.py") for name in ("first", "second")]
    assert side_by_side([*words, paths[0]], [*words, paths[1]]) == code
    assert capfd.readouterr().out.count(" in ") == 2  # both said what they found
