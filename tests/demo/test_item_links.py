"""Test that each number on the demo's first page opens the items that it counts. Run it after `make demo`, as CI does."""

import re
import shutil
from pathlib import Path
from urllib.parse import parse_qs

import polars as pl
from playwright.sync_api import sync_playwright

from tests.report.viewer import Viewer

ROOT = Path(__file__).parents[2]


def read_requested(run: str, metric: str, group: str) -> set[int]:
    """Return how many samples a number of a run counts; without a metric, those of all metrics of the group."""
    numbers = pl.read_parquet(ROOT / f"results/demo/metrics/{run}.parquet").filter(convention="fixed", group=group)
    return set(numbers.filter(metric=metric)["requested"] if metric else numbers["requested"])


def count_samples(viewer: Viewer) -> int:
    """Return the number of listed pairs or videos, or else of items."""
    samples = re.search(r"of ([\d,]+) (?:pair|video)s?$", viewer.text("#outcome-count"))
    text = samples[1] if samples else viewer.text("#item-count").partition(" of ")[0]
    return int(text.replace(",", ""))


def test_each_number_of_the_first_page_opens_its_items() -> None:
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        viewer = Viewer(browser.new_page(viewport={"width": 1280, "height": 800}), f"{(ROOT / 'results').as_uri()}/")
        viewer.open("index.html")
        links = viewer.value(
            "[...document.querySelectorAll('a[href*=\"items.html#\"]')].map(a => a.getAttribute('href'))"
        )
        states = {
            link: {name: values[0] for name, values in parse_qs(link.partition("#")[2]).items()} for link in links
        }
        numbers = {link: state for link, state in states.items() if "run" in state and "show" not in state}
        assert len(numbers) > 20
        differences = []
        for link, state in numbers.items():
            viewer.page.goto("about:blank")
            viewer.open(link)
            viewer.until("location.hash.includes('item=') && Boolean(document.querySelector('.saw'))")
            metric, _, group = state.get("provenance", "").partition("/")
            requested = read_requested(
                state["run"], metric or state.get("metric", ""), group or state.get("group", "all")
            )
            if count_samples(viewer) not in requested:
                differences.append((link, count_samples(viewer), requested))
            wrong = re.match(r"([\d,]+) wrong", viewer.text("#outcome-count"))
            if wrong and wrong[1] != "0" and "wrong" not in viewer.text(".saw .why >> nth=0"):
                differences.append((link, "the first item is right", wrong[0]))
        browser.close()
    assert differences == [], "each number opens the items that it counts, a wrong one first"
