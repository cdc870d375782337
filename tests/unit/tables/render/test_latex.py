"""LaTeX: exact strings of the parts, hostile texts, a checked whole."""

from dataclasses import replace

import pytest
from reprise.tables.render import Cell, Column, Number, Section, TableRow, latex
from reprise.tables.render.latex_escape import KNOWN, comment, escape
from reprise.tables.render.latex_fit import DENSE, READABLE, Print
from reprise.tables.render.layout import Spanning, lay_out
from reprise.tables.render.pieces import Marks, Span

from tests.unit.tables.render.latex_checker import check_fragment
from tests.unit.tables.render.render_examples import HOSTILE, cell, full_table, one_cell, small_table


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("100%_&#{}$", r"100\%\_\&\#\{\}\$"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("<b>|", r"\textless{}b\textgreater{}\textbar{}"),
        ("[1ex] *x*", "{[}1ex{]} {*}x{*}"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("2–4 — –-", "2--4 --- --{}-"),
        ("`a' ''b\"", "{`}a{'} {'}{'}b''"),
        ("A ∧ B ± 1 → △", r"A $\wedge$ B $\pm$ 1 $\rightarrow$ $\triangle$"),
        ("−0.4", "$-$0.4"),
        ("Gödel, naïve, Šå, ç", r"G\"{o}del, na\"{i}ve, \v{S}\r{a}, \c{c}"),
        ("e\N{COMBINING ACUTE ACCENT}", r"\'{e}"),
        ("Straße, Łódź", r"Stra\ss{}e, \L{}\'{o}d\'{z}"),
        ("中🙂", "{[}U+4E2D{]}{[}U+1F642{]}"),
        ("ế", "{[}U+1EBF{]}"),
        ("a\n\n b\tc\x07", "a b c "),
        ("a\N{NO-BREAK SPACE}b", "a~b"),
    ],
)
def test_escape(text: str, source: str) -> None:
    assert escape(text) == source


def test_every_sign_gives_sound_ascii() -> None:
    for code in [*range(0x20, 0x250), *map(ord, KNOWN), 0x3A9, 0x2713, 0x1F600, 0xFFFD, 0x202E]:
        check_fragment(escape(chr(code)))


def test_a_comment_is_one_line_of_ascii() -> None:
    assert comment("a\n\\input{x} é") == r"% a \input{x} [U+00E9]"
    assert comment("") == "%"


@pytest.mark.parametrize(
    ("span", "source"),
    [
        (Span("4.1"), "4.1"),
        (Span("4.1", bold=True), r"\textbf{4.1}"),
        (Span("4.1", underlined=True), r"\underline{4.1}"),
        (Span("4.1", italic=True), r"\textit{4.1}"),
        (Span("4.1", bold=True, underlined=True), r"\textbf{\underline{4.1}}"),
        (Span("(4.1, −0.1)", small=True), r"{\scriptsize (4.1, $-$0.1)}"),
    ],
)
def test_spans(span: Span, source: str) -> None:
    assert latex.spell((span,)) == source


def test_marks_at_the_end_of_a_cell_take_no_width() -> None:
    line = (Span("4.1"), Marks(("†", "a")))
    assert latex.spell(line) == r"4.1\textsuperscript{$\dagger$,a}"
    assert latex.spell(line, hanging=True) == r"4.1\rlap{\textsuperscript{$\dagger$,a}}"
    assert latex.spell((*line, Span(" / 2")), hanging=True) == r"4.1\textsuperscript{$\dagger$,a} / 2"
    assert latex.spell((), hanging=True) == ""


def test_spanning_headers_and_their_rules() -> None:
    heads = [Spanning((Span("P&Q"),), 1, 2), Spanning((Span("R"),), 4, 1)]
    assert latex.spanning_lines(heads, 6) == [
        r"&  & \multicolumn{2}{c}{P\&Q} &  & \multicolumn{1}{c}{R} & \\",
        r"\cmidrule(lr){3-4} \cmidrule(lr){6-6}",
    ]
    assert latex.spanning_lines([], 6) == []


def test_rows_line_up_in_the_source() -> None:
    assert latex.row_source(["a", "1.0"], [3, 5]) == r"a   &   1.0 \\"


