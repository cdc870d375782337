"""One table: looks up every cell by row and column, as a table object and as tidy rows that lead back to the run."""

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
MAX_LISTED = 3  # the largest number of a row's numbers, and of rows, whose differences a note lists
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
        "published": pl.Float64,  # the paper's number for the cell
        "published_decimals": pl.Int32,  # the number of decimals that the paper prints
    }
)

Link: TypeAlias = Callable[[str, str, str], str]  # subject, metric and group of a number -> address of its lineage


def column_name(column: Column) -> str:
    """Return a column's name for use outside its spanning header."""
    return f"{column.span} {column.title}" if column.span else column.title


@dataclass
class Builder:
    """Builds one table and collects its tidy rows."""

    key: TableKey
    metrics: pl.DataFrame
    published: Published
    problems: Mapping[str, Counter[str]] = field(default_factory=dict)
    """imported run or ratings -> problem -> number of its answers that have it"""
    link: Link | None = None  # none if tables are not published with the item browser
    tidy: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spec = self.key.spec
        self._cells = [(column, metric) for column in self.spec.columns for metric in self.spec.metrics_of(column)]
        self.benchmark = load_scores(self.key.benchmark)
        # A value that was computed as NaN or infinite becomes none, with a note.
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
        has_only_data, has_only_judges = all(row.dataset for row in rows), all(row.judges for row in rows)
        # The footnotes depend on the numbers that the cells show, so the cells come first.
        sections = tuple(
            rendered.Section(tuple(self._rows(section)), section.title or "", is_marked=section.best)
            for section in spec.sections
        )
        table = rendered.Table(
            title=spec.title,
            origin=f"{key.benchmark_title}, Table {key.table.removeprefix('table')}",
            caption=f"{spec.caption} {self.judged_by()}".strip() if spec.judge else spec.caption,
            label=f"tab:{key.benchmark.replace('_', '-')}-{key.table}",
            stub=spec.stub or ("Data set" if has_only_data else "Judge" if has_only_judges else "Model"),
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
                else Cell(tuple(self._number(row, column, metric, section) for metric in self.spec.metrics_of(column)))
                for column in self.spec.columns
            )
            notes = () if row.chance or row.dataset else tuple(self._row_notes(row))
            is_reference = row.chance or row.model in self.key.references
            yield rendered.TableRow(row.label, cells, notes, reference=is_reference)

    def source_of(self, row: Row, column: Column) -> str | None:
        """Return the subject of a cell's number: the data, or a run that this site makes."""
        if row.dataset:
            return f"{self.key.benchmark}/data"
        scored = self.scored_of(row, column)
        return scored.name if scored and scored.name in self.key.runs else None

    def scored_of(self, row: Row, column: Column) -> Scored | None:
        """Return the run of a cell, and the judge whose ratings it shows."""
        cell_row = row.in_column(column)
        if cell_row.model is None or cell_row.protocol is None or cell_row.sampling is None:
            return None
        run = Run(self.key.benchmark, cell_row.protocol, cell_row.sampling, cell_row.model)
        if cell_row.protocol not in self.key.judged:
            return Scored(run)
        candidates = (Scored(run, judge) for judge in row.judges or self.key.judge_order)
        return next((scored for scored in candidates if scored.name in self.key.runs), None)

    def found(self, row: Row, column: Column, metric: str, reading: tuple[str, str]) -> Mapping[str, Any] | None:
        """Return the number of a cell by one convention and reader; compute a ratio from the numbers of two runs."""
        group = row.group or column.group or ""
        if column.ratio is None:
            return self.numbers.get((self.source_of(row, column) or "", metric, group, *reading))
        denominator_column = column.model_copy(update={"sampling": column.ratio.over})
        numerator, denominator = (
            self.numbers.get((self.source_of(row, operand) or "", column.ratio.metric, group, *reading))
            for operand in (column, denominator_column)
        )
        if not numerator or not denominator or numerator["value"] is None or not denominator["value"]:
            return None
        ratio = {"metric": metric, "value": 100 * numerator["value"] / denominator["value"]}
        return {**numerator, **ratio, "low": None, "high": None, "p_chance": None}

    def _number(self, row: Row, column: Column, metric: str, section: Section) -> Number:
        """Return one number: the one measured here if possible, else chance, else the published one, else a dash."""
        key, group, cell_row = self.key, row.group or column.group or "", row.in_column(column)
        # A sampling with frames, but with fewer than the protocol's `frames_min`, is greyed for this metric.
        frames_min = key.frames_min.get(cell_row.protocol or "", {}).get(metric, 0)
        greyed = 0 < key.frames.get(cell_row.sampling or "", 0) < frames_min
        paper = self.paper_value(row, column, metric) if key.show_published else None
        paper_columns = {"published": paper.value, "published_decimals": paper.decimals} if paper else {}
        cell_columns = {
            "suite": key.suite, "table": f"{key.benchmark}/{key.table}", "section": section.title or "",
            "row": row.label, "column": column_name(column), "metric": metric, "group": group,
        }  # fmt: skip

        if row.chance:
            chance = self._chance(cell_row, metric, group)
            if chance is not None or paper is None:
                self.tidy.append({"value": chance, **cell_columns, "source": "chance"})
                return Number(chance, column.decimals, column.signed)
        measurement = self.found(row, column, metric, SHOWN)
        notes: tuple[str, ...] = ()
        if measurement is not None:
            is_imported = self.source_of(row, column) in key.imported
            source = "data" if row.dataset else "imported" if is_imported else "reproduced"
            for reading in (SHOWN, COMPARED):
                if reading_row := self.found(row, column, metric, reading):
                    columns = {name: reading_row[name] for name in TIDY if name in reading_row}
                    self.tidy.append({**columns, **paper_columns, **cell_columns, "source": source})
            notes = tuple(filter(None, [measurement["note"], self._compared_with_group(measurement)]))
        if measurement is not None and (measurement["value"] is not None or paper is None):
            interval = (
                None
                if measurement["low"] is None or measurement["high"] is None
                else (measurement["low"], measurement["high"])
            )
            p_chance = measurement["p_chance"] if self.spec.significance else None
            return Number(
                measurement["value"],
                column.decimals,
                column.signed,
                "incomplete" if measurement["missing"] else "imported" if is_imported else "reproduced",
                significant=p_chance is not None and p_chance < ALPHA and not greyed,
                greyed=greyed,
                published=paper.value if paper else None,
                notes=notes,
                interval=interval if self.spec.intervals else None,
                link=self.link(subject(measurement), metric, group) if self.link else "",
            )
        if paper is not None:
            self.tidy.append({"value": paper.value, **paper_columns, **cell_columns, "source": "published"})
            return Number(paper.value, column.decimals, column.signed, "published", greyed=greyed, notes=notes)
        # A cell with neither our number nor the paper's shows the reason.
        state: rendered.State = "reproduced"
        if not row.chance and self.source_of(row, column) is None:
            is_lost = self.spec.is_damaged and key.show_published
            state = "lost" if is_lost else "not run" if cell_row.model is not None else "reproduced"
        return Number(None, column.decimals, state=state)

    def paper_value(self, row: Row, column: Column, metric: str) -> Printed | None:
        """Return the published value of a cell, by the names that the csv gives its row and column."""
        names = column.published
        if names is None:
            return None
        label = names.row or row.published or row.label
        frames = row.frames if names.frames is None else names.frames
        if label in names.stated:
            return Printed.of(str(names.stated[label]))
        return self.published.get(label, frames, names.group or row.group or column.group or "", metric)

    def _compared_with_group(self, measurement: Mapping[str, Any]) -> str:
        """Return a note if a group's share differs significantly from the same run's share of another group."""
        reference = self.numbers.get(
            (subject(measurement), measurement["metric"], self.spec.compared_with or "", *SHOWN)
        )
        if (
            reference is None
            or reference["value"] is None
            or not 0 < reference["value"] < 100
            or not measurement["asked"]
        ):
            return ""
        right, share = round(measurement["value"] * measurement["asked"] / 100), reference["value"] / 100
        for word, p in (
            ("above", binomial_p(right, measurement["asked"], share)),
            ("below", binomial_p(right, measurement["asked"], share, "less")),
        ):
            if p is not None and p < ALPHA:
                return (
                    f"Significantly {word} the same model's score over group '{self.spec.compared_with}' "
                    f"(one-sided exact binomial test, alpha {ALPHA}, that score taken as known)."
                )
        return ""

    def _chance(self, row: Row, metric: str, group: str) -> float | None:
        """Return the score of random guessing: a constant of the benchmark, or the one counted from its data."""
        constant = self.benchmark.CHANCE.get(metric)
        if constant is not None:
            return constant
        form = self.key.forms.get(row.protocol or "", "")
        counted = self.numbers.get((f"{self.key.benchmark}/data", f"chance.{form}.{metric}", group, *SHOWN))
        return None if counted is None else float(counted["value"])

    def _row_notes(self, row: Row) -> Iterator[str]:
        """Yield what a reader must know of a row's numbers: counts, weights, imports, judges, another convention."""
        numbers = self._shown_numbers(row)
        if numbers:
            largest = max(numbers, key=lambda number: number["asked"] + number["missing"])
            unread = "without a judgement" if largest["judge"] else "not readable"
            counts = [
                f"{max(number[name] for number in numbers)} {words}"
                for name, words in (("missing", "without a clip"), ("failed", "failed"), ("unparsed", unread))
                if any(number[name] for number in numbers)
            ]
            if counts:
                yield f"Of up to {largest['asked'] + largest['missing']} samples: {', '.join(counts)}."
        runs = [scored for column in self.spec.columns if (scored := self.scored_of(row, column))]
        own_runs = [scored for scored in runs if scored.name in self.key.runs]
        models_by_role = {
            "Asked": {scored.run.model for scored in own_runs},
            "Judged": {scored.judge for scored in own_runs},
        }
        for role, models in models_by_role.items():
            if methods := sorted({self.key.quantised[model] for model in models & self.key.quantised.keys()}):
                yield f"{role} with quantised weights ({', '.join(methods)})."
        names = {name for scored in runs for name in (scored.name, scored.run.name)}
        problems = sum((self.problems.get(name, Counter()) for name in sorted(names)), Counter[str]())
        if summary := ", ".join(f"{count} {problem}" for problem, count in problems.most_common()):
            yield f"Problems of imported answers: {summary}."
        # Rows have different judges, and this row's label does not name its own.
        if not row.judges and len(judges_of(self.metrics)) > 1:
            judges = sorted({scored.judge for scored in runs if scored.judge})
            yield from (f"Judged by {self.key.judges[judge]}." for judge in judges)
        if differing := self._differing_columns(row):
            if len(differing) > MAX_LISTED or self._differing_row_count > MAX_LISTED:
                yield "By the authors' convention and reader the row has other numbers: see the csv."
            else:
                yield f"By the authors' convention and reader: {', '.join(differing)}."

    def _shown_numbers(self, row: Row) -> list[Mapping[str, Any]]:
        """Return the measured numbers that a row shows."""
        return [number for cell in self._cells if (number := self.found(row, *cell, SHOWN)) is not None]

    @cached_property
    def _differing_row_count(self) -> int:
        """Return the number of rows for which the authors' convention gives other numbers."""
        return sum(bool(self._differing_columns(row)) for row in self.spec.rows())

    def _differing_columns(self, row: Row) -> list[str]:
        """Return the columns of a row for which the authors' convention prints another number, and that number."""
        columns = []
        for column, metric in self._cells:
            numbers = [self.found(row, column, metric, reading) for reading in (SHOWN, COMPARED)]
            values = [number["value"] for number in numbers if number]
            texts = ["-" if value is None else f"{value:.{column.decimals}f}" for value in values]
            if len(set(texts)) == len(numbers):
                columns.append(f"{column_name(column)} {texts[1]}")
        return columns

    def wrong_lines(self) -> list[str]:
        """Return the line that says how failed and unread answers are counted, if there are any."""
        rows = [row for row in self.spec.rows() if not row.dataset]
        has_wrong = any(number["failed"] or number["unparsed"] for row in rows for number in self._shown_numbers(row))
        return ["What failed or could not be read counts as wrong."] if has_wrong else []

    def judged_by(self) -> str:
        """Return the sentence that names the judges of our ratings and of the paper's."""
        shows_paper = any(row["source"] == "published" for row in self.tidy)
        ours = [f"{self.key.judges[judge]} ({judge})" for judge in judges_of(self.metrics)]
        theirs = [f"{self.spec.judge}{' (published values)' if ours else ''}"] if shows_paper else []
        return f"Judged by {'; '.join(ours + theirs)}." if ours or theirs else ""
