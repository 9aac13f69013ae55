"""One browser for all tests of the page, and the pages that they look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.report.page import Told, html_report
from chaos.results import SweepResult
from tests.browser.driver import CHROMIUM, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium here (Debian: apt install chromium): the page is not looked at")
    with chromium() as running:
        yield running


@dataclass
class Visit:
    """A page as somebody sees it, and what it did behind their back."""

    page: Page
    complaints: list[str] = field(default_factory=list)  # of the console, and errors
    requests: list[str] = field(default_factory=list)


Open = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the report of a sweep from disk. Nothing may be complained of, nothing asked for."""
    visits = []

    def opened(
        sweep: SweepResult, ident: str = "", told: Told | None = None, **seen: object
    ) -> Visit:
        file = tmp_path / "report.html"
        told = told or Told("/r", {})
        file.write_text(html_report(sweep, told), encoding="utf-8")
        context = browser.new_context(**seen)  # type: ignore[arg-type]
        context.set_default_timeout(10_000)
        made = Visit(context.new_page())
        made.page.on("console", lambda message: made.complaints.append(message.text))
        made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.page.on("request", lambda request: made.requests.append(request.url))
        made.page.goto(f"{file.as_uri()}{f'#{ident}' if ident else ''}")
        made.page.wait_for_selector("h1")
        visits.append(made)
        return made

    yield opened
    for made in visits:
        assert made.complaints == []
        assert [url for url in made.requests if not url.startswith(("file:", "data:"))] == []
        made.page.context.close()
