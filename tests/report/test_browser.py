"""The item browser in Chromium, and automatic checks of all pages against WCAG, levels A and AA."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.report.conftest import HOSTILE
from tests.report.viewer import LIST, Viewer
from tests.unit.report.world import OTHER_RUN, RUN

DISAGREE = f"items.html#b=velociti&run={RUN}&other={OTHER_RUN}&show=disagree"
ITEM = f"items.html#b=velociti&run={RUN}&item=a"
BAD_ITEM = f"items.html#b=velociti&run={RUN}&item=%3Cb%3Ed%3C/b%3E"


def test_items_are_filtered_and_opened_and_their_clips_play(any_viewer: Viewer) -> None:
    any_viewer.open()
    any_viewer.count("2 of 4 items")
    any_viewer.heading("<b>d</b>")
    any_viewer.show_list()
    any_viewer.choose("Test", "AgBind")
    any_viewer.count("1 of 4 items")
    any_viewer.page.locator(".tabulator-row").first.click()
    any_viewer.heading("a")
    assert any_viewer.value("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the window"
    any_viewer.until("document.querySelector('video').readyState >= 2")
    any_viewer.value("document.querySelector('video').play()")
    any_viewer.until("document.querySelector('video').currentTime > 0.2")
    any_viewer.page.get_by_role("button", name="Frame 2 of 2, 1.50 s").click()
    any_viewer.until("document.querySelector('video').currentTime === 1.5")
    assert any_viewer.page.locator(".timeline i").count() == 2


def test_an_item_shows_all_answers_and_their_extraction(viewer: Viewer) -> None:
    viewer.open(ITEM)
    viewer.heading("a")
    assert viewer.page.locator(".texts mark").all_inner_texts() == ["runs", "sleeps"]
    first = viewer.page.locator("details.run").first
    assert "✓ right" in first.inner_text() and "p(Yes)" in first.inner_text() and "0.9" in first.inner_text()
    viewer.page.get_by_role("heading", name="Answers of other runs").scroll_into_view_if_needed()
    expect(viewer.page.locator("details.run")).to_have_count(2)
    expect(viewer.page.get_by_text("Does it fit?").first).to_be_visible()
    expect(viewer.page.get_by_text("Does it fit?").last).to_be_hidden()
    viewer.page.get_by_text("entail: neg (score)").click()
    expect(viewer.page.get_by_text("Does it fit?").last).to_be_visible()


def test_the_browser_opens_on_a_highlight_and_plays_its_frames(any_viewer: Viewer) -> None:
    any_viewer.open("items.html")
    any_viewer.until("document.getElementById('the-item')?.textContent === 'a'")
    assert f"run={RUN}&other={OTHER_RUN}" in any_viewer.state() and "show=better" in any_viewer.state()
    any_viewer.page.get_by_role("button", name="Play these frames").click()
    expect(any_viewer.page.locator("canvas.screen")).to_be_visible()
    expect(any_viewer.page.get_by_role("button", name="Play these frames")).to_have_attribute("aria-pressed", "false")
    assert any_viewer.value("document.querySelector('canvas.screen').width") == 240, "180 high, as the clip is 4 to 3"


def test_two_models_are_compared_where_they_differ(viewer: Viewer) -> None:
    viewer.open(DISAGREE)
    viewer.count("2 of 4 items")
    assert "of 2 items that count for both" in viewer.text("#comparison")
    sentence = viewer.text("#comparison .leading")
    assert sentence.startswith("A minus B: strict, average of 7: 0.0 points, 95 % interval [")
    assert sentence.endswith("p = 1.0000; samples: 2; sign flips over videos: 2.")
    viewer.page.get_by_role("link", name="B better: 1").click()
    viewer.count("1 of 4 items")
    assert "show=worse" in viewer.state()
    viewer.page.go_back()
    viewer.count("2 of 4 items")


RUN_PAGE = "runs/velociti.entail.fps1.one.html"
PAGES = [
    "index.html",
    "leaderboard.html",
    "tables/velociti.html",
    "figures/velociti.html",
    "models/one.html",
    RUN_PAGE,
    "missing.html",
]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_the_window(any_viewer: Viewer, page: str) -> None:
    any_viewer.open(page)
    assert any_viewer.value("document.documentElement.scrollWidth <= innerWidth")


def test_items_are_filtered_by_state_and_by_extractors_that_differ(viewer: Viewer) -> None:
    viewer.open(f"items.html#b=velociti&run={RUN}")
    for show, count in (("failed", 1), ("unparsed", 0), ("clip missing", 2), ("extractors disagree", 1), ("wrong", 1)):
        viewer.choose("Show", show)
        viewer.count(f"{count} of 4 items")


def test_a_cell_shows_the_provenance_of_its_number(any_viewer: Viewer) -> None:
    any_viewer.open("tables/velociti.html")
    any_viewer.page.locator("a[href*='metric=strict']").first.click()
    any_viewer.heading("a")
    any_viewer.show_list()
    any_viewer.count("1 of 4 items")
    expect(any_viewer.page.locator("#provenance details")).not_to_have_attribute("open", "")
    any_viewer.page.get_by_text("Where the numbers of").click()
    provenance = any_viewer.page.get_by_role("region", name="Where the numbers come from").last
    expect(
        provenance.get_by_text("strict, agent_bind: 100; by the authors’ convention no number; 1 requested")
    ).to_be_visible()
    expect(provenance.get_by_text("velociti/table2, row “One”, column “AgBind”")).to_be_visible()
    expect(provenance.get_by_text("results/small/annotations/velociti/items.parquet")).to_have_count(1)
    assert any_viewer.value("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the window"
    any_viewer.page.get_by_role("link", name="All numbers of this run").click()
    expect(any_viewer.page.get_by_role("heading", name="Provenance")).to_be_visible()


def test_a_link_holds_the_whole_state_and_the_back_button_works(viewer: Viewer) -> None:
    viewer.open(f"items.html#b=velociti&run={OTHER_RUN}&show=wrong&item=a")
    viewer.heading("a")
    viewer.count("1 of 4 items")
    viewer.choose("Show", "right")
    viewer.count("1 of 4 items")
    viewer.page.go_back()
    viewer.until("document.forms.filters.elements.show.value === 'wrong'")
    viewer.open("items.html#b=none&run=gone&item=x&group=y&task=%ZZ")
    for name in ("benchmark “none”", "run “gone”", "item “x”", "“y”", "“%ZZ”"):
        viewer.until("name => document.getElementById('error').textContent.includes(name)", name)


def test_the_keyboard_is_enough(viewer: Viewer) -> None:
    viewer.open(f"{LIST}&show=all")
    viewer.heading("<b>d</b>")
    press = viewer.page.keyboard.press
    press("j")
    viewer.heading("a")
    press("ArrowRight")
    viewer.heading("b")
    press("k")
    viewer.heading("a")
    press("l")
    press("ArrowDown")
    viewer.heading("b")
    press("ArrowUp")
    viewer.heading("a")
    press("Enter")
    assert viewer.value("document.activeElement.id") == "the-item"
    viewer.until("document.querySelector('video').readyState >= 2")
    press("Space")
    viewer.until("document.querySelector('video').currentTime > 0")
    viewer.page.get_by_role("button", name="Frame 1 of 2, 0.50 s").focus()
    press("ArrowRight")
    press("Enter")
    viewer.until("document.querySelector('video').currentTime === 1.5")
    press("?")
    expect(viewer.page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    press("/")
    viewer.page.keyboard.type("SLEEPS man")
    viewer.count("1 of 4 items")
    assert "q=SLEEPS man" in viewer.state()
    viewer.page.get_by_role("button", name="Clear").click()
    viewer.count("2 of 4 items")


def test_hostile_texts_are_shown_and_run_nothing(viewer: Viewer) -> None:
    viewer.open(BAD_ITEM)
    viewer.heading("<b>d</b>")
    assert "<script>window.ran=1</script> [U+202E]evil[U+202C] [U+0000] שלום" in viewer.text(".texts dd >> nth=0")
    assert HOSTILE[:20] in viewer.text("details.run >> nth=0")
    assert "Failed: Timeout." in viewer.text("details.run >> nth=0")
    assert viewer.value("window.ran") is None
    added = "#item b:not(.timeline b, .thumbnails b), #item img, #item script, #grid img"
    assert viewer.value(f"document.querySelectorAll('{added}').length") == 0
    assert "characters)" in viewer.text(".texts dd >> nth=1")


def test_missing_and_broken_clips_are_explained(phone: Viewer) -> None:
    phone.open(f"items.html#b=velociti&run={RUN}&item=b")
    phone.heading("b")
    assert phone.text(".absent") == "The clip is missing: gone <b>No such video</b>"
    phone.open(BAD_ITEM)
    phone.heading("<b>d</b>")
    expect(phone.page.locator(".absent")).to_contain_text("The clip cannot be played.")
    reason = "The clip cannot be played: only the times of the frames are known."
    expect(phone.page.locator(".frames [role=note]")).to_have_text(reason)
    expect(phone.page.locator(".thumbnails canvas")).to_have_count(0)
    expect(phone.page.get_by_role("button", name="Frame 1 of 2, 0.00 s")).to_be_disabled()
    assert phone.value("document.documentElement.scrollWidth <= innerWidth")


def test_a_phone_shows_the_list_or_the_item(phone: Viewer) -> None:
    phone.open()
    phone.heading("<b>d</b>")
    expect(phone.page.locator("#list")).to_be_hidden()
    phone.page.get_by_role("button", name="Next →").click()
    phone.heading("a")
    phone.page.get_by_role("button", name="List").click()
    phone.page.locator(".tabulator-row").first.click()
    phone.heading("<b>d</b>")
    phone.page.get_by_role("button", name="List").click()
    expect(phone.page.locator("#list")).to_be_visible()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_accessible(browser: Browser, folder: Path, width: int, colours: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=colours)
    viewer = Viewer(page, f"{folder.as_uri()}/")
    violations = []
    for name in (*PAGES, "items.html", DISAGREE, BAD_ITEM):
        viewer.open(name)
        violations += [(name, *violation) for violation in viewer.find_violations()]
    page.close()
    assert violations == []
