"""One table: every cell looked up by row and column, as a table object and as tidy rows that lead back to its run."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.config.tables import Column, Row
from reprise.core.paths import Run, Scored
from reprise.stats.binomial import ALPHA, Alternative, binomial_p
from reprise.tables.below import (
    broken_lines,
    flaw_lines,
    judge_lines,
    judges_of,
    own_reading_lines,
    provenance,
    reader_lines,
)
from reprise.tables.headers import column_groups, column_name, stub_of
from reprise.tables.keys import TableKey
from reprise.tables.limits import check_failed, check_missing, subject
from reprise.tables.published import Printed, Published
from reprise.tables.render import table as rendered
from reprise.tables.render.best import mark_best
from reprise.tables.render.numbers import EN_DASH
from reprise.tables.render.table import Cell, Number, Text

SHOWN = ("fixed", "robust")
COMPARED = ("authors", "authors")
NO_NUMBER = "What was computed here is no number (NaN or infinite): look at the run's scores."
MOST_LISTED = 3  # numbers of a row, and rows, that a note lists
TIDY = pl.Schema(
    {
        "suite": pl.String,
        "table": pl.String,
        "section": pl.String,
        "row": pl.String,
        "column": pl.String,
        "metric": pl.String,
        "group": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p_chance": pl.Float64,
        "asked": pl.Int32,
        "scored": pl.Int32,
        "failed": pl.Int32,
        "unparsed": pl.Int32,
        "missing": pl.Int32,
        "convention": pl.String,
        "reader": pl.String,
        "source": pl.String,  # reproduced | imported | published | chance | data
        "run": pl.String,
        "judge": pl.String,
        "key": pl.String,
        "published": pl.Float64,  # the paper's own number of the cell
        "published_decimals": pl.Int32,  # how many decimals the paper prints of it
    }
)

Link: TypeAlias = Callable[[str, str, str], str]
"""Whose number, metric and group -> the address of what is behind it."""


def no_link(run: str, metric: str, group: str) -> str:
    """No address: where tables are not beside the items."""
    return ""


@dataclass
class Builder:
    """Builds a table, and collects its tidy rows."""

    key: TableKey
    metrics: pl.DataFrame
    published: Published
    problems: Mapping[str, Counter[str]] = field(default_factory=dict)
    """imported run or ratings -> what is wrong with how many of its answers"""
    link: Link = no_link
    tidy: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spec = self.key.spec
        self.benchmark = load_scores(self.key.benchmark)
        self.numbers = {
            (subject(row), row["metric"], row["group"], row["convention"], row["reader"]): _known(row)
            for row in self.metrics.iter_rows(named=True)
        }
        check_missing(self.key, self.metrics)
        check_failed(self.key, self.metrics)

    def table(self) -> rendered.Table:
        """The table object."""
        key, spec = self.key, self.spec
        sections = tuple(
            rendered.Section(
                tuple(self.row(row, section.title or "") for row in section.resolved()), section.title or ""
            )
            for section in spec.sections
        )
        table = rendered.Table(
            title=spec.title,
            origin=f"{key.benchmark_title}, Table {key.table.removeprefix('table')}",
            caption=f"{spec.caption} {self.judged_by()}".strip() if spec.judge else spec.caption,
            label=f"tab:{key.benchmark.replace('_', '-')}-{key.table}",
            stub=spec.stub or stub_of(spec.rows()),
            groups=column_groups(spec.columns),
            sections=sections,
            warnings=tuple(broken_lines(key, self.metrics)),
            notes=(
                *self.wrong_lines(),
                *reader_lines(self.metrics),
                *own_reading_lines(key, self.metrics),
                *judge_lines(key, self.metrics),
                *flaw_lines(self.metrics),
                *spec.notes,
            ),
            provenance=tuple(provenance(key, self.metrics)),
            notice=key.notice,
            comparison=key.show_published,
            bold=spec.bold,
            significance=f"above chance, one-sided exact binomial test of effective samples, alpha {ALPHA}",
            abbreviations=key.abbreviations,
        )
        if not spec.best:
            return table
        for index, column in enumerate(spec.columns):
            table = mark_best(table, index, column.best)
        return table

    def row(self, row: Row, section: str) -> rendered.TableRow:
        cells: list[Cell | Text] = []
        for column in self.spec.columns:
            if column.shows == "frames":
                cells.append(Text(row.frames or EN_DASH))
            else:
                numbers = [self.number(row, column, metric, section) for metric in self.spec.metrics_of(column)]
                cells.append(Cell(tuple(numbers)))
        is_reference = row.chance or row.model in self.key.references
        return rendered.TableRow(row.label, tuple(cells), self.row_notes(row), reference=is_reference)

    def source_of(self, row: Row, column: Column) -> str | None:
        """The name of whose number a cell shows: the data's, or that of a run that this site makes."""
        if row.dataset:
            return f"{self.key.benchmark}/data"
        scored = self.scored_of(row, column)
        return scored.name if scored and scored.name in self.key.runs else None

    def scored_of(self, row: Row, column: Column) -> Scored | None:
        """The run behind a cell, and the judge whose ratings it shows."""
        place = row.in_column(column)
        if place.model is None or place.protocol is None or place.sampling is None:
            return None
        run = Run(self.key.benchmark, place.protocol, place.sampling, place.model)
        if place.protocol not in self.key.judged:
            return Scored(run)
        rated = (Scored(run, judge) for judge in row.judges or self.key.judge_order)
        return next((one for one in rated if one.name in self.key.runs), None)

    def found(self, row: Row, column: Column, metric: str, reading: tuple[str, str]) -> Mapping[str, Any] | None:
        """The number of a cell by one convention and reader; a ratio is made here, of two runs' numbers."""
        group = row.group or column.group or ""
        if column.ratio is None:
            return self.numbers.get((self.source_of(row, column) or "", metric, group, *reading))
        below = column.model_copy(update={"sampling": column.ratio.over})
        above, under = (
            self.numbers.get((self.source_of(row, one) or "", column.ratio.metric, group, *reading))
            for one in (column, below)
        )
        if not above or not under or above["value"] is None or not under["value"]:
            return None
        return {
            **above,
            "metric": metric,
            "value": 100 * above["value"] / under["value"],
            "low": None,
            "high": None,
            "p_chance": None,
        }

    def number(self, row: Row, column: Column, metric: str, section: str) -> Number:
        """One number: measured here if it can be, else chance, else published, else a dash."""
        group = row.group or column.group or ""
        paper = self.paper_value(row, column, metric) if self.key.show_published else None
        place = {"section": section, "row": row.label, "column": column_name(column), "metric": metric, "group": group}
        found = self.found(row, column, metric, SHOWN)
        chance = self.chance(row.in_column(column), metric, group) if row.chance else None
        if row.chance and (chance is not None or paper is None):
            self.add_tidy_row(place, "chance", {"value": chance})
            return Number(chance, column.decimals, column.signed)
        if found is not None:
            is_imported = self.source_of(row, column) in self.key.imported
            source = "data" if row.dataset else "imported" if is_imported else "reproduced"
            for reading in dict.fromkeys((SHOWN, COMPARED)):
                other = self.found(row, column, metric, reading)
                if other is not None:
                    self.add_tidy_row(place, source, {**other, **_of_paper(paper)})
            notes = tuple(filter(None, [found["note"], self.compared_with_group(found)]))
            if found["value"] is None and paper is not None:
                return self.published_number(place, paper, column, notes)
            state: rendered.State = "incomplete" if found["missing"] else "imported" if is_imported else "reproduced"
            return Number(
                found["value"],
                column.decimals,
                column.signed,
                state,
                significant=self.spec.significance and _is_below(found["p_chance"]),
                published=paper.value if paper else None,
                notes=notes,
                interval=_interval(found) if self.spec.intervals else None,
                link=self.link(subject(found), metric, group),
            )
        if paper is not None:
            return self.published_number(place, paper, column)
        return Number(None, column.decimals, state=self.state_of_gap(row, column))

    def published_number(
        self, place: Mapping[str, str], paper: Printed, column: Column, notes: tuple[str, ...] = ()
    ) -> Number:
        """The paper's number, where there is none of ours."""
        self.add_tidy_row(place, "published", {"value": paper.value, **_of_paper(paper)})
        return Number(paper.value, column.decimals, column.signed, "published", notes=notes)

    def state_of_gap(self, row: Row, column: Column) -> rendered.State:
        """Why a cell has neither a number of ours nor the paper's."""
        if row.chance or self.source_of(row, column) is not None:
            return "reproduced"
        if self.spec.is_damaged and self.key.show_published:
            return "lost"
        return "not run" if row.in_column(column).model is not None else "reproduced"

    def paper_value(self, row: Row, column: Column, metric: str) -> Printed | None:
        """The published value of a cell, by the names that the csv gives its row and column."""
        named = column.published
        if named is None:
            return None
        label = named.row or row.published or row.label
        frames = row.frames if named.frames is None else named.frames
        return self.published.get(label, frames, named.group or row.group or column.group or "", metric)

    def compared_with_group(self, found: Mapping[str, Any]) -> str:
        """Whether a group's share is significantly above or below the same run's share of another group."""
        whole = self.numbers.get((subject(found), found["metric"], self.spec.compared_with or "", *SHOWN))
        if whole is None or whole["value"] is None or not 0 < whole["value"] < 100 or not found["asked"]:
            return ""
        right = round(found["value"] * found["asked"] / 100)
        for word, alternative in (("above", "greater"), ("below", "less")):
            if _is_below(binomial_p(right, found["asked"], whole["value"] / 100, cast(Alternative, alternative))):
                return (
                    f"Significantly {word} the same model's score over group '{self.spec.compared_with}' "
                    f"(one-sided exact binomial test, alpha {ALPHA}, that score taken as known)."
                )
        return ""

    def chance(self, row: Row, metric: str, group: str) -> float | None:
        """Score of random guessing: a constant of the benchmark, or counted from its data if they are available."""
        constant = self.benchmark.CHANCE.get(metric)
        if constant is not None:
            return constant
        form = self.key.forms.get(row.protocol or "", "")
        counted = self.numbers.get((f"{self.key.benchmark}/data", f"chance.{form}.{metric}", group, *SHOWN))
        return None if counted is None else float(counted["value"])

    def add_tidy_row(self, place: Mapping[str, str], source: str, found: Mapping[str, Any]) -> None:
        """Add a tidy row."""
        known = {name: found[name] for name in TIDY if name in found}
        name = f"{self.key.benchmark}/{self.key.table}"
        self.tidy.append({"suite": self.key.suite, "table": name, **known, **place, "source": source})

    def row_notes(self, row: Row) -> tuple[str, ...]:
        """What was missing, failed or unread in a row, and that the authors' convention gives other numbers."""
        if row.chance or row.dataset:
            return ()
        counts = _count_notes(self.shown(row))
        return (
            *counts,
            *self.quantised_notes(row),
            *self.import_notes(row),
            *self.judge_notes(row),
            *self.authors_note(row),
        )

    def shown(self, row: Row) -> list[Mapping[str, Any]]:
        """The numbers behind a row."""
        cells = [(column, metric) for column in self.spec.columns for metric in self.spec.metrics_of(column)]
        return [found for cell in cells if (found := self.found(row, *cell, SHOWN)) is not None]

    def authors_note(self, row: Row) -> list[str]:
        """The numbers of a row by the authors' convention, if they differ; many of them are left to the csv."""
        differing = self.differing(row)
        if not differing:
            return []
        if len(differing) > MOST_LISTED or self.differing_rows > MOST_LISTED:
            return ["By the authors' convention and reader the row has other numbers: see the csv."]
        return [f"By the authors' convention and reader: {', '.join(differing)}."]

    @cached_property
    def differing_rows(self) -> int:
        """In how many rows the authors' convention gives other numbers."""
        return sum(bool(self.differing(row)) for row in self.spec.rows())

    def differing(self, row: Row) -> list[str]:
        """The columns of a row where the authors' convention gives another number, and that number."""
        found = []
        for column in self.spec.columns:
            for metric in self.spec.metrics_of(column):
                fixed, authors = (self.found(row, column, metric, reading) for reading in (SHOWN, COMPARED))
                if fixed and authors and _printed(fixed, column) != _printed(authors, column):
                    found.append(f"{column_name(column)} {_printed(authors, column)}")
        return found

    def wrong_lines(self) -> list[str]:
        """What becomes of failed and unread answers, if there are any."""
        rows = [row for row in self.spec.rows() if not row.dataset]
        any_wrong = any(one["failed"] or one["unparsed"] for row in rows for one in self.shown(row))
        return ["What failed or could not be read counts as wrong."] if any_wrong else []

    def judge_notes(self, row: Row) -> list[str]:
        """Who judged a row's answers, in a table where that differs and its label does not say so."""
        if row.judges or len(judges_of(self.metrics)) < 2:
            return []
        shown = {one.judge for column in self.spec.columns if (one := self.scored_of(row, column)) and one.judge}
        return [f"Judged by {self.key.judges[judge]}." for judge in sorted(shown)]

    def quantised_notes(self, row: Row) -> list[str]:
        """How the weights were quantised that the numbers of a row come from, those of judges included."""
        shown = [
            one for column in self.spec.columns if (one := self.scored_of(row, column)) and one.name in self.key.runs
        ]
        used = {"Asked": {one.run.model for one in shown}, "Judged": {one.judge for one in shown if one.judge}}
        methods = {how: sorted({self.key.quantised[one] for one in models & self.key.quantised.keys()})
                   for how, models in used.items()}  # fmt: skip
        return [f"{how} with quantised weights ({', '.join(found)})." for how, found in methods.items() if found]

    def import_notes(self, row: Row) -> list[str]:
        """What is wrong with the imported answers and ratings behind a row."""
        shown = {one for column in self.spec.columns if (one := self.scored_of(row, column))}
        names = sorted({one.name for one in shown} | {one.run.name for one in shown})
        counts = sum((self.problems.get(name, Counter()) for name in names), Counter[str]())
        listed = ", ".join(f"{number} {problem}" for problem, number in counts.most_common())
        return [f"Problems of imported answers: {listed}."] if listed else []

    def judged_by(self) -> str:
        """Whose ratings the numbers are, ours and the paper's."""
        shows_paper = any(row["source"] == "published" for row in self.tidy)
        ours = [f"{self.key.judges[judge]} ({judge})" for judge in judges_of(self.metrics)]
        theirs = [f"{self.spec.judge}{' (published values)' if ours else ''}"] if shows_paper else []
        return f"Judged by {'; '.join(ours + theirs)}." if ours or theirs else ""


