"""No page breaks a rule of WCAG, level A or AA, that can be checked without a person."""

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser

from tests.report.test_browser import BAD_ITEM, DISAGREE, PAGES
from tests.report.viewer import Viewer

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
RULES = "{runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}}"


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_breaks_a_rule(browser: Browser, folder: Path, width: int, colours: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=colours)
    viewer = Viewer(page, f"{folder.as_uri()}/")
    found = []
    for name in (*PAGES, "items.html", DISAGREE, BAD_ITEM):
        viewer.open(name)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        broken = page.evaluate(f"axe.run(document, {RULES})")["violations"]
        found += [(name, rule["id"], rule["nodes"][0]["html"]) for rule in broken]
    page.close()
    assert found == []
