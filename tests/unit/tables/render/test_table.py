"""The table object: what it refuses, how numbers print, which are best, how footnotes get letters."""

from dataclasses import replace

import pytest
from reprise.tables.render import Cell, Column, ColumnGroup, Number, Section, Table, TableRow, Text, mark_best
from reprise.tables.render.layout import footnote_letters, lay_out, letter_name
from reprise.tables.render.numbers import format_comparison, format_number
from reprise.tables.render.pieces import Marks, Span, plain_text

from tests.unit.tables.render.render_examples import bias, cell, full_table, one_cell, small_table


class TestTable:
    def test_a_row_needs_a_cell_for_each_column(self) -> None:
        with pytest.raises(ValueError, match="table 'tab:t', row 'OV-7B': 2 cells for 1 columns"):
            small_table(TableRow("OV-7B", (cell(1), cell(2))))

    def test_a_table_needs_columns(self) -> None:
        with pytest.raises(ValueError, match="no columns"):
            small_table(columns=())

    @pytest.mark.parametrize("label", ["", "a b", "tab}", "ü", ":x"])
    def test_a_label_is_a_plain_name(self, label: str) -> None:
        with pytest.raises(ValueError, match="only letters, digits"):
            Table("T", "C", label, "Model", (ColumnGroup((Column("A"),)),), ())

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_a_number_is_finite_or_none(self, value: float) -> None:
        with pytest.raises(ValueError, match="finite or None"):
            Number(value)
        with pytest.raises(ValueError, match="finite or None"):
            Number(1.0, published=value)


class TestNumbers:
    @pytest.mark.parametrize(
        ("number", "printed"),
        [
            (Number(43.14), "43.1"),
            (Number(43.16), "43.2"),
            (Number(100), "100.0"),
            (Number(16.6667, decimals=2), "16.67"),
            (Number(1.55, decimals=0), "2"),
            (Number(0.0), "0.0"),
            (Number(None), "–"),
            (Number(None, signed=True), "–"),
            (Number(-10.3), "−10.3"),
            (Number(-0.04), "0.0"),
            (Number(3.6, signed=True), "+3.6"),
            (Number(-3.6, signed=True), "−3.6"),
            (Number(0.0, signed=True), "+0.0"),
            (Number(-0.04, signed=True), "+0.0"),
        ],
    )
    def test_print(self, number: Number, printed: str) -> None:
        assert format_number(number) == printed

    @pytest.mark.parametrize(
        ("number", "printed"),
        [
            (Number(78.04, published=78.4), "(78.4, −0.4)"),
            (Number(78.0, published=77.0), "(77.0, +1.0)"),
            (Number(78.0, published=78.0), "(78.0, +0.0)"),
            (Number(1.04, published=0.96), "(1.0, +0.0)"),  # as the printed values differ
            (Number(-3.6, signed=True, published=2.0), "(+2.0, −5.6)"),
            (Number(78.0), ""),
            (Number(None, published=78.0), ""),
            (Number(78.0, published=78.0, state="published"), ""),
        ],
    )
    def test_comparison(self, number: Number, printed: str) -> None:
        assert format_comparison(number) == printed


def marked(table: Table, column: int = 0, part: int = 0) -> list[str]:
    """`best`, `second` or nothing for each row."""
    numbers = [row.cells[column].numbers[part] for row in table.rows()]  # type: ignore[union-attr]
    return ["best" if number.best else "second" if number.second else "" for number in numbers]


