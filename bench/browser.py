"""Measure the item browser at full size in Chromium: time to its first view, time to filter, and MB loaded."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from bench import report
from bench.rounds import ROUNDS, Ratio

MAX_FIRST_VIEW_S, MAX_FILTER_S = 2.0, 0.3
MAX_MB = 1.0  # loaded before the first clip
CHROMIUM = "chromium"
BENCHMARK = "temporalbench"
# Milliseconds from a choice until two frames are drawn after the list has changed.
MEASURE_FILTER = """([name, value]) => new Promise((resolve) => {
    const start = performance.now();
    const before = document.body.dataset.shown;
    const control = document.forms.filters.elements[name];
    control.value = value;
    control.dispatchEvent(new Event("change", { bubbles: true }));
    const look = () => document.body.dataset.shown === before
        ? requestAnimationFrame(look)
        : requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
    look();
})"""
# The addresses of all scripts and styles that are loaded when the first item is drawn.
RECORD_LOADED_FILES = """document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver((_, observer) => {
        if (document.querySelector("#item .sides")) {
            observer.disconnect();
            const styles = document.querySelectorAll("link[rel=stylesheet]");
            window.loaded = [...document.scripts, ...styles].map(({ src, href }) => src || href);
        }
    }).observe(document.body, { subtree: true, childList: true });
});"""
CHOICES = (("show", "wrong"), ("task", "short"), ("show", "right"), ("task", ""), ("show", ""))
"""name of a filter, and the value to choose"""


def ratios(folder: Path) -> Iterator[Ratio]:
    """Measure the report that `bench.report` builds; times are medians over rounds."""
    root = folder / "report"
    if not root.exists():
        report.build(root)
    (page,) = root.rglob("items.html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(CHROMIUM), args=["--no-sandbox"])
        first_view_s = median(_measure_first_view(browser, page) for _ in range(ROUNDS))
        filter_s = _measure_filter(browser, page)
        loaded_mb = _measure_loaded_mb(browser, page)
        browser.close()
    yield Ratio("seconds to the first view of the item browser", first_view_s, MAX_FIRST_VIEW_S)
    yield Ratio("seconds to filter its items", filter_s, MAX_FILTER_S)
    yield Ratio("MB that it loads before the first clip", loaded_mb, MAX_MB)


def _measure_first_view(browser: Browser, page: Path) -> float:
    """Return the seconds from the start of loading until the list of items is drawn."""
    window = _open_window(browser, page)
    milliseconds: float = window.evaluate("performance.now()")
    window.close()
    return milliseconds / 1000


def _measure_filter(browser: Browser, page: Path) -> float:
    """Return the median seconds to apply a filter."""
    window = _open_window(browser, page)
    milliseconds = [window.evaluate(MEASURE_FILTER, list(choice)) for _ in range(ROUNDS) for choice in CHOICES]
    window.close()
    return median(milliseconds) / 1000


def _measure_loaded_mb(browser: Browser, page: Path) -> float:
    """Return the MB on disk of the files that are loaded when the first clip appears."""
    window = browser.new_page()
    window.add_init_script(RECORD_LOADED_FILES)
    window.goto(f"{page.as_uri()}#b={BENCHMARK}")
    addresses: list[str] = window.wait_for_function("window.loaded").json_value()
    window.close()
    return sum(Path(urlsplit(address).path).stat().st_size for address in {page.as_uri(), *addresses}) / 1e6


def _open_window(browser: Browser, page: Path) -> Page:
    """Open a new window, and wait until the list of items is drawn."""
    window = browser.new_page()
    window.goto(f"{page.as_uri()}#b={BENCHMARK}")
    window.wait_for_selector("body[data-shown] .tabulator-row")
    return window
