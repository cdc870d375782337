"""Verdicts on every number that was computed here or imported and that a paper also prints, by paper and table."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import polars as pl

from reprise.tables.keys import ReproductionKey, Title
from reprise.tables.published import Printed
from reprise.tables.render import table as rendered

VerdictName = Literal["agrees", "differs", "not comparable"]
NAMES: tuple[VerdictName, ...] = ("agrees", "differs", "not comparable")
PLACE = ("table", "section", "row", "column", "metric", "group", "run", "judge")
SCHEMA = pl.Schema(
    {
        **dict.fromkeys(PLACE, pl.String),
        "reader": pl.String,
        "ours": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "published": pl.Float64,
        "difference": pl.Float64,
        "tolerance": pl.Float64,
        "verdict": pl.String,
        "why": pl.String,
        "conditions": pl.String,
        "key": pl.String,
    }
)
CAPTION = (
    "Ours are the numbers by the authors' convention and reader, where they differ from those that tables show. A "
    "number agrees if it differs from the paper's by at most the half of its interval on that side times the square "
    "root of two, and half a unit of the paper's last digit: the answers behind the paper's number are not at hand, "
    "so that the two cannot be paired, and it is taken to be as uncertain as ours. Of numbers that differ by chance "
    "alone about one in {one_in} is called different. A count agrees if it prints the same."
)


class Verdict(NamedTuple):
    name: VerdictName
    why: str = ""
    difference: float | None = None
    tolerance: float | None = None  # the largest difference that still agrees


def verdict(
    value: float | None,
    interval: tuple[float, float] | None,
    paper: Printed,
    *,
    is_exact: bool = False,
    why_not: str = "",
) -> Verdict:
    """Compare a number of ours with the paper's.

    Both were measured on the same questions, but a paired comparison is impossible without the paper's answers. The
    paper's number is taken to be independent of ours and as uncertain: by the half of our interval on its side. The
    rounding of its last digit adds to the tolerance; for an exact number, such as a count, rounding is all of it.
    """
    if value is None:
        return Verdict("not comparable", "nothing could be scored")
    difference, tolerance = value - paper.value, 10.0**-paper.decimals / 2
    if why_not:
        return Verdict("not comparable", why_not, difference)
    if interval is not None:
        low, high = interval
        tolerance += math.sqrt(2) * (value - low if difference > 0 else high - value)
    if abs(difference) < tolerance or math.isclose(abs(difference), tolerance):
        return Verdict("agrees", "", difference, tolerance)
    if interval is None and not is_exact:
        return Verdict("not comparable", "no interval of ours", difference)
    return Verdict("differs", "", difference, tolerance)


class Comparison(NamedTuple):
    found: Mapping[str, Any]  # the number's row of the table's csv
    verdict: Verdict
    conditions: tuple[str, ...]


class Reproduction:
    """The verdicts of a suite, from the csv files of its tables."""

    def __init__(self, key: ReproductionKey, tidy: pl.DataFrame) -> None:
        self._key = key
        readings: dict[tuple[str, ...], dict[str, Any]] = {}
        for row in tidy.filter(pl.col("published").is_not_null()).iter_rows(named=True):
            place = tuple(row[name] or "" for name in PLACE)
            if row["source"] != "published" and (place not in readings or row["reader"] == "authors"):
                readings[place] = row
        self.cells = [self._compare(row) for row in readings.values()]

    def _compare(self, row: Mapping[str, Any]) -> Comparison:
        interval = None if row["low"] is None or row["high"] is None else (row["low"], row["high"])
        paper = Printed(row["published"], row["published_decimals"])
        our_judge = self._key.judges.get(row["judge"] or "", "")
        their_judge = self._key.judges_of_paper.get(row["table"], "")
        # Case and punctuation of a judge's name vary between sources, so the comparison ignores them.
        names = {"".join(filter(str.isalnum, judge.lower())) for judge in (our_judge, their_judge)}
        is_judged_otherwise = len(names) == 2 and "" not in names
        why_not = f"judged by {our_judge}, in the paper by {their_judge}" if is_judged_otherwise else ""
        outcome = verdict(row["value"], interval, paper, is_exact=row["source"] == "data", why_not=why_not)
        return Comparison(row, outcome, tuple(self._conditions(row)))

    def _conditions(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a reader must know about a number to compare it."""
        total = (row["asked"] or 0) + (row["missing"] or 0)
        for name, words in (("missing", "without a clip"), ("failed", "failed"), ("unparsed", "unread")):
            if row[name]:
                yield f"{row[name]} of {total} {words}"
        if row["reader"] != "authors" and row["source"] != "data":
            yield f"read by {row['reader']}, not as the authors read"
        if row["source"] == "imported":
            yield "answers made elsewhere"
        yield from self._key.conditions.get(row["run"] or "", ())

    def rows(self) -> pl.DataFrame:
        rows = []
        for row, outcome, conditions in self.cells:
            verdict_columns = {
                "ours": row["value"],
                "verdict": outcome.name,
                "why": outcome.why,
                "conditions": "; ".join(conditions),
            }
            difference_columns = {"difference": outcome.difference, "tolerance": outcome.tolerance}
            rows.append({name: row[name] for name in SCHEMA if name in row} | verdict_columns | difference_columns)
        return pl.DataFrame(rows, schema=SCHEMA)

    def tables(self) -> list[rendered.Table]:
        by_table: dict[str, list[Comparison]] = {title.table: [] for title in self._key.titles}
        for cell in self.cells:
            by_table[cell.found["table"]].append(cell)
        details = (
            self._detail_table(title, by_table[title.table]) for title in self._key.titles if by_table[title.table]
        )
        return [self._summary_table(by_table), *details]

    def _summary_table(self, by_table: Mapping[str, Sequence[Comparison]]) -> rendered.Table:
        rows: list[tuple[str, rendered.TableRow]] = []
        for paper in dict.fromkeys(title.paper for title in self._key.titles):
            cells_by_number = {
                title.number: by_table[title.table] for title in self._key.titles if title.paper == paper
            }
            for label, cells in (
                cells_by_number | {"All tables": list(chain.from_iterable(cells_by_number.values()))}
            ).items():
                counts = Counter(cell.verdict.name for cell in cells)
                numbers = (rendered.Number(count, 0) for count in (len(cells), *(counts[name] for name in NAMES)))
                rows.append((paper, rendered.TableRow(label, tuple(rendered.Cell((number,)) for number in numbers))))
        return rendered.Table(
            title="Reproduction",
            caption=CAPTION.format(one_in=round(1 / (1 - self._key.confidence))),
            label="tab:reproduction",
            stub="Table",
            groups=(rendered.ColumnGroup(tuple(map(rendered.Column, ("numbers", *NAMES)))),),
            sections=rendered.sections_of(rows),
            notice=self._key.notice,
            provenance=(f"Suite {self._key.suite} ({self._key.suite_title}).",),
        )

    def _detail_table(self, title: Title, cells: Sequence[Comparison]) -> rendered.Table:
        left_aligned = ("column", "verdict", "conditions")
        columns = ("column", "ours", "interval", "paper", "difference", "verdict", "conditions")
        return rendered.Table(
            title=title.title,
            origin=f"{title.paper}, {title.number}",
            caption="Numbers of ours beside the paper's.",
            label=f"tab:reproduction-{title.table.replace('/', '-').replace('_', '-')}",
            stub="Row",
            groups=(
                rendered.ColumnGroup(
                    tuple(rendered.Column(name, "left" if name in left_aligned else "right") for name in columns)
                ),
            ),
            sections=rendered.sections_of((cell.found["section"] or "", _line(cell)) for cell in cells),
            notice=self._key.notice,
        )


def _line(cell: Comparison) -> rendered.TableRow:
    """Return the row of one number, with as many decimals as the paper's, at least two."""
    row, outcome = cell.found, cell.verdict

    def format_number(value: float | None, decimals: int = max(2, row["published_decimals"]), sign: str = "") -> str:
        return rendered.EN_DASH if value is None else f"{value:{sign}.{decimals}f}"

    ends = [row["low"], row["high"]]
    texts = (
        f"{row['column']} ({row['metric']})",
        format_number(row["value"]),
        rendered.EN_DASH if None in ends else " to ".join(map(format_number, ends)),
        format_number(row["published"], row["published_decimals"]),
        format_number(outcome.difference, sign="+"),
        f"{outcome.name}: {outcome.why}" if outcome.why else outcome.name,
        "; ".join(cell.conditions),
    )
    return rendered.TableRow(row["row"], tuple(map(rendered.Text, texts)))
