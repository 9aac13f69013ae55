"""The HTML report in a real browser: what is seen, what is opened, what a keyboard reaches."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chaos.judge import STATEMENTS
from chaos.points import Schedule
from chaos.report.known import KnownFault
from chaos.report.page import Told
from chaos.report.triage import faults_of_all
from chaos.results import ScheduleResult, Verdict
from tests.browser.conftest import Open
from tests.report import sample
from tests.report.large import POINTS, large_sweep

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROKEN = sample.violated().id


def three() -> tuple[ScheduleResult, ...]:
    return sample.passed(), sample.violated(), sample.inconclusive()


def grid() -> tuple[ScheduleResult, ...]:
    """Two boundaries: before, two torn, after, at each."""
    points = [f"log:{name}#1/{phase}" for name in ("a", "b") for phase in PHASES]
    return tuple(
        ScheduleResult(ident_of(at), f"run: {at}", Verdict.PASS, (), "", 1, 1, 0.1) for at in points
    )


PHASES = ("before", "torn@1", "torn@9", "after")


def ident_of(point: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", point)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('href') ?? ''")).removeprefix("#")


def arrived(page: Page, ident: str = "") -> None:
    """Wait until the page shows this schedule, or the overview: a browser tells of a new address
    later than it takes it."""
    page.wait_for_selector(f'#page[data-id="{ident}"]')


def shown(page: Page) -> list[str]:
    cells = page.locator(".map a.cell:visible")
    return [str(cells.nth(at).get_attribute("href"))[1:] for at in range(cells.count())]


def test_in_ten_seconds(visit: Open) -> None:
    """The broken promise, the kill, expected and found, the log and the command are at the top."""
    page = visit(sample.sweep_result(*three())).page
    assert page.inner_text("h1").endswith("1 fault, in 1 of 3 schedules")
    assert page.inner_text(".besides") == "Besides: 1 inconclusive."
    first = page.locator(".fault").first
    text = first.inner_text()
    assert STATEMENTS["E2"] in text
    assert sample.POINT in text
    assert "expected" in text
    assert "toolStarted tool=bash replay=never" in text
    assert f"/failures/{BROKEN}.json" in first.locator(".command code").inner_text()
    assert first.bounding_box()["y"] < 500  # type: ignore[index]


def test_a_green_sweep_says_so_and_what_it_left_out(visit: Open) -> None:
    page = visit(sample.sweep_result(sample.passed())).page
    assert page.inner_text("h1").endswith("The schedule passed")
    assert page.locator(".fault").count() == 0
    page.click("text=What was left out")
    assert "SIGKILL keeps the page cache" in page.inner_text(".gaps")


def test_an_interrupted_sweep_says_so(visit: Open) -> None:
    page = visit(sample.sweep_result(sample.passed(), interrupted=True)).page
    assert "nterrupted" in page.inner_text("h1")
    assert page.locator(".gaps li").first.is_visible()


def test_a_known_fault_is_no_news(visit: Open) -> None:
    sweep = sample.sweep_result(*three()[:2])
    known = {fault.fingerprint: KnownFault(1, "issue 12") for fault in faults_of_all(sweep)}
    page = visit(sweep, told=Told("/r", known)).page
    assert page.inner_text("h1").endswith("No fault but 1 known")
    assert "issue 12" in page.inner_text(".fault")
    assert page.locator(f'.cell.known[href="#{BROKEN}"]').inner_text() == "≈"


def test_a_cell_opens_its_schedule_and_escape_comes_back(visit: Open) -> None:
    page = visit(sample.sweep_result(*three())).page
    cell = page.locator(f'.map a[href="#{BROKEN}"]')
    assert cell.inner_text() == "E2"  # not by its colour alone
    cell.click()
    arrived(page, BROKEN)
    assert BROKEN in page.inner_text("h1")
    assert page.title().startswith("✕")
    page.keyboard.press("Escape")
    arrived(page)
    assert "1 fault" in page.inner_text("h1")
    assert focused(page) == BROKEN


def test_an_address_opens_a_schedule(visit: Open) -> None:
    page = visit(sample.sweep_result(*three()), ident=BROKEN).page
    assert BROKEN in page.inner_text("h1")
    assert "kill" in page.inner_text(".timeline").lower()


@pytest.mark.parametrize(("ident", "said"), [("%E0%A4%A", 0), ("gone-after", 1)])
def test_an_address_of_nothing_opens_the_overview_and_says_so(
    visit: Open, ident: str, said: int
) -> None:
    """Half an escape is nobody's id; an id of another report is one that is not here."""
    page = visit(sample.sweep_result(*three()), ident=ident).page
    assert "1 fault" in page.inner_text("h1")
    assert page.locator("text=No schedule here has the id gone-after.").count() == said
    assert page.locator("[role=alert]").count() == said
    page.click(f'.map a[href="#{BROKEN}"]')
    arrived(page, BROKEN)
    page.keyboard.press("Escape")
    arrived(page)
    assert page.locator("[role=alert]").count() == 0


