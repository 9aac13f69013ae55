"""Pictures of the HTML report, from real runs: `make screenshots`. Needs chromium.

The bug of the demo, in the scenarios where it shows and in one where it does not; and a sound
agent's crashes of crashes. Every picture stays below MOST_BYTES.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs.demo import FAILURE, stage  # noqa: E402 - found by the line above
from tests.browser.driver import CHROMIUM, chromium  # noqa: E402 - as above

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = ROOT / "docs"
CALLS = ROOT / "scenarios" / "calls"
MOST_BYTES = 200_000
_BROKEN = ("streamed-calls", "plain-answer")
_CLOSED = ("plain-answer", "safe-read-is-replayed")


@dataclass(frozen=True)
class Picture:
    """A picture of one page; `of` is the element that it shows, or all that is seen."""

    name: str
    report: str
    width: int
    height: int
    scheme: str = "light"
    ident: str = ""
    of: str = ""


PICTURES = (
    Picture("report-light", "broken", 1120, 1400),
    Picture("report-dark", "broken", 1120, 1040, scheme="dark", ident=FAILURE),
    Picture("report-narrow", "broken", 400, 1080),
    Picture("report-graph", "closed", 1120, 700, of="#graph"),
)


def main() -> int:
    """Take all pictures. Gives the exit code."""
    if CHROMIUM is None:
        sys.stderr.write("no chromium here: apt install chromium\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="killpoint-") as directory, chromium() as browser:
        folder = Path(directory)
        _run(folder)
        for picture in PICTURES:
            _take(browser, folder, picture)
    return 0


def _run(folder: Path) -> None:
    """The two sweeps, each with its report."""
    _chaos(folder, "run", *(str(CALLS / f"{name}.toml") for name in _CLOSED),
           "--launch", "warm", "--depth", "closure", "--report", "closed")  # fmt: skip
    stage(folder)
    for name in _BROKEN:
        shutil.copyfile(CALLS / f"{name}.toml", folder / f"{name}.toml")
    _chaos(folder, "run", "deploy.toml", *(f"{name}.toml" for name in _BROKEN),
           "--launch", "warm", "--report", "broken")  # fmt: skip


def _chaos(folder: Path, *argv: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "chaos", *argv], cwd=folder, stdout=subprocess.DEVNULL, check=False
    )


def _take(browser: Browser, folder: Path, picture: Picture) -> None:
    seen: dict[str, Any] = {"width": picture.width, "height": picture.height}
    page = browser.new_page(viewport=seen, color_scheme=picture.scheme)  # type: ignore[arg-type]
    address = (folder / picture.report / "report.html").as_uri()
    page.goto(f"{address}#{picture.ident}")
    page.wait_for_selector("h1")
    file = DOCS / f"{picture.name}.png"
    if picture.of:
        page.locator(picture.of).screenshot(path=file)
    else:
        page.screenshot(path=file)
    page.close()
    size = file.stat().st_size
    sys.stdout.write(f"{file.relative_to(ROOT)}  {size} bytes\n")
    if size > MOST_BYTES:
        raise SystemExit(f"{file}: {size} bytes, more than {MOST_BYTES}: show less")


if __name__ == "__main__":
    sys.exit(main())