class TestBest:
    def test_highest_and_next(self) -> None:
        table = small_table(TableRow("a", (cell(1),)), TableRow("b", (cell(3),)), TableRow("c", (cell(2),)))
        assert marked(mark_best(table, [0])) == ["", "best", "second"]

    def test_lowest_where_less_is_better(self) -> None:
        table = small_table(TableRow("a", (cell(1),)), TableRow("b", (cell(3),)), TableRow("c", (cell(2),)))
        assert marked(mark_best(table, [0], "lowest")) == ["best", "", "second"]

    def test_ties_as_printed_are_all_marked(self) -> None:
        table = small_table(*[TableRow("m", (cell(value),)) for value in (50.01, 49.99, 49.9, 49.92, 10)])
        assert marked(mark_best(table, [0])) == ["best", "best", "second", "second", ""]

    def test_each_section_has_its_own(self) -> None:
        sections = tuple(Section((TableRow("a", (cell(low),)), TableRow("b", (cell(low + 1),)))) for low in (1, 5))
        table = Table("T", "C", "t", "M", (ColumnGroup((Column("A"),)),), sections)
        assert marked(mark_best(table, [0])) == ["", "best", "", "best"]

    def test_references_gaps_and_incomplete_numbers_do_not_compete(self) -> None:
        table = small_table(
            TableRow("Human", (cell(99),), reference=True),
            TableRow("incomplete", (cell(97, state="incomplete"),)),
            TableRow("not run", (cell(None, state="not run"),)),
            TableRow("imported", (cell(60, state="imported"),)),
            TableRow("ours", (cell(50),)),
            TableRow("ours too", (cell(40),)),
        )
        assert marked(mark_best(table, [0])) == ["", "", "", "best", "second", ""]

    def test_a_number_that_a_published_one_beats_is_not_the_best(self) -> None:
        rows = [TableRow("p", (cell(98, state="published"),)), TableRow("a", (cell(60),)), TableRow("b", (cell(50),))]
        assert marked(mark_best(small_table(*rows), [0])) == ["best", "second", ""]

    def test_the_worst_is_neither_best_nor_second_best(self) -> None:
        for values, marks in (
            ((60, 50), ["best", ""]),
            ((50, 50), ["", ""]),
            ((60, 50, 50), ["best", "", ""]),
            ((60, 50, 40), ["best", "second", ""]),
        ):
            table = small_table(*[TableRow("m", (cell(value),)) for value in values])
            assert marked(mark_best(table, [0])) == marks, values

    def test_a_score_of_zero_is_never_marked(self) -> None:
        for values, marks in (((0, 0, 0), [""] * 3), ((0.04, -1), ["", ""]), ((3, 0, -2), ["best", "", ""])):
            table = small_table(*[TableRow("m", (cell(value),)) for value in values])
            assert marked(mark_best(table, [0])) == marks, values

    def test_the_best_bias_is_the_nearest_to_zero(self) -> None:
        table = small_table(*[TableRow("m", (cell(value),)) for value in (67.8, -9.1, 10.7, 0)])
        assert marked(mark_best(table, [0], "nearest_zero")) == ["", "second", "", "best"]

    def test_one_row_alone_has_no_best(self) -> None:
        assert marked(mark_best(small_table(TableRow("a", (cell(1),))), [0])) == [""]

    def test_only_the_part_that_competes_is_marked(self) -> None:
        table = small_table(TableRow("a", (bias(50, 9),)), TableRow("b", (bias(60, 1),)), TableRow("c", (Text("-"),)))
        table = small_table(*list(mark_best(table, [0]).rows())[:2])
        assert marked(table) == ["", "best"]
        assert marked(table, part=1) == ["", ""]

    def test_the_original_is_untouched(self) -> None:
        table = small_table(TableRow("a", (cell(1),)), TableRow("b", (cell(2),)))
        mark_best(table, [0])
        assert marked(table) == ["", ""]


class TestFootnotes:
    def test_letters_follow_the_reading_order_and_equal_texts_share_one(self) -> None:
        assert dict(footnote_letters(full_table())) == {"The paper prints 0+2.6.": "a", "Quantised to 4 bits.": "b"}

    def test_several_letters_stand_in_order(self) -> None:
        table = small_table(TableRow("one", (cell(1),), notes=("x",)), TableRow("two", (cell(1),), notes=("y", "x")))
        assert [row.label[1:] for row in lay_out(table).sections[0].rows] == [(Marks(("a",)),), (Marks(("a", "b")),)]

    @pytest.mark.parametrize(("index", "name"), [(0, "a"), (25, "z"), (26, "aa"), (51, "az"), (52, "ba"), (701, "zz")])
    def test_letters_do_not_run_out(self, index: int, name: str) -> None:
        assert letter_name(index) == name


