"""Tables that several tests render."""

from reprise.tables.render.best import mark_best
from reprise.tables.render.table import Cell, Column, ColumnGroup, Number, Section, State, Table, TableRow, Text

HOSTILE = "<script>alert(1)</script> \\input{x} 100%_&#{}~^\\ | a\nb `c` $d$ --- 'e' \"f\" [g] *h* ∧ △ é 中 \x07"


def cell(*values: float | None, state: State = "reproduced") -> Cell:
    """A cell of plain numbers."""
    return Cell(tuple(Number(value, state=state) for value in values))


def bias(value: float, difference: float) -> Cell:
    """An accuracy with a signed difference."""
    return Cell((Number(value), Number(difference, signed=True)))


def small_table(*rows: TableRow, columns: tuple[Column, ...] = (Column("Avg"),)) -> Table:
    """One section, one group, nothing else."""
    return Table("T", "C", "tab:t", "Model", (ColumnGroup(columns),), (Section(rows),))


def one_cell(number: Number, label: str = "M") -> Table:
    """A table with a single number."""
    return small_table(TableRow(label, (Cell((number,)),)))


def full_table() -> Table:
    """Everything that a table can have, in the manner of VELOCITI's tables 3 and 5."""
    unclear = "The paper prints 0+2.6."
    chance = TableRow(
        "Random", (Text("-"), cell(50), cell(None), cell(50), bias(50, 0), cell(25, 6.25)), reference=True
    )
    small = TableRow("QVL-7B", (Text("8"), cell(94.9), cell(98.5), cell(38.9), bias(88.0, 49.1), cell(83.0, 98.3)))
    middle = TableRow("OV-7B", (Text("16"), cell(90.1), cell(91.0), cell(30.5), bias(60.0, 67.8), cell(49.2, 80.0)))
    large = TableRow(
        "OV-72B",
        (
            Text("16"),
            cell(99.2),
            cell(98.5),
            Cell((Number(78.04, published=78.4, notes=(unclear,)),)),
            bias(88.3, -10.3),
            Cell((Number(84.2, significant=True, state="incomplete"), Number(None, state="not run"))),
        ),
        notes=("Quantised to 4 bits.",),
    )
    imported = TableRow("Gem_1.5F", (Text("1 fps"), *[cell(100.0 - index, state="imported") for index in range(5)]))
    published = TableRow("GPT-4o", (Text("16"), *[cell(83.9 - index, state="published") for index in range(5)]))
    idle = TableRow("QVL-72B", (Text("8"), *[cell(None, state="not run") for _ in range(5)]))
    table = Table(
        title="VELOCITI, Table 5",
        caption="Multi-choice evaluation: accuracy in % where A or B is right, A ∧ B, and B − A.",
        label="tab:velociti-table5",
        stub="Model",
        groups=(
            ColumnGroup((Column("Frames"),)),
            ColumnGroup((Column("A"), Column("B")), "Control"),
            ColumnGroup((Column("A"), Column("B (Bias)"), Column("A ∧ B")), "Benchmark average"),
        ),
        sections=(Section((chance, small, middle, large)), Section((imported, published, idle), "VELOCITI Subset")),
        notes=("Missing clips: 3 of 900.",),
        warnings=('velociti/entail/fps1/ov looks broken: 98.0 % of 900 answers are "A".',),
        provenance=("suite demo", "key 0123456789abcdef", "code 1.0, polars 2.1"),
        notice="Toy numbers of the demo suite.",
        comparison=True,
        significance="above chance (exact binomial test, p < 0.05)",
    )
    for column in range(1, 6):
        table = mark_best(table, column)
    return table
