"""One table: every cell looked up by row and column, as a table object and as tidy rows that lead back to its run."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.config.tables import Column, Row, Section
from reprise.core.paths import Run, Scored
from reprise.stats.beta import ALPHA, binomial_p
from reprise.tables.below import broken_lines, judges_of, number_lines, provenance
from reprise.tables.keys import TableKey
from reprise.tables.measured import check_failed, check_missing, subject
from reprise.tables.published import Printed, Published
from reprise.tables.render import table as rendered
from reprise.tables.render.table import EN_DASH, Cell, Number, Text, mark_best

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

Link: TypeAlias = Callable[[str, str, str], str]  # Whose number, metric and group -> the address of what is behind it


def column_name(column: Column) -> str:
    """A column's name outside its spanning header."""
    return f"{column.span} {column.title}" if column.span else column.title


@dataclass
class Builder:
    key: TableKey
    metrics: pl.DataFrame
    published: Published
    problems: Mapping[str, Counter[str]] = field(default_factory=dict)
    """imported run or ratings -> what is wrong with how many of its answers"""
    link: Link | None = None  # none where tables are not beside the items
    tidy: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spec = self.key.spec
        self._cells = [(column, metric) for column in self.spec.columns for metric in self.spec.metrics_of(column)]
        self.benchmark = load_scores(self.key.benchmark)
        # What was computed and is no number is none, and says so.
        no_number = {"value": None, "low": None, "high": None, "p_chance": None, "note": NO_NUMBER}
        self.numbers: dict[tuple[str, ...], Mapping[str, Any]] = {
            (subject(row), row["metric"], row["group"], row["convention"], row["reader"]): row
            if row["value"] is None or math.isfinite(row["value"])
            else row | no_number
            for row in self.metrics.iter_rows(named=True)
        }
        check_missing(self.key, self.metrics)
        check_failed(self.key, self.metrics)

    def table(self) -> rendered.Table:
        key, spec, rows = self.key, self.spec, self.spec.rows()
        of_data, of_judges = all(row.dataset for row in rows), all(row.judges for row in rows)
        # First of all, because what stands below goes by the numbers that are shown.
        sections = tuple(
            rendered.Section(tuple(self._rows(one)), one.title or "", is_marked=one.best) for one in spec.sections
        )
        table = rendered.Table(
            title=spec.title,
            origin=f"{key.benchmark_title}, Table {key.table.removeprefix('table')}",
            caption=f"{spec.caption} {self.judged_by()}".strip() if spec.judge else spec.caption,
            label=f"tab:{key.benchmark.replace('_', '-')}-{key.table}",
            stub=spec.stub or ("Data set" if of_data else "Judge" if of_judges else "Model"),
            groups=tuple(
                rendered.ColumnGroup(tuple(rendered.Column(column.title) for column in members), span or "")
                for span, members in groupby(spec.columns, key=lambda column: column.span)
            ),
            sections=sections,
            warnings=tuple(broken_lines(key, self.metrics)),
            notes=(*self.wrong_lines(), *number_lines(key, self.metrics), *spec.notes),
            provenance=tuple(provenance(key, self.metrics)),
            notice=key.notice,
            comparison=key.show_published,
            bold=spec.bold,
            significance=f"above chance, one-sided exact binomial test of effective samples, alpha {ALPHA}",
            abbreviations=key.abbreviations,
        )
        for index, column in enumerate(spec.columns if spec.best else ()):
            table = mark_best(table, index, column.best)
        return table

    def _rows(self, section: Section) -> Iterator[rendered.TableRow]:
        for row in section.resolved():
            cells = tuple(
                Text(row.frames or EN_DASH)
                if column.shows == "frames"
                else Cell(tuple(self._number(row, column, one, section) for one in self.spec.metrics_of(column)))
                for column in self.spec.columns
            )
            notes = () if row.chance or row.dataset else tuple(self._row_notes(row))
            is_reference = row.chance or row.model in self.key.references
            yield rendered.TableRow(row.label, cells, notes, reference=is_reference)

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
        ratio = {"metric": metric, "value": 100 * above["value"] / under["value"]}
        return {**above, **ratio, "low": None, "high": None, "p_chance": None}

    def _number(self, row: Row, column: Column, metric: str, section: Section) -> Number:
        """One number: measured here if it can be, else chance, else published, else a dash."""
        key, group, placed = self.key, row.group or column.group or "", row.in_column(column)
        # Too few frames for a metric: some, but fewer than the protocol's `frames_min`.
        least = key.frames_min.get(placed.protocol or "", {}).get(metric, 0)
        greyed = 0 < key.frames.get(placed.sampling or "", 0) < least
        paper = self.paper_value(row, column, metric) if key.show_published else None
        printed = {"published": paper.value, "published_decimals": paper.decimals} if paper else {}
        place = {
            "suite": key.suite, "table": f"{key.benchmark}/{key.table}", "section": section.title or "",
            "row": row.label, "column": column_name(column), "metric": metric, "group": group,
        }  # fmt: skip

        if row.chance:
            chance = self._chance(placed, metric, group)
            if chance is not None or paper is None:
                self.tidy.append({"value": chance, **place, "source": "chance"})
                return Number(chance, column.decimals, column.signed)
        found = self.found(row, column, metric, SHOWN)
        notes: tuple[str, ...] = ()
        if found is not None:
            is_imported = self.source_of(row, column) in key.imported
            source = "data" if row.dataset else "imported" if is_imported else "reproduced"
            for reading in (SHOWN, COMPARED):
                if other := self.found(row, column, metric, reading):
                    known = {name: other[name] for name in TIDY if name in other}
                    self.tidy.append({**known, **printed, **place, "source": source})
            notes = tuple(filter(None, [found["note"], self._compared_with_group(found)]))
        if found is not None and (found["value"] is not None or paper is None):
            interval = None if found["low"] is None or found["high"] is None else (found["low"], found["high"])
            p_chance = found["p_chance"] if self.spec.significance else None
            return Number(
                found["value"],
                column.decimals,
                column.signed,
                "incomplete" if found["missing"] else "imported" if is_imported else "reproduced",
                significant=p_chance is not None and p_chance < ALPHA and not greyed,
                greyed=greyed,
                published=paper.value if paper else None,
                notes=notes,
                interval=interval if self.spec.intervals else None,
                link=self.link(subject(found), metric, group) if self.link else "",
            )
        if paper is not None:
            self.tidy.append({"value": paper.value, **printed, **place, "source": "published"})
            return Number(paper.value, column.decimals, column.signed, "published", greyed=greyed, notes=notes)
        # A cell with neither a number of ours nor the paper's says why.
        state: rendered.State = "reproduced"
        if not row.chance and self.source_of(row, column) is None:
            is_lost = self.spec.is_damaged and key.show_published
            state = "lost" if is_lost else "not run" if placed.model is not None else "reproduced"
        return Number(None, column.decimals, state=state)

    def paper_value(self, row: Row, column: Column, metric: str) -> Printed | None:
        """The published value of a cell, by the names that the csv gives its row and column."""
        named = column.published
        if named is None:
            return None
        label = named.row or row.published or row.label
        frames = row.frames if named.frames is None else named.frames
        if label in named.stated:
            return Printed.of(str(named.stated[label]))
        return self.published.get(label, frames, named.group or row.group or column.group or "", metric)

    def _compared_with_group(self, found: Mapping[str, Any]) -> str:
        """Whether a group's share is significantly above or below the same run's share of another group."""
        whole = self.numbers.get((subject(found), found["metric"], self.spec.compared_with or "", *SHOWN))
        if whole is None or whole["value"] is None or not 0 < whole["value"] < 100 or not found["asked"]:
            return ""
        right, share = round(found["value"] * found["asked"] / 100), whole["value"] / 100
        for word, p in (
            ("above", binomial_p(right, found["asked"], share)),
            ("below", binomial_p(right, found["asked"], share, "less")),
        ):
            if p is not None and p < ALPHA:
                return (
                    f"Significantly {word} the same model's score over group '{self.spec.compared_with}' "
                    f"(one-sided exact binomial test, alpha {ALPHA}, that score taken as known)."
                )
        return ""

    def _chance(self, row: Row, metric: str, group: str) -> float | None:
        """Score of random guessing: a constant of the benchmark, or counted from its data if they are available."""
        constant = self.benchmark.CHANCE.get(metric)
        if constant is not None:
            return constant
        form = self.key.forms.get(row.protocol or "", "")
        counted = self.numbers.get((f"{self.key.benchmark}/data", f"chance.{form}.{metric}", group, *SHOWN))
        return None if counted is None else float(counted["value"])

    def _row_notes(self, row: Row) -> Iterator[str]:
        """What a reader must know of the numbers of a row: counts, weights, imports, judges, another convention."""
        shown = self._shown(row)
        if shown:
            largest = max(shown, key=lambda one: one["asked"] + one["missing"])
            unread = "without a judgement" if largest["judge"] else "not readable"
            counts = [
                f"{max(one[name] for one in shown)} {words}"
                for name, words in (("missing", "without a clip"), ("failed", "failed"), ("unparsed", unread))
                if any(one[name] for one in shown)
            ]
            if counts:
                yield f"Of up to {largest['asked'] + largest['missing']} samples: {', '.join(counts)}."
        scored = [one for column in self.spec.columns if (one := self.scored_of(row, column))]
        ours = [one for one in scored if one.name in self.key.runs]
        used = {"Asked": {one.run.model for one in ours}, "Judged": {one.judge for one in ours}}
        for how, models in used.items():
            if methods := sorted({self.key.quantised[one] for one in models & self.key.quantised.keys()}):
                yield f"{how} with quantised weights ({', '.join(methods)})."
        names = {name for one in scored for name in (one.name, one.run.name)}
        problems = sum((self.problems.get(name, Counter()) for name in sorted(names)), Counter[str]())
        if listed := ", ".join(f"{number} {problem}" for problem, number in problems.most_common()):
            yield f"Problems of imported answers: {listed}."
        if not row.judges and len(judges_of(self.metrics)) > 1:  # they differ, and its label does not say who judged
            judges = sorted({one.judge for one in scored if one.judge})
            yield from (f"Judged by {self.key.judges[judge]}." for judge in judges)
        if differing := self._differing(row):
            if len(differing) > MOST_LISTED or self._differing_rows > MOST_LISTED:
                yield "By the authors' convention and reader the row has other numbers: see the csv."
            else:
                yield f"By the authors' convention and reader: {', '.join(differing)}."

    def _shown(self, row: Row) -> list[Mapping[str, Any]]:
        return [found for cell in self._cells if (found := self.found(row, *cell, SHOWN)) is not None]

    @cached_property
    def _differing_rows(self) -> int:
        """In how many rows the authors' convention gives other numbers."""
        return sum(bool(self._differing(row)) for row in self.spec.rows())

    def _differing(self, row: Row) -> list[str]:
        """The columns of a row where the authors' convention prints another number, and that number."""
        listed = []
        for column, metric in self._cells:
            found = [self.found(row, column, metric, reading) for reading in (SHOWN, COMPARED)]
            values = [one["value"] for one in found if one]
            printed = ["-" if value is None else f"{value:.{column.decimals}f}" for value in values]
            if len(set(printed)) == len(found):
                listed.append(f"{column_name(column)} {printed[1]}")
        return listed

    def wrong_lines(self) -> list[str]:
        """What becomes of failed and unread answers, if there are any."""
        rows = [row for row in self.spec.rows() if not row.dataset]
        any_wrong = any(one["failed"] or one["unparsed"] for row in rows for one in self._shown(row))
        return ["What failed or could not be read counts as wrong."] if any_wrong else []

    def judged_by(self) -> str:
        """Whose ratings the numbers are, ours and the paper's."""
        shows_paper = any(row["source"] == "published" for row in self.tidy)
        ours = [f"{self.key.judges[judge]} ({judge})" for judge in judges_of(self.metrics)]
        theirs = [f"{self.spec.judge}{' (published values)' if ours else ''}"] if shows_paper else []
        return f"Judged by {'; '.join(ours + theirs)}." if ours or theirs else ""
