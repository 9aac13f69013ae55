"""The page about the APIs names every one that is served, and where its requests go."""

from __future__ import annotations

import re
from pathlib import Path

from chaos.flavours import FLAVOURS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "apis.md").read_text(encoding="utf-8")


def test_the_page_has_a_row_for_each_api() -> None:
    rows = [line.split("|")[2] for line in PAGE.splitlines() if line.startswith("| ")][1:]
    assert [re.findall(r"`(/[^`]+)`", cell)[0] for cell in rows] == [f.place for f in FLAVOURS]
