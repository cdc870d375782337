"""Example tables that several tests render."""

from dataclasses import replace

from reprise.tables.render.table import (
    Cell,
    ColumnGroup,
    State,
    Table,
    TableColumn,
    TableNumber,
    TableRow,
    TableSection,
    TextCell,
    mark_best,
)

HOSTILE = "<script>alert(1)</script> \\input{x} 100%_&#{}~^\\ | a\nb `c` $d$ --- 'e' \"f\" [g] *h* ∧ △ é 中 \x07"


def cell(*values: float | None, state: State = "reproduced") -> Cell:
    """Return a cell of plain numbers."""
    return Cell(tuple(TableNumber(value, state=state) for value in values))


def small_table(*rows: TableRow, columns: tuple[TableColumn, ...] = (TableColumn("Avg"),)) -> Table:
    """Return a table with one section and one group of columns."""
    return Table("T", "C", "tab:t", "Model", (ColumnGroup(columns),), (TableSection(rows),))


def full_table() -> Table:
    """Return a table like VELOCITI's tables 3 and 5: every state, best numbers, comparisons and notes."""
    unclear = "The paper prints 0+2.6."
    chance = TableRow(
        "Random", (TextCell("-"), cell(50), cell(None), cell(50), cell(50, 0), cell(25, 6.25)), is_reference=True
    )
    small = TableRow("QVL-7B", (TextCell("8"), cell(94.9), cell(98.5), cell(38.9), cell(88.0, 49.1), cell(83.0, 98.3)))
    middle = TableRow("OV-7B", (TextCell("16"), cell(90.1), cell(91.0), cell(30.5), cell(60.0, 67.8), cell(49.2, 80.0)))
    cell_with_note = Cell((TableNumber(78.04, published=78.4, notes=(unclear,)),))
    mixed_states = Cell(
        (TableNumber(84.2, is_significant=True, state="incomplete"), TableNumber(None, state="not run"))
    )
    cells = (TextCell("16"), cell(99.2), cell(98.5), cell_with_note, cell(88.3, -10.3), mixed_states)
    large = TableRow("OV-72B", cells, notes=("Quantised to 4 bits.", unclear))
    imported = TableRow("Gem_1.5F", (TextCell("1 fps"), *[cell(100.0 - index, state="imported") for index in range(5)]))
    published = TableRow("GPT-4o", (TextCell("16"), *[cell(83.9 - index, state="published") for index in range(5)]))
    not_run = TableRow("QVL-72B", (TextCell("8"), *[cell(None, state="not run") for _ in range(5)]))
    lost_numbers = TableRow("Lost", (TextCell("8"), Cell(), *[cell(None, None, state="lost") for _ in range(4)]))
    columns = [tuple(map(TableColumn, titles)) for titles in (["Frames"], ["A", "B"], ["A", "B (Bias)", "A ∧ B"])]
    table = Table(
        title="VELOCITI, Table 5",
        caption="Multi-choice evaluation: accuracy in % where A or B is right, A ∧ B, and B − A.",
        label="tab:velociti-table5",
        stub="Model",
        groups=tuple(map(ColumnGroup, columns, ("", "Control", "Benchmark average"))),
        sections=(
            TableSection((chance, small, middle, large)),
            TableSection((imported, published, not_run, lost_numbers), "Subset"),
        ),
        notes=("Missing clips: 3 of 900.",),
        warnings=('velociti/entail/fps1/ov looks broken: 98.0 % of 900 answers are "A".',),
        provenance=("suite demo", "key 0123456789abcdef", "code 1.0, polars 2.1"),
        notice="Toy numbers of the demo suite.",
        has_comparison=True,
        significance="above chance (exact binomial test, p < 0.05)",
    )
    for column in range(1, 6):
        table = mark_best(table, column)
    return table


def other_table() -> Table:
    """Return a table with subscripts, intervals, links, bold for significance, abbreviations and a left-aligned column."""
    best = TableNumber(30.5, is_significant=True, is_best=True, interval=(28.0, 33.25), link='items.html#b=v&q="x"')
    lowest = TableNumber(-0.04, 1, signed=True, published=2.0, is_significant=True)
    row = TableRow("M^3 [8f]", (Cell((best,)), Cell((lowest,)), TextCell("1fps, in words that are long")))
    columns = (TableColumn("s_t"), TableColumn("BLEU_1"), TableColumn("MBA of the four sets", "left"))
    abbreviations = {"MBA": "all right", "BA": "no", "OV": "OneVision", "V": "no", "f": "frames", "fps": "a second"}
    second_row = TableRow("M^3", (cell(1), cell(16.6667), TextCell("")))
    table = replace(small_table(row, second_row, columns=columns), origin="VELOCITI, Table 2", has_comparison=True)
    return replace(table, bold="significant", significance="above chance", abbreviations=abbreviations)


def hostile_table() -> Table:
    """Return a table with hostile text in every place for text."""
    row = TableRow(HOSTILE, (cell(1), TextCell(HOSTILE)), notes=(HOSTILE,))
    rows = (row, TableRow("[1ex]", (cell(2), TextCell("*"))), TableRow("*", (cell(3), TextCell("- 1."))))
    single_texts = {name: HOSTILE for name in ("title", "caption", "stub", "notice")}
    lists_of_texts = {"notes": (HOSTILE, "1. no list"), "warnings": (HOSTILE,), "provenance": (HOSTILE,)}
    table = small_table(*rows, columns=(TableColumn(HOSTILE), TableColumn("B")))
    return replace(table, sections=(TableSection(rows, HOSTILE),), **single_texts, **lists_of_texts)  # type: ignore[arg-type]


TEXTS = (
    "100%_&#{}$", "~^\\", r"\input{x}", "<b>|", "[1ex] *x*", "a--b---c", "2–4 — –-", "`a' ''b\"", "A ∧ B ± 1 → △",
    "Gödel, naïve, Šå, ç", "e\N{COMBINING ACUTE ACCENT}", "Straße, Łódź", "中🙂ế", "a\n\n b\tc\x07",
    "a\N{NO-BREAK SPACE}b", "a|b *a* _b_ `c` ~d~", "<script>&amp;", "[a](b) $x$ \\", "a\n# b", "# a", "- a", "1. a",
    "2) a", "===", "QVL-7B + 1.5",
)  # fmt: skip


def signs_table() -> Table:
    """Return a table whose notes have markup characters of the formats, also at the start of a line."""
    return replace(small_table(TableRow("m", (cell(1),))), notes=TEXTS, caption=" ".join(TEXTS))