def _known(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A measured number; what was computed and is no number is none, and says so."""
    if row["value"] is None or math.isfinite(row["value"]):
        return row
    return {**row, "value": None, "low": None, "high": None, "p_chance": None, "note": NO_NUMBER}


def _of_paper(paper: Printed | None) -> dict[str, float]:
    """The paper's number in a tidy row."""
    return {"published": paper.value, "published_decimals": paper.decimals} if paper else {}


def _is_below(p: float | None) -> bool:
    return p is not None and p < ALPHA


def _interval(found: Mapping[str, Any]) -> tuple[float, float] | None:
    return None if found["low"] is None or found["high"] is None else (found["low"], found["high"])


def _printed(found: Mapping[str, Any], column: Column) -> str:
    return "-" if found["value"] is None else f"{found['value']:.{column.decimals}f}"


def _count_notes(shown: Sequence[Mapping[str, Any]]) -> list[str]:
    """The largest counts over a row's groups; nothing when all is well."""
    largest = max(shown, key=lambda one: one["asked"] + one["missing"], default=None)
    if largest is None:
        return []
    unread = "without a judgement" if largest["judge"] else "not readable"
    counts = [
        f"{max(one[name] for one in shown)} {words}"
        for name, words in (("missing", "without a clip"), ("failed", "failed"), ("unparsed", unread))
        if any(one[name] for one in shown)
    ]
    total = largest["asked"] + largest["missing"]
    return [f"Of up to {total} samples: {', '.join(counts)}."] if counts else []