class TestLayout:
    def test_a_state_shared_by_the_row_is_marked_once(self) -> None:
        table = small_table(
            TableRow("all", (cell(1, state="published"), cell(2, state="published"))),
            TableRow("some", (cell(1, state="published"), cell(2))),
            columns=(Column("A"), Column("B")),
        )
        whole, mixed = lay_out(table).sections[0].rows
        assert whole.label == (Span("all"), Marks(("†",)))
        assert whole.cells[0] == (Span("1.0", italic=True),)
        assert mixed.label == (Span("some"),)
        assert mixed.cells[0] == (Span("1.0", italic=True), Marks(("†",)))

    @pytest.mark.parametrize(
        ("what", "printed"),
        [
            (Cell(), ""),
            (cell(83.0, 98.3), "83.0 / 98.3"),
            (cell(83.0, None), "83.0 / –"),
            (cell(None, None), "–"),
            (bias(88.0, 49.1), "88.0 (+49.1)"),
            (Text("1 fps"), "1 fps"),
        ],
    )
    def test_cells(self, what: Cell | Text, printed: str) -> None:
        assert plain_text(lay_out(small_table(TableRow("m", (what,)))).sections[0].rows[0].cells[0]) == printed

    def test_spanning_headers_count_columns(self) -> None:
        spans = [(plain_text(head.line), head.first, head.count) for head in lay_out(full_table()).spanning]
        assert spans == [("Control", 1, 2), ("Benchmark average", 3, 3)]

    def test_the_legend_explains_what_occurs_and_nothing_else(self) -> None:
        assert lay_out(one_cell(Number(1))).legend == ()
        assert [plain_text(line) for line in lay_out(one_cell(Number(None))).legend] == ["–: no value."]
        assert len(lay_out(full_table()).legend) == 9

    def test_comparisons_can_stand_below(self) -> None:
        row = TableRow("m", (Cell((Number(50, published=40), Number(60))), Text("8"), cell(1)))
        plain = TableRow("p", (cell(1), Text("8"), cell(1)))
        table = replace(small_table(row, plain, columns=(Column("A"), Column("B"), Column("C"))), comparison=True)
        first, second = lay_out(table, stacked=True).sections[0].rows
        assert [plain_text(line) for line in first.cells] == ["50.0 / 60.0", "8", "1.0"]
        assert [[plain_text(line) for line in (below.label, *below.cells)] for below in first.below] == [
            ["published", "40.0 / –", "", ""],
            ["difference", "+10.0 / –", "", ""],
        ]
        assert second.below == ()
        assert [row.below for row in lay_out(table).sections[0].rows] == [(), ()]

    def test_the_legend_spells_out_the_abbreviations_that_occur(self) -> None:
        columns = (Column("FP-S"), Column("MBA of the four"), Column("fr"))
        row = TableRow("OV-7B [8f]", (cell(1), cell(1), Text("1fps")))
        meanings = {
            "FP": "no",
            "FP-S": "one instance",
            "MBA": "all right",
            "BA": "no",
            "OV": "OneVision",
            "V": "no",
            "f": "frames",
            "fps": "a second",
        }
        table = replace(small_table(row, columns=columns), abbreviations=meanings)
        assert [plain_text(line) for line in lay_out(table).legend] == [
            "FP-S: one instance; MBA: all right; OV: OneVision; f: frames; fps: a second."
        ]

    def test_bold_may_mean_significant(self) -> None:
        number = Number(30, significant=True, best=True, second=True)
        table = Table(
            "T",
            "C",
            "t",
            "M",
            (ColumnGroup((Column("A"),)),),
            (Section((TableRow("m", (Cell((number,)),)),)),),
            bold="significant",
            significance="above chance",
        )
        assert lay_out(table).sections[0].rows[0].cells[0] == (Span("30.0", bold=True, underlined=True),)
        assert [plain_text(line) for line in lay_out(table).legend] == [
            "Bold: above chance.",
            "Underlined: best of its group of rows.",
        ]
