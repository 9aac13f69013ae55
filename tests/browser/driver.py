"""Debian's chromium without a window, driven by playwright, leaving nothing behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium")
# Root has no sandbox; the rest keeps a browser from calling home.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for a while. Its profile and all else that it writes is below one folder."""
    from playwright.sync_api import sync_playwright  # starts a process: only where it is wanted

    with (
        tempfile.TemporaryDirectory(prefix="killpoint-browser-") as folder,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*_FLAGS, f"--disk-cache-dir={folder}"]
        )
        try:
            yield browser
        finally:
            browser.close()
