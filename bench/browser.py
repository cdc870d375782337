"""The item browser at full size, in Chromium: seconds to its first view and to a filter's answer, and MB loaded."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from bench import report
from bench.rounds import ROUNDS, Ratio

MOST_FIRST, MOST_FILTER = 2.0, 0.3
MOST_MB = 1.0  # of what is loaded before the first clip
CHROMIUM = "chromium"
BENCHMARK = "temporalbench"
# Milliseconds from a choice to two frames drawn after the list is there.
FILTER = """([name, value]) => new Promise((resolve) => {
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
# The addresses of what is loaded when the first item is drawn.
LOADED = """document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver((_, observer) => {
        if (document.querySelector("#item .sides")) {
            observer.disconnect();
            const styles = document.querySelectorAll("link[rel=stylesheet]");
            window.loaded = [...document.scripts, ...styles].map(({ src, href }) => src || href);
        }
    }).observe(document.body, { subtree: true, childList: true });
});"""
CHOICES = (("show", "wrong"), ("task", "short"), ("show", "right"), ("task", ""), ("show", ""))


def ratios(folder: Path) -> Iterator[Ratio]:
    """Medians over rounds, of the report that `bench.report` builds."""
    root = folder / "report"
    if not root.exists():
        report.build(root)
    (page,) = root.rglob("items.html")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which(CHROMIUM), args=["--no-sandbox"])
        first = median(_first_view(browser, page) for _ in range(ROUNDS))
        filtered = _filters(browser, page)
        loaded = _loaded(browser, page)
        browser.close()
    yield Ratio("seconds to the first view of the item browser", first, MOST_FIRST)
    yield Ratio("seconds to filter its items", filtered, MOST_FILTER)
    yield Ratio("MB that it loads before the first clip", loaded, MOST_MB)


def _first_view(browser: Browser, page: Path) -> float:
    window = _opened(browser, page)
    found: float = window.evaluate("performance.now()")
    window.close()
    return found / 1000


def _filters(browser: Browser, page: Path) -> float:
    window = _opened(browser, page)
    found = [window.evaluate(FILTER, list(choice)) for _ in range(ROUNDS) for choice in CHOICES]
    window.close()
    return median(found) / 1000


def _loaded(browser: Browser, page: Path) -> float:
    """MB of the files that are loaded when the first clip is there, as they are on the disk."""
    window = browser.new_page()
    window.add_init_script(LOADED)
    window.goto(f"{page.as_uri()}#b={BENCHMARK}")
    addresses: list[str] = window.wait_for_function("window.loaded").json_value()
    window.close()
    return sum(Path(urlsplit(one).path).stat().st_size for one in {page.as_uri(), *addresses}) / 1e6


def _opened(browser: Browser, page: Path) -> Page:
    """A new window in which the list of items is drawn."""
    window = browser.new_page()
    window.goto(f"{page.as_uri()}#b={BENCHMARK}")
    window.wait_for_selector("body[data-shown] .tabulator-row")
    return window
