"""A page of the report in a browser, with what went wrong in it and where it asked for anything."""

from typing import Any

from playwright.sync_api import Page

LIST = "items.html#b=velociti&run=velociti/entail/fps1/one"
PATIENCE = 200


class Viewer:
    """A window on a report."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self._base = page, base
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        page.set_default_timeout(10_000)
        page.on("console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def _asked(self, address: str) -> None:
        if not address.startswith((self._base, "data:", "blob:")):
            self.elsewhere.append(address)

    def open(self, page: str = LIST) -> None:
        """Open a page of the report; the browser at a state, once it shows that."""
        self.page.goto(f"{self._base}report/{page}")
        if page.startswith("items.html"):
            self.until("Boolean(document.body.dataset.shown)")

    def choose(self, control: str, label: str) -> None:
        """Choose in a select, as a person does."""
        self.page.get_by_role("combobox", name=control, exact=True).select_option(label=label)

    def until(self, expression: str, argument: str = "") -> None:
        """Wait until an expression holds; asked from here, because the page lets no text become code."""
        for _ in range(PATIENCE):
            if self.page.evaluate(expression, argument):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never: {expression} {argument}")

    def found(self, text: str) -> None:
        """Wait until the count says this."""
        self.until("text => document.getElementById('found').textContent === text", text)

    def heading(self, text: str) -> None:
        """Wait until an item of this name is open."""
        self.until("text => document.getElementById('the-item')?.textContent === text", text)

    def state(self) -> str:
        """The address after #."""
        return str(self.page.evaluate("decodeURIComponent(location.hash)"))

    def text(self, selector: str) -> str:
        return " ".join(self.page.locator(selector).inner_text().split())

    def value(self, expression: str) -> Any:
        return self.page.evaluate(expression)
