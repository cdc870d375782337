"""Verdicts on every number that was made here or imported and that a paper prints too, by paper and table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.tables.keys import ReproductionKey
from reprise.tables.published import Printed
from reprise.tables.render import table as rendered
from reprise.tables.render.numbers import EN_DASH
from reprise.tables.verdict import NAMES, Measured, Name, Verdict, verdict

PLACE = ("table", "section", "row", "column", "metric", "group", "run", "judge")
DECIMALS = 2  # that ours show at least, whose papers print fewer
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
HOW = (
    "Ours are the numbers by the authors' convention and reader, where they differ from those that tables show. A "
    "number agrees if it differs from the paper's by at most the half of its interval on that side times the square "
    "root of two, and half a unit of the paper's last digit: the answers behind the paper's number are not at hand, "
    "so that the two cannot be paired, and it is taken to be as uncertain as ours. Of numbers that differ by chance "
    "alone about one in {one_in} is called different. A count agrees if it prints the same."
)


class Compared(NamedTuple):
    """A cell with a number of ours and the paper's."""

    found: Mapping[str, Any]
    """its row of the table's csv"""
    verdict: Verdict
    conditions: tuple[str, ...]


class Reproduction:
    """The verdicts of a suite, from the csvs of its tables."""

    def __init__(self, key: ReproductionKey, tidy: pl.DataFrame) -> None:
        self._key = key
        self._titles = {title.table: title for title in key.titles}
        readings: dict[tuple[str, ...], dict[str, Any]] = {}
        for row in tidy.filter(pl.col("published").is_not_null()).iter_rows(named=True):
            place = tuple(row[name] or "" for name in PLACE)
            if row["source"] != "published" and (place not in readings or row["reader"] == "authors"):
                readings[place] = row
        self.cells = [self._compare(row) for row in readings.values()]

    def _compare(self, row: Mapping[str, Any]) -> Compared:
        ours = Measured(row["value"], row["low"], row["high"])
        paper = Printed(row["published"], row["published_decimals"])
        found = verdict(ours, paper, is_exact=row["source"] == "data", why_not=self._judged_otherwise(row))
        return Compared(row, found, tuple(self._conditions(row)))

    def _judged_otherwise(self, row: Mapping[str, Any]) -> str:
        """That another judge rated the answers than in the paper."""
        theirs, ours = self._key.judges_of_paper.get(row["table"], ""), self._key.judges.get(row["judge"] or "", "")
        if not theirs or not ours or _letters(theirs) == _letters(ours):
            return ""
        return f"judged by {ours}, in the paper by {theirs}"

    def _conditions(self, row: Mapping[str, Any]) -> Iterator[str]:
        """What a reader must know of a number to compare it."""
        asked = (row["asked"] or 0) + (row["missing"] or 0)
        for name, words in (("missing", "without a clip"), ("failed", "failed"), ("unparsed", "unread")):
            if row[name]:
                yield f"{row[name]} of {asked} {words}"
        if row["reader"] != "authors" and row["source"] != "data":
            yield f"read by {row['reader']}, not as the authors read"
        if row["source"] == "imported":
            yield "answers made elsewhere"
        yield from self._key.conditions.get(row["run"] or "", ())

    def rows(self) -> pl.DataFrame:
        """All cells, for the csv."""
        return pl.DataFrame([_tidy(cell) for cell in self.cells], schema=SCHEMA)

    def tables(self) -> list[rendered.Table]:
        """The summary, and the cells of each table."""
        by_table: dict[str, list[Compared]] = {name: [] for name in self._titles}
        for cell in self.cells:
            by_table[cell.found["table"]].append(cell)
        return [self._summary(by_table), *(self._listed(name, cells) for name, cells in by_table.items() if cells)]

    def _summary(self, by_table: Mapping[str, Sequence[Compared]]) -> rendered.Table:
        one_in = round(1 / (1 - self._key.confidence))
        sections = []
        for paper in dict.fromkeys(self._titles[name].paper for name in by_table):
            own = {name: cells for name, cells in by_table.items() if self._titles[name].paper == paper}
            total = [cell for cells in own.values() for cell in cells]
            lines = [self._counted(self._titles[name].number, cells) for name, cells in own.items()]
            sections.append(rendered.Section((*lines, self._counted("All tables", total)), paper))
        return rendered.Table(
            title="Reproduction",
            caption=HOW.format(one_in=one_in),
            label="tab:reproduction",
            stub="Table",
            groups=(rendered.ColumnGroup(tuple(rendered.Column(name) for name in ("numbers", *NAMES))),),
            sections=tuple(sections),
            notice=self._key.notice,
            provenance=(f"Suite {self._key.suite} ({self._key.suite_title}).",),
        )

    @staticmethod
    def _counted(label: str, cells: Sequence[Compared]) -> rendered.TableRow:
        counts: Counter[Name] = Counter(cell.verdict.name for cell in cells)
        numbers = (len(cells), *(counts[name] for name in NAMES))
        return rendered.TableRow(label, tuple(rendered.Cell((rendered.Number(one, 0),)) for one in numbers))

    def _listed(self, name: str, cells: Sequence[Compared]) -> rendered.Table:
        title = self._titles[name]
        columns = ("column", "ours", "interval", "paper", "difference", "verdict", "conditions")
        words = {"column", "verdict", "conditions"}
        sections: dict[str, list[rendered.TableRow]] = {}
        for cell in cells:
            sections.setdefault(cell.found["section"] or "", []).append(_line(cell))
        return rendered.Table(
            title=title.title,
            origin=f"{title.paper}, {title.number}",
            caption="Numbers of ours beside the paper's.",
            label=f"tab:reproduction-{name.replace('/', '-').replace('_', '-')}",
            stub="Row",
            groups=(
                rendered.ColumnGroup(
                    tuple(rendered.Column(one, "left" if one in words else "right") for one in columns)
                ),
            ),
            sections=tuple(rendered.Section(tuple(rows), section) for section, rows in sections.items()),
            notice=self._key.notice,
        )


def _line(cell: Compared) -> rendered.TableRow:
    found, made = cell.found, cell.verdict
    printed = found["published_decimals"]
    decimals = max(DECIMALS, printed)
    ends = [found["low"], found["high"]]
    interval = EN_DASH if None in ends else " to ".join(_number(end, decimals) for end in ends)
    return rendered.TableRow(
        found["row"],
        (
            rendered.Text(f"{found['column']} ({found['metric']})"),
            rendered.Text(_number(found["value"], decimals)),
            rendered.Text(interval),
            rendered.Text(_number(found["published"], printed)),
            rendered.Text(_number(made.difference, decimals, signed=True)),
            rendered.Text(f"{made.name}: {made.why}" if made.why else made.name),
            rendered.Text("; ".join(cell.conditions)),
        ),
    )


def _number(value: float | None, decimals: int, *, signed: bool = False) -> str:
    return EN_DASH if value is None else f"{value:{'+' if signed else ''}.{decimals}f}"


def _letters(name: str) -> str:
    """A judge's name without what is written in several ways."""
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _tidy(cell: Compared) -> dict[str, Any]:
    found, made = cell.found, cell.verdict
    own = {"ours": found["value"], "verdict": made.name, "why": made.why, "conditions": "; ".join(cell.conditions)}
    known = {name: found[name] for name in SCHEMA if name in found}
    return {**known, **own, "difference": made.difference, "tolerance": made.tolerance}
