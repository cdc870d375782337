"""Join rendered tables, such as Table 3 of several papers, into one file of the same format."""

from collections.abc import Sequence

from reprise.tables.render import html, latex_escape, markdown


def collect_latex(title: str, fragments: Sequence[str]) -> str:
    """Fragments one after another, under a comment."""
    return "\n".join([latex_escape.comment(title) + "\n", *fragments])


def collect_markdown(title: str, documents: Sequence[str]) -> str:
    """Documents one after another, under one heading."""
    return "\n".join([f"## {markdown.escape(title)}\n", *documents])


def collect_html(title: str, pages: Sequence[str]) -> str:
    """One page with the content of several pages that this package rendered."""
    heading = f"<h1>{html.escape(title)}</h1>\n"
    return html.page(title, heading + "".join(map(content_of_page, pages)))


def content_of_page(page: str) -> str:
    """What stands within a rendered page's `main`; text is escaped, so its tags occur once."""
    _, start, rest = page.partition(html.MAIN_START)
    content, end, _ = rest.partition(html.MAIN_END)
    if not (start and end):
        raise ValueError("not a page of rendered tables")
    return content
