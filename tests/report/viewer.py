"""A page of the report in a browser, with its errors and its external requests."""

from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page

LIST = "items.html#b=velociti&run=velociti/entail/fps1/one"
MAX_POLLS = 200
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
RULES = "{runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}}"


class Viewer:
    """A browser window on a report."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self._base = page, base
        self.errors: list[str] = []
        self.external_requests: list[str] = []
        page.set_default_timeout(10_000)
        page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._on_request(request.url))

    def _on_request(self, address: str) -> None:
        if not address.startswith((self._base, "data:", "blob:")):
            self.external_requests.append(address)

    def open(self, page: str = LIST) -> None:
        """Open a page of the report; wait until the item browser shows its state."""
        self.page.goto(f"{self._base}report/{page}")
        if page.startswith("items.html"):
            self.until("Boolean(document.body.dataset.shown)")

    def find_violations(self) -> list[tuple[str, str]]:
        """Return the violations of WCAG, levels A and AA: the rule and the first element that breaks it."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        violations = self.page.evaluate(f"axe.run(document, {RULES})")["violations"]
        return [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]

    def show_list(self) -> None:
        """Show the list; a narrow window shows either the list or an item."""
        back = self.page.get_by_role("button", name="List")
        if back.is_visible():
            back.click()

    def choose(self, control: str, label: str) -> None:
        """Choose an option of a select."""
        self.page.get_by_role("combobox", name=control, exact=True).select_option(label=label)

    def until(self, expression: str, argument: str = "") -> None:
        """Poll until an expression is true; the page's security policy forbids Playwright's own waiting."""
        for _ in range(MAX_POLLS):
            if self.page.evaluate(expression, argument):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never: {expression} {argument}")

    def count(self, text: str) -> None:
        """Wait until the count of items has this text."""
        self.until("text => document.getElementById('item-count').textContent === text", text)

    def heading(self, text: str) -> None:
        """Wait until the item with this name is open."""
        self.until("text => document.getElementById('the-item')?.textContent === text", text)

    def state(self) -> str:
        """Return the address after #."""
        return str(self.page.evaluate("decodeURIComponent(location.hash)"))

    def text(self, selector: str) -> str:
        return " ".join(self.page.locator(selector).inner_text().split())

    def value(self, expression: str) -> Any:
        return self.page.evaluate(expression)
