"""HTML: exact strings of the parts, a parsed whole, hostile texts."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from reprise.tables.render import Column, Number, Section, Table, TableRow, html, render
from reprise.tables.render.pieces import Indexed, Marks, Piece, Span

from tests.unit.tables.render.render_examples import HOSTILE, cell, full_table, one_cell, small_table

VOID = {"meta"}


class Outline(HTMLParser):
    """Checks that tags nest and collects attributes, texts and the widths of the table's rows."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.texts: list[str] = []
        self.widths: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.open += [] if tag in VOID else [tag]
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        self.addresses += [value for name, value in values.items() if name in {"src", "srcset", "action"}]
        if tag == "tr":
            self.widths.append(0)
        if tag in {"th", "td"}:
            self.widths[-1] += int(values.get("colspan", "1"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> out of order"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def outline(source: str) -> Outline:
    """The parsed page; everything in it must be closed."""
    parser = Outline()
    parser.feed(source)
    parser.close()
    assert not parser.open
    return parser


def hostile_table() -> Table:
    """Hostile texts wherever a text can stand."""
    row = TableRow(HOSTILE, (cell(1),), notes=(HOSTILE,))
    return replace(
        small_table(row, columns=(Column(HOSTILE, notes=(HOSTILE,)),)),
        sections=(Section((row,), HOSTILE),),
        title=HOSTILE,
        caption=HOSTILE,
        stub=HOSTILE,
        notes=(HOSTILE,),
        provenance=(HOSTILE,),
        notice=HOSTILE,
    )


@pytest.mark.parametrize(
    ("piece", "source"),
    [
        (Span("<4.1>"), "&lt;4.1&gt;"),
        (Span("4.1", bold=True), "<strong>4.1</strong>"),
        (Span("4.1", underlined=True), "<u>4.1</u>"),
        (Span("4.1", italic=True), "<em>4.1</em>"),
        (Span("(4.1)", small=True), "<small>(4.1)</small>"),
        (Indexed("s", "t"), "<i>s</i><sub>t</sub>"),
        (Indexed("M", "3", raised=True), "M<sup>3</sup>"),
        (Marks(("†", "a")), '<sup>†,<a href="#t-note-a">a</a></sup>'),
    ],
)
def test_pieces(piece: Piece, source: str) -> None:
    assert html.spell((piece,), "t") == source


def test_a_number_leads_to_what_is_behind_it_in_html_only() -> None:
    linked, plain = one_cell(Number(4.0, link='items.html#b=v&q="x"')), one_cell(Number(4.0))
    link = '<a href="items.html#b=v&amp;q=&quot;x&quot;">4.0</a>'
    assert html.render(linked).replace(link, "4.0") == html.render(plain) != html.render(linked)
    assert [render(linked, form) for form in ("tex", "md")] == [render(plain, form) for form in ("tex", "md")]


def test_marks_at_the_end_of_a_cell_take_no_width() -> None:
    line = (Span("4.1"), Marks(("†",)))
    assert html.spell(line, "t", hanging=True) == '4.1<sup class="hanging">†</sup>'
    assert html.spell((*line, Span(" / 2")), "t", hanging=True) == "4.1<sup>†</sup> / 2"


def test_escape_covers_attributes_and_control_characters() -> None:
    assert html.escape("<a href=\"x\" title='y'>&\x00") == "&lt;a href=&quot;x&quot; title=&#x27;y&#x27;&gt;&amp; "


def test_a_row() -> None:
    source = "\n".join(html.table_section(one_cell(Number(5, best=True), "A&B")).splitlines())
    assert '<tr><th scope="row">A&amp;B</th><td class="right"><strong>5.0</strong></td></tr>' in source
    assert '<tr><th scope="col" class="left">Model</th><th scope="col" class="right">Avg</th></tr>' in source


def test_rows_are_equally_wide_and_links_lead_somewhere() -> None:
    parsed = outline(html.render(full_table()))
    assert set(parsed.widths) == {7}
    assert parsed.links and {link.removeprefix("#") for link in parsed.links} <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))


def test_a_page_needs_neither_network_nor_script() -> None:
    source = html.render(full_table())
    parsed = outline(source)
    assert not {"script", "link", "iframe", "img"} & set(parsed.tags)
    assert not parsed.addresses
    assert "url(" not in source and "@import" not in source and "://" not in source


def test_hostile_texts_stay_texts() -> None:
    parsed = outline(html.render(hostile_table()))
    assert "script" not in parsed.tags
    assert sum("<script>alert(1)</script>" in text for text in parsed.texts) >= 8


def test_provenance_is_folded_and_absent_without_lines() -> None:
    assert "<details>" in html.render(full_table())
    assert "<details>" not in html.render(one_cell(Number(1)))