def test_the_timeline_has_lanes_and_leads_to_raw_facts_and_to_the_log(visit: Open) -> None:
    page = visit(sample.sweep_result(*three()), ident=BROKEN).page
    order = [row.get_attribute("class") for row in page.locator(".timeline .event").all()]
    lanes = ["provider", "provider", "log", "kills", "tools", "outside"]
    assert [f"in-{lane}" in str(row) for row, lane in zip(order, lanes, strict=True)] == [True] * 6
    assert "accused" in str(order[-1])
    page.click(".timeline .in-log summary")
    assert "offset" in page.inner_text(".timeline .in-log .fields")
    page.click(".timeline .in-log button")
    assert "toolStarted" in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")
    assert '"replay": "never"' in page.inner_text(".log .line[open], .log details[open] pre")


def test_a_schedule_that_passed_says_how_to_run_it_again(visit: Open) -> None:
    page = visit(sample.sweep_result(*grid()), ident=grid()[0].id).page
    assert f"chaos run /s/deploy.toml -k {grid()[0].id}" in page.inner_text("main")
    assert "1 of 1" in page.inner_text(".figures")


def test_arrows_walk_the_map(visit: Open) -> None:
    page = visit(sample.sweep_result(*grid())).page
    a, b = ([ident_of(f"log:{name}#1/{phase}") for phase in PHASES] for name in ("a", "b"))
    assert page.locator('.map a.cell[tabindex="0"]').count() == 1
    page.focus('.map a.cell[tabindex="0"]')
    walked = [focused(page)]
    for key in ("Right", "Right", "Down", "Left", "Up", "Up", "End", "Left"):
        page.keyboard.press(f"Arrow{key}" if key != "End" else key)
        walked.append(focused(page))
    assert walked == [a[0], a[1], a[2], b[2], b[1], a[1], a[1], b[3], b[2]]
    page.keyboard.press("Enter")
    arrived(page, b[2])


def test_a_keyboard_alone_reaches_everything(visit: Open) -> None:
    page = visit(sample.sweep_result(*three())).page
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className || document.activeElement.id"))
        visible = "e => e === document.body || getComputedStyle(e).outlineStyle !== 'none'"
        assert page.evaluate(f"({visible})(document.activeElement)")
    assert {"skip", "open", "filter", "toggle"} <= reached
    assert any(str(name).startswith("cell") for name in reached)


def test_filters_by_words_and_verdict(visit: Open) -> None:
    page = visit(sample.sweep_result(*three())).page
    everything = shown(page)
    page.keyboard.press("/")
    page.keyboard.type("toolstarted e2")
    assert shown(page) == [BROKEN]
    page.fill("#filter", "")
    assert shown(page) == everything
    page.click("button.toggle:has-text('inconclusive')")
    assert shown(page) == [sample.inconclusive().id]
    page.fill("#filter", "no such thing")
    assert shown(page) == []
    assert page.is_visible("text=No schedule matches")


def test_a_filter_is_kept_while_a_schedule_is_looked_at(visit: Open) -> None:
    page = visit(sample.sweep_result(*three())).page
    page.fill("#filter", "E2")
    page.click(f'.map a[href="#{BROKEN}"]')
    arrived(page, BROKEN)
    page.keyboard.press("Escape")
    arrived(page)
    assert shown(page) == [BROKEN]


