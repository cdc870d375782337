"""The leaderboard of 40 models in Chromium: sorting and pinning by mouse and keyboard, layout and accessibility."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.report.many_models import build_many_models
from tests.report.viewer import Viewer

FIRST_PAGE_BYTES = 1_000_000  # limit of the first page with everything that it loads
MODEL_CELLS = "[...document.querySelectorAll('.leaderboard tbody th[scope=row]')].map((cell) => cell.innerText)"


@pytest.fixture(scope="session")
def many_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    build_many_models(folder)
    return folder


@pytest.fixture(params=[1440, 390])
def board(browser: Browser, many_models: Path, request: pytest.FixtureRequest) -> Iterator[Viewer]:
    """Open the leaderboard from disk."""
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    viewer = Viewer(page, f"{many_models.as_uri()}/")
    viewer.open("leaderboard.html#velociti")
    yield viewer
    page.close()
    assert viewer.errors == [] and viewer.external_requests == []


def list_models(viewer: Viewer) -> list[str]:
    return [str(label) for label in viewer.value(MODEL_CELLS)]


def list_values(viewer: Viewer) -> list[float]:
    """Return the numbers below the pinned model."""
    cells = "[...document.querySelectorAll('.leaderboard tbody.ranked td')]"
    return [float(value) for value in viewer.value(f"{cells}.map((cell) => cell.dataset.value)")]


def test_numbers_are_sorted_and_the_model_of_the_overview_is_pinned(board: Viewer) -> None:
    assert len(list_models(board)) == 41 and list_models(board)[0] == "Model 07"
    assert list_values(board) == sorted(list_values(board), reverse=True)
    board.page.get_by_role("button", name="VELOCITI").click()
    assert list_values(board) == sorted(list_values(board)) and list_models(board)[0] == "Model 07"
    expect(board.page.get_by_role("columnheader", name="VELOCITI")).to_have_attribute("aria-sort", "ascending")
    board.page.get_by_role("button", name="Model", exact=True).click()
    assert list_models(board)[1:] == sorted(list_models(board)[1:])
    assert board.value("document.documentElement.scrollWidth <= innerWidth"), "only the table scrolls"


def test_pins_are_set_by_keyboard_and_remembered(board: Viewer) -> None:
    board.page.get_by_role("button", name="Pin Model 39").focus()
    board.page.keyboard.press("Enter")
    assert list_models(board)[:2] == ["Model 07", "Model 39"]
    assert board.value("document.activeElement.getAttribute('aria-label')") == "Pin Model 39", "focus stays"
    board.page.get_by_role("button", name="Pin Model 07").press("Space")
    board.page.reload()
    assert list_models(board)[0] == "Model 39" and list_models(board)[1] != "Model 07"
    pressed = board.page.locator("button.pin[aria-pressed=true]")
    expect(pressed).to_have_count(1)


def test_a_pinned_model_shows_its_rank(board: Viewer) -> None:
    values = list_values(board)
    pinned = board.page.locator(".pinned tr[data-key=model-07]")
    value = float(pinned.locator("td").get_attribute("data-value") or "nan")
    guesses = float(board.page.locator("tr[data-key=guesses] td").get_attribute("data-value") or "nan")
    assert guesses < value, "a baseline has no rank"
    expect(pinned.locator(".rank")).to_have_text(f"rank {1 + sum(other > value for other in values)} of 40")
    expect(board.page.locator(".rank:visible")).to_have_count(1)


def test_models_without_a_number_come_last_under_a_title(board: Viewer) -> None:
    expect(board.page.get_by_text("Without a number on VELOCITI")).to_be_hidden()
    board.page.evaluate("document.querySelector('tr[data-key=model-03] td').removeAttribute('data-value')")
    board.page.get_by_role("button", name="VELOCITI").click()
    assert list_models(board)[-1] == "Model 03" and list_models(board)[0] == "Model 07"
    expect(board.page.get_by_text("Without a number on VELOCITI")).to_be_visible()
    expect(board.page.get_by_text("By VELOCITI, worst first")).to_be_visible()
    board.page.get_by_role("button", name="Model", exact=True).click()
    assert list_models(board)[1:] == sorted(list_models(board)[1:])


def test_a_damaged_link_sorts_by_the_first_benchmark(board: Viewer) -> None:
    board.open("leaderboard.html#%E0%A4%A")
    expect(board.page.get_by_text("By VELOCITI, best first")).to_be_visible()
    assert board.errors == []


def test_the_header_stays_in_view(board: Viewer) -> None:
    region = board.page.get_by_role("region", name="Leaderboard")
    region.evaluate("region => { region.scrollTo(0, 800); window.scrollTo(0, 800); }")
    header, box = board.page.locator("thead th").last.bounding_box(), region.bounding_box()
    assert header is not None and box is not None and board.page.viewport_size is not None
    if board.page.viewport_size["width"] >= 1280:
        assert header["y"] == pytest.approx(0, abs=2), "the page scrolls, not a region in it"
    else:
        assert header["y"] == pytest.approx(box["y"], abs=2)
        assert box["height"] < 900, "the region fits the window"


def test_the_header_never_covers_the_focus(board: Viewer) -> None:
    board.page.locator("tbody a").last.focus()
    header = board.page.locator("thead th").last
    for _ in range(60):
        board.page.keyboard.press("Shift+Tab")
        focus, box = board.page.locator(":focus").bounding_box(), header.bounding_box()
        assert focus is not None and box is not None and focus["y"] >= box["y"] + box["height"] - 1


def test_results_that_cannot_be_told_from_the_best_are_shaded(board: Viewer) -> None:
    best = board.page.locator(".leaderboard td.best")
    expect(best).to_have_count(1)
    expect(best).to_contain_text("best")
    tied = board.page.locator(".leaderboard td.tied:not(.best)")
    assert tied.count() >= 1 and all("tied" in text for text in tied.all_inner_texts())
    assert "not above" in board.page.locator("tr[data-key=guesses]").inner_text()


def test_the_first_page_is_small_and_names_the_best_model(browser: Browser, many_models: Path) -> None:
    page = browser.new_page()
    paths: list[Path] = []
    page.on("request", lambda request: paths.append(Path(request.url.removeprefix("file://"))))
    page.goto((many_models / "report/index.html").as_uri())
    assert sum(path.stat().st_size for path in paths) < FIRST_PAGE_BYTES
    best = page.locator("dl.best").inner_text()
    assert "Best measured" in best and "significant lead" in best and "p =" in best.replace("\N{NO-BREAK SPACE}", " ")
    expect(page.get_by_role("link", name="All 41 in the leaderboard")).to_be_visible()
    page.close()


@pytest.mark.parametrize(("colours", "fill"), [("light", "rgb(0, 0, 0)"), ("dark", "rgb(255, 255, 255)")])
def test_a_model_has_its_colour_and_marker_of_figures(
    browser: Browser, many_models: Path, colours: Literal["light", "dark"], fill: str
) -> None:
    page = browser.new_page(color_scheme=colours)
    for name, row in (("leaderboard", "tr[data-key=model-07]"), ("index", ".entries li:has-text('Model 07')")):
        page.goto((many_models / f"report/{name}.html").as_uri())
        mark = page.locator(f"{row} .dot")
        expect(mark).to_have_css("fill", fill)
        expect(mark).to_have_css("clip-path", re.compile("polygon"))
    expect(page.get_by_text("All 41 in the leaderboard; Model 07: rank 9 of 40")).to_be_visible()
    page.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_leaderboard_is_accessible(browser: Browser, many_models: Path, colours: str) -> None:
    for width in (1440, 390):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
        viewer = Viewer(page, f"{many_models.as_uri()}/")
        for name in ("leaderboard.html", "index.html", "models/model-00.html"):
            viewer.open(name)
            assert viewer.find_violations() == [], name
        page.close()