def test_column_format_leaves_room_for_marks_that_hang() -> None:
    columns = (Column("a", "left"), Column("b", "center"), Column("c"))
    noted = Cell((Number(1, notes=("x",)),))
    marked = small_table(TableRow("m", (cell(1), noted, noted)), columns=columns)
    assert latex.column_format(columns, lay_out(marked), Print(DENSE[-1])) == r"llc@{\hspace{5pt}}r@{\hspace{5pt}}"
    assert latex.column_format(columns, lay_out(marked), Print(READABLE[0])) == "llcr"


def test_what_a_number_is_compared_with_stands_below_it_where_there_is_no_room_beside() -> None:
    compared = Cell((Number(50, published=40),))
    table = small_table(TableRow("m", tuple([compared] * 8)), columns=tuple([Column("A")] * 8))
    lines = [line for line in latex.render(replace(table, comparison=True)).splitlines() if "&" in line]
    assert [line.split("&")[0].strip() for line in lines[1:]] == [
        "m", r"\hspace{6pt}{\scriptsize published}", r"\hspace{6pt}{\scriptsize difference}",
    ]  # fmt: skip
    assert [line.split("&")[1].strip() for line in lines[1:]] == ["50.0", r"{\scriptsize 40.0}", r"{\scriptsize +10.0}"]


def test_a_table_taller_than_a_page_is_a_long_table_with_headers_on_each_page() -> None:
    rows = [TableRow(f"m{index}", (cell(index),)) for index in range(80)]
    source = latex.render(replace(small_table(*rows), comparison=True))
    check_fragment(source)
    assert r"\begin{table}" not in source
    assert source.count(r"\caption{") == source.count(r"\label{") == 1
    assert source.count("Model & Avg") == 2


def test_a_header_with_an_index_is_math() -> None:
    table = small_table(TableRow("M^3", (cell(1), cell(2))), columns=(Column("s_t"), Column("BLEU_1")))
    source = latex.render(table)
    assert r"Model & $s_t$ & $\mathrm{BLEU}_1$ \\" in source
    assert r"$\mathrm{M}^3$ & " in source


def test_a_notice_stands_first_in_the_caption() -> None:
    assert latex.caption(replace(one_cell(Number(1)), notice="Toy.")) == r"\caption{\textbf{Toy.} T. C}"


def test_a_caption_says_which_table_of_which_paper_it_is() -> None:
    assert (
        latex.caption(replace(one_cell(Number(1)), origin="VELOCITI, Table 2")) == r"\caption{T (VELOCITI, Table 2). C}"
    )


def test_a_small_table_is_a_plain_float() -> None:
    assert latex.render(one_cell(Number(None), "A_1")) == "\n".join(
        [
            "% T",
            r"\begin{table}[tbp]",
            r"\centering",
            r"\caption{T. C}",
            r"\label{tab:t}",
            r"\vspace{4pt}",
            r"\small",
            r"\setlength{\tabcolsep}{5pt}",
            r"\begin{tabular}{lr}",
            r"\toprule",
            r"Model & Avg \\",
            r"\midrule",
            r"A\_1 & -- \\",
            r"\bottomrule",
            r"\end{tabular}",
            r"\par\smallskip",
            r"{\footnotesize\raggedright",
            r"--: no value.\par",
            "}",
            r"\end{table}",
            "",
        ]
    )


def test_whole_tables_are_sound() -> None:
    check_fragment(latex.render(full_table()))
    check_fragment(latex.render(replace(full_table(), sections=())))
    check_fragment(latex.render(replace(full_table(), bold="significant", comparison=False)))


def test_hostile_texts_do_no_harm_anywhere() -> None:
    row = TableRow(HOSTILE, (cell(1),), notes=(HOSTILE,))
    table = replace(
        small_table(row, columns=(Column(HOSTILE, notes=(HOSTILE,)),)),
        sections=(Section((row, TableRow("[1ex]", (cell(2),)), TableRow("*", (cell(3),))), HOSTILE),),
        title=HOSTILE,
        caption=HOSTILE,
        stub=HOSTILE,
        notes=(HOSTILE,),
        provenance=(HOSTILE,),
        notice=HOSTILE,
    )
    source = latex.render(table)
    check_fragment(source)
    assert all(line.startswith("%") for line in source.splitlines() if "\\input" in line)