def test_a_command_is_copied(visit: Open) -> None:
    page = visit(
        sample.sweep_result(*three()), permissions=["clipboard-read", "clipboard-write"]
    ).page
    page.click(".fault .command button")
    assert page.inner_text(".fault .command button") == "copied"
    assert page.evaluate("navigator.clipboard.readText()").startswith("chaos replay /")


def test_a_closure_has_a_graph_whose_dots_open(visit: Open) -> None:
    page = visit(sample.sweep_result(*crashes_of_crashes())).page
    assert page.locator("#graph a circle").count() == 3
    page.focus("#graph a >> nth=1")
    assert page.locator("#graph .over .in").count() == 1
    page.keyboard.press("Enter")
    arrived(page, "second")


def crashes_of_crashes() -> tuple[ScheduleResult, ...]:
    """Two images after one kill, one after two; a second way into the first."""
    one, two = "run: log:a#1/after", "resume: log:b#1/after"
    rows = (
        ("first", one, None),
        ("again", "run: log:b#1/before", "first"),
        ("second", f"{one}; {two}", None),
        ("third", "run: log:b#1/after", None),
    )
    return tuple(
        ScheduleResult(ident, said, Verdict.PASS, (), "", said.count("log"), 1, 0.1, merged)
        for ident, said, merged in rows
    )


def test_a_hostile_target_writes_text_and_nothing_else(visit: Open) -> None:
    evil = (
        "</script><script>console.log('run')</script><img src=x onerror=console.log(1)>\u202e\x00"
    )
    broken = replace(
        sample.violated(),
        violations=(replace(sample.violated().violations[0], message=evil + "\udcff"),),
    )
    sweep = sample.sweep_result(broken, sample.passed())
    scenario = replace(sweep.scenarios[0], name=evil, notes=(evil,), points=("log:a#1", evil))
    page = visit(replace(sweep, scenarios=(scenario,)), ident=BROKEN).page
    assert "</script><script>" in page.inner_text(".broken")
    assert "\\u202e\\x00\\udcff" in page.inner_text(".broken")
    assert page.locator("img").count() == 0


def test_three_thousand_schedules_open_at_once(visit: Open) -> None:
    sweep = large_sweep()
    assert sum(len(scenario.schedules) for scenario in sweep.scenarios) > 3000
    page = visit(sweep).page
    assert page.locator(".map a.cell").count() > 3000
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert busy_s(page) < 2
    assert page.locator(".map .card").count() == len(sweep.scenarios)
    assert page.locator(".map .card >> nth=0 >> tbody th[scope=row]").count() == len(POINTS) + 1


def busy_s(page: Page) -> float:
    """What the page's process has computed since it began, on all its threads: the time until the
    page is there on a machine with nothing else to do. The clock would measure the other tests."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    told = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in told if each["name"] == "ProcessTime"))


def test_dark_is_dark(visit: Open) -> None:
    def brightness(scheme: str) -> int:
        page = visit(sample.sweep_result(*three()), color_scheme=scheme).page
        colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return int(colour.removeprefix("rgb(").split(",")[0])

    assert brightness("light") > 200
    assert brightness("dark") < 60


def test_a_narrow_page_does_not_scroll_sideways(visit: Open) -> None:
    sweep = large_sweep()
    sweep = replace(sweep, scenarios=sweep.scenarios[:3])
    overview = visit(sweep, viewport={"width": 360, "height": 700}).page
    broken = next(r.id for r in sweep.scenarios[0].schedules if r.verdict is Verdict.VIOLATION)
    opened = visit(sweep, ident=broken, viewport={"width": 360, "height": 700}).page
    for page in (overview, opened):
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_it_prints_without_what_only_a_screen_needs(visit: Open) -> None:
    page = visit(sample.sweep_result(*three())).page
    page.emulate_media(media="print")
    assert not page.is_visible("#filter")
    assert page.is_visible(".fault .log")
    assert page.is_visible(".map a.cell >> nth=0")


def test_without_kills_there_is_a_page_too(visit: Open) -> None:
    page = visit(sample.sweep_result(error="the baseline failed")).page
    assert "prove nothing" in page.inner_text("h1")
    assert "the baseline failed" in page.inner_text(".fault")
    assert str(Schedule()) == "run: none"
