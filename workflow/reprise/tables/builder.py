"""Build one table: look up the number of every cell, for the rendered table and for the tidy rows of its csv."""

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
from reprise.core.notation import EN_DASH, format_value
from reprise.core.paths import Run, ScoredRun
from reprise.stats.beta import ALPHA
from reprise.stats.paired import adjust_holm, share_p
from reprise.tables.footnotes import broken_run_notes, extraction_notes, list_judges, provenance_lines
from reprise.tables.keys import TableKey
from reprise.tables.measurements import check_failed, check_missing, subject_name
from reprise.tables.published import PublishedNumber, PublishedTable
from reprise.tables.render import table as rendered
from reprise.tables.render.table import Cell, TableNumber, TextCell, mark_best

# Convention (how failed and unparsed answers count) and extractor of the numbers that tables show.
DEFAULT_EXTRACTION = ("fixed", "robust")
# Convention and extractor of the numbers that only the csv has.
AUTHORS_EXTRACTION = ("authors", "authors")
NOT_FINITE_NOTE = "The computed value is NaN or infinite; inspect the scores of the run."
# With more differing numbers in a row, or more rows with differing numbers, notes refer to the csv instead.
MAX_LISTED_DIFFERENCES = 3
TIDY_SCHEMA = pl.Schema(
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
        "requested": pl.Int32,
        "scored": pl.Int32,
        "failed": pl.Int32,
        "unparsed": pl.Int32,
        "missing": pl.Int32,
        "convention": pl.String,
        "extractor": pl.String,
        "source": pl.String,  # reproduced | imported | published | chance | data
        "run": pl.String,
        "judge": pl.String,
        "key": pl.String,
        "published": pl.Float64,  # the paper's number for the cell
        "published_decimals": pl.Int32,  # the number of decimals that the paper prints
    }
)

NumberLink: TypeAlias = Callable[[str, str, str], str]
"""Subject, metric and group of a number -> address of its items in the item browser."""


def column_name(column: Column) -> str:
    """Return a column's name with its spanning header."""
    return f"{column.span} {column.title}" if column.span else column.title


@dataclass
class TableBuilder:
    """Build one table, and collect its tidy rows: one row per number, with the columns of `TIDY_SCHEMA`."""

    key: TableKey
    metrics: pl.DataFrame
    published: PublishedTable
    problems: Mapping[str, Counter[str]] = field(default_factory=dict)
    """name of an imported run or of its imported ratings -> problem -> number of answers with this problem"""
    link: NumberLink | None = None  # None if the table is not part of a report
    tidy_rows: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spec = self.key.spec
        self._column_metrics = [
            (column, metric) for column in self.spec.columns for metric in self.spec.list_metrics(column)
        ]
        self.benchmark = load_scores(self.key.benchmark)
        # (subject, metric, group, convention, extractor) -> row of the metrics; a subject is a scored run, or
        # `<benchmark>/data` for statistics of the data
        self.numbers: dict[tuple[str, ...], Mapping[str, Any]] = {}
        # A NaN or infinite value becomes None, with a note.
        not_finite = {"value": None, "low": None, "high": None, "p_chance": None, "note": NOT_FINITE_NOTE}
        for row in self.metrics.iter_rows(named=True):
            is_finite = row["value"] is None or math.isfinite(row["value"])
            identity = (subject_name(row), row["metric"], row["group"], row["convention"], row["extractor"])
            self.numbers[identity] = row if is_finite else row | not_finite
        self._group_ps: dict[tuple[str, str], dict[str, float]] = {}  # run and metric -> group -> p-value
        check_missing(self.key, self.metrics)
        check_failed(self.key, self.metrics)

    def build(self) -> rendered.Table:
        """Return the table, and add its tidy rows to `tidy_rows`."""
        key, spec, rows = self.key, self.spec, self.spec.rows()
        has_only_data, has_only_judges = all(row.dataset for row in rows), all(row.judges for row in rows)
        # Sections are built first, because `describe_judges` reads the tidy rows that they add.
        sections = tuple(
            rendered.TableSection(tuple(self._rows(section)), section.title or "", marks_best=section.best)
            for section in spec.sections
        )
        table = rendered.Table(
            title=spec.title,
            origin=f"{key.benchmark_title}, Table {key.table.removeprefix('table')}",
            caption=f"{spec.caption} {self.describe_judges()}".strip() if spec.judge else spec.caption,
            label=f"tab:{key.benchmark.replace('_', '-')}-{key.table}",
            stub=spec.stub or ("Data set" if has_only_data else "Judge" if has_only_judges else "Model"),
            groups=tuple(
                rendered.ColumnGroup(tuple(rendered.TableColumn(column.title) for column in members), span or "")
                for span, members in groupby(spec.columns, key=lambda column: column.span)
            ),
            sections=sections,
            warnings=tuple(broken_run_notes(key, self.metrics, self._label_runs())),
            notes=(*self.find_wrong_answer_notes(), *extraction_notes(key, self.metrics), *spec.notes),
            provenance=tuple(provenance_lines(key, self.metrics)),
            notice=key.notice,
            has_comparison=key.show_published,
            bold=spec.bold,
            significance=f"above chance, one-sided binomial test of effective samples, alpha {ALPHA}, uncorrected",
            abbreviations=key.abbreviations,
        )
        if spec.best:
            for index, column in enumerate(spec.columns):
                table = mark_best(table, index, column.best)
        return table

    def _rows(self, section: Section) -> Iterator[rendered.TableRow]:
        """Yield the rendered rows of a section."""
        for row in section.resolve():
            cells = tuple(self._cell(row, column, section) for column in self.spec.columns)
            notes = () if row.chance or row.dataset else tuple(self._row_notes(row))
            is_reference = row.chance or row.model in self.key.reference_models
            yield rendered.TableRow(row.label, cells, notes, is_reference=is_reference)

    def _cell(self, row: Row, column: Column, section: Section) -> Cell | TextCell:
        """Return a cell with one number per metric of its column, or with the row's number of frames as a text."""
        if column.shows == "frames":
            return TextCell(row.frames or EN_DASH)
        return Cell(tuple(self._number(row, column, metric, section) for metric in self.spec.list_metrics(column)))

    def find_subject(self, row: Row, column: Column) -> str | None:
        """Return the subject of a cell's measured number: the benchmark's data or a scored run; None without one."""
        if row.dataset:
            return f"{self.key.benchmark}/data"
        scored = self.find_scored_run(row, column)
        return scored.name if scored and scored.name in self.key.runs else None

    def find_scored_run(self, row: Row, column: Column) -> ScoredRun | None:
        """Return the scored run of a cell, or None if the cell has no run or no judge rated the run."""
        cell_row = row.for_column(column)
        if cell_row.model is None or cell_row.protocol is None or cell_row.sampling is None:
            return None
        run = Run(self.key.benchmark, cell_row.protocol, cell_row.sampling, cell_row.model)
        if cell_row.protocol not in self.key.judged_protocols:
            return ScoredRun(run)
        candidates = (ScoredRun(run, judge) for judge in row.judges or self.key.judge_order)
        return next((scored for scored in candidates if scored.name in self.key.runs), None)

    def _label_runs(self) -> dict[str, str]:
        """Return the label of the first row of each run, by the name of the run with and without its judge."""
        labels: dict[str, str] = {}
        for row in self.spec.rows():
            for column in self.spec.columns:
                if (scored := self.find_scored_run(row, column)) is not None:
                    labels.setdefault(scored.name, row.label)
                    labels.setdefault(scored.run.name, row.label)
        return labels

    def find_number(
        self, row: Row, column: Column, metric: str, extraction: tuple[str, str]
    ) -> Mapping[str, Any] | None:
        """Return the number of a cell by a convention and an extractor, the two parts of `extraction`.

        The number of a ratio column is computed from the numbers of two runs.
        """
        group = row.group or column.group or ""
        if column.ratio is None:
            return self.numbers.get((self.find_subject(row, column) or "", metric, group, *extraction))
        denominator_column = column.model_copy(update={"sampling": column.ratio.over})
        numerator, denominator = (
            self.numbers.get((self.find_subject(row, operand) or "", column.ratio.metric, group, *extraction))
            for operand in (column, denominator_column)
        )
        if not numerator or not denominator or numerator["value"] is None or not denominator["value"]:
            return None
        ratio = {"metric": metric, "value": 100 * numerator["value"] / denominator["value"]}
        return {**numerator, **ratio, "low": None, "high": None, "p_chance": None}

    def _number(self, row: Row, column: Column, metric: str, section: Section) -> TableNumber:
        """Return the number of a cell, and add its tidy rows.

        A row of chance shows the chance level. Other rows show the measured number, or else the published number.
        """
        key, group, cell_row = self.key, row.group or column.group or "", row.for_column(column)
        # Numbers from fewer frames than the protocol's `frames_min` are grey, except those of text-only baselines.
        frames_min = key.frames_min.get(cell_row.protocol or "", {}).get(metric, 0)
        is_greyed = 0 < key.frames.get(cell_row.sampling or "", 0) < frames_min
        published = self.find_published(row, column, metric) if key.show_published else None
        published_columns = (
            {"published": published.value, "published_decimals": published.decimals} if published else {}
        )
        cell_columns = {
            "suite": key.suite, "table": f"{key.benchmark}/{key.table}", "section": section.title or "",
            "row": row.label, "column": column_name(column), "metric": metric, "group": group,
        }  # fmt: skip

        if row.chance:
            chance = self._find_chance_level(cell_row, metric, group)
            # An unknown chance level is replaced by the published one, if there is one.
            if chance is not None or published is None:
                self.tidy_rows.append({"value": chance, **cell_columns, "source": "chance"})
                return TableNumber(chance, column.decimals, column.signed)
        measurement = self.find_number(row, column, metric, DEFAULT_EXTRACTION)
        notes: tuple[str, ...] = ()
        if measurement is not None:
            is_imported = self.find_subject(row, column) in key.imported_runs
            source = "data" if row.dataset else "imported" if is_imported else "reproduced"
            for extraction in (DEFAULT_EXTRACTION, AUTHORS_EXTRACTION):
                if number := self.find_number(row, column, metric, extraction):
                    number_columns = {name: number[name] for name in TIDY_SCHEMA if name in number}
                    self.tidy_rows.append({**number_columns, **published_columns, **cell_columns, "source": source})
            notes = tuple(filter(None, [measurement["note"], self._describe_group_difference(measurement)]))
        if measurement is not None and (measurement["value"] is not None or published is None):
            interval = (
                None
                if measurement["low"] is None or measurement["high"] is None
                else (measurement["low"], measurement["high"])
            )
            p_chance = measurement["p_chance"] if self.spec.significance else None
            return TableNumber(
                measurement["value"],
                column.decimals,
                column.signed,
                "incomplete" if measurement["missing"] else "imported" if is_imported else "reproduced",
                is_significant=p_chance is not None and p_chance < ALPHA and not is_greyed,
                is_greyed=is_greyed,
                published=published.value if published else None,
                notes=notes,
                interval=interval if self.spec.intervals else None,
                link=self.link(subject_name(measurement), metric, group) if self.link else "",
            )
        if published is not None:
            self.tidy_rows.append(
                {"value": published.value, **published_columns, **cell_columns, "source": "published"}
            )
            return TableNumber(
                published.value, column.decimals, column.signed, "published", is_greyed=is_greyed, notes=notes
            )
        # A cell with neither a measured nor a published number shows the reason, if it is known.
        state: rendered.State = "reproduced"
        if not row.chance and self.find_subject(row, column) is None:
            if self.spec.is_damaged and key.show_published:
                state = "lost"
            elif cell_row.model is not None:
                state = "not run"
        return TableNumber(None, column.decimals, state=state)

    def find_published(self, row: Row, column: Column, metric: str) -> PublishedNumber | None:
        """Return the published number of a cell. The csv file of the paper may name the row and column differently."""
        names = column.published
        if names is None:
            return None
        label = names.row or row.published or row.label
        frames = row.frames if names.frames is None else names.frames
        if label in names.values_in_text:
            return PublishedNumber.parse(str(names.values_in_text[label]))
        return self.published.get(label, frames, names.group or row.group or column.group or "", metric)

    def _describe_group_difference(self, measurement: Mapping[str, Any]) -> str:
        """Return a note if a score differs significantly from the same run's score over the group `compared_with`."""
        subject, metric = subject_name(measurement), measurement["metric"]
        p = self._corrected_group_ps(subject, metric).get(measurement["group"], 1.0)
        reference = self._reference_share(subject, metric)
        if p >= ALPHA or reference is None:
            return ""
        direction = "above" if measurement["value"] > reference else "below"
        return (
            f"Significantly {direction} the same model's score over '{self._reference_title}' (two-sided test by the "
            f"clustered interval, Holm's correction over the groups, alpha {ALPHA}; that score counts as exact)."
        )

    @property
    def _reference_title(self) -> str:
        """Return the title of the row or column of the reference group."""
        titles = {row.group: row.label for row in self.spec.rows()}
        titles |= {column.group: column_name(column) for column in self.spec.columns if column.group}
        return titles.get(self.spec.compared_with, self.spec.compared_with or "")

    def _corrected_group_ps(self, subject: str, metric: str) -> dict[str, float]:
        """Return the corrected p-value of each group against the reference group, for one run and metric."""
        if (subject, metric) not in self._group_ps:
            reference = self._reference_share(subject, metric)
            groups = {row.group or column.group or "" for row in self.spec.rows() for column in self.spec.columns}
            numbers = {group: self.numbers.get((subject, metric, group, *DEFAULT_EXTRACTION)) for group in groups}
            ps = {
                group: share_p(number["value"], number["low"], number["high"], reference, self.key.confidence)
                for group, number in sorted(numbers.items())
                if number and reference is not None and number["low"] is not None and group != self.spec.compared_with
            }
            self._group_ps[subject, metric] = dict(zip(ps, adjust_holm(list(ps.values())), strict=True))
        return self._group_ps[subject, metric]

    def _reference_share(self, subject: str, metric: str) -> float | None:
        """Return a run's score over the reference group; None if it is 0, 100 or unknown."""
        number = self.numbers.get((subject, metric, self.spec.compared_with or "", *DEFAULT_EXTRACTION))
        value = None if number is None else number["value"]
        return value if value is not None and 0 < value < 100 else None

    def _find_chance_level(self, row: Row, metric: str, group: str) -> float | None:
        """Return the score of random guessing: a constant of the benchmark, or a value computed from its data."""
        constant = self.benchmark.CHANCE.get(metric)
        if constant is not None:
            return constant
        form = self.key.forms.get(row.protocol or "", "")
        number = self.numbers.get((f"{self.key.benchmark}/data", f"chance.{form}.{metric}", group, *DEFAULT_EXTRACTION))
        return None if number is None else float(number["value"])

    def _row_notes(self, row: Row) -> Iterator[str]:
        """Yield the footnotes of a row: counts, quantised weights, import problems, judges and differences."""
        numbers = self._find_measured_numbers(row)
        if numbers:
            largest = max(numbers, key=lambda number: number["requested"] + number["missing"])
            unparsed = "without a judgement" if largest["judge"] else "unparsed"
            counts = [
                f"{max(number[name] for number in numbers)} {words}"
                for name, words in (("missing", "without a clip"), ("failed", "failed"), ("unparsed", unparsed))
                if any(number[name] for number in numbers)
            ]
            if counts:
                yield f"Of up to {largest['requested'] + largest['missing']} samples: {', '.join(counts)}."
        runs = [scored for column in self.spec.columns if (scored := self.find_scored_run(row, column))]
        measured_runs = [scored for scored in runs if scored.name in self.key.runs]
        models_by_role = {
            "Run": {scored.run.model for scored in measured_runs},
            "Judged": {scored.judge for scored in measured_runs},
        }
        for role, models in models_by_role.items():
            if methods := sorted({self.key.quantised[model] for model in models & self.key.quantised.keys()}):
                yield f"{role} with quantised weights ({', '.join(methods)})."
        # A judged run has problems of its ratings (by the name with the judge) and of its answers (without the judge).
        names = {name for scored in runs for name in (scored.name, scored.run.name)}
        problems = sum((self.problems.get(name, Counter()) for name in sorted(names)), Counter[str]())
        if summary := ", ".join(f"{problem} ({count})" for problem, count in problems.most_common()):
            yield f"Problems of imported answers: {summary}."
        # If rows have different judges, a note names the judge, unless the label of the row does.
        if not row.judges and len(list_judges(self.metrics)) > 1:
            judges = sorted({scored.judge for scored in runs if scored.judge})
            yield from (f"Judged by {self.key.judges[judge]}." for judge in judges)
        if differing_columns := self._find_differing_columns(row):
            if len(differing_columns) > MAX_LISTED_DIFFERENCES or self._differing_row_count > MAX_LISTED_DIFFERENCES:
                yield "The authors' way to extract and count answers gives other numbers in this row."
            else:
                yield f"By the authors' way to extract and count answers: {', '.join(differing_columns)}."

    def _find_measured_numbers(self, row: Row) -> list[Mapping[str, Any]]:
        """Return the measured numbers that a row shows."""
        return [
            number
            for column, metric in self._column_metrics
            if (number := self.find_number(row, column, metric, DEFAULT_EXTRACTION)) is not None
        ]

    @cached_property
    def _differing_row_count(self) -> int:
        """Return the number of rows whose numbers by the authors' convention differ."""
        return sum(bool(self._find_differing_columns(row)) for row in self.spec.rows())

    def _find_differing_columns(self, row: Row) -> list[str]:
        """Return the columns of a row whose numbers by both conventions print differently, with the authors'."""
        descriptions = []
        for column, metric in self._column_metrics:
            numbers = [
                self.find_number(row, column, metric, extraction)
                for extraction in (DEFAULT_EXTRACTION, AUTHORS_EXTRACTION)
            ]
            values = [number["value"] for number in numbers if number]
            texts = [format_value(value, column.decimals) for value in values]
            if len(texts) == 2 and texts[0] != texts[1]:
                descriptions.append(f"{column_name(column)} {texts[1]}")
        return descriptions

    def find_wrong_answer_notes(self) -> list[str]:
        """Return a note on how failed and unparsed answers count, if the table has such answers."""
        rows = [row for row in self.spec.rows() if not row.dataset]
        has_such_answers = any(
            number["failed"] or number["unparsed"] for row in rows for number in self._find_measured_numbers(row)
        )
        return ["Failed and unparsed answers count as wrong."] if has_such_answers else []

    def describe_judges(self) -> str:
        """Return the sentence that names the judges of the measured and of the published ratings."""
        has_published = any(row["source"] == "published" for row in self.tidy_rows)
        judges = [self.key.judges[judge] for judge in list_judges(self.metrics)]
        paper_judges = [f"{self.spec.judge}{' (published values)' if judges else ''}"] if has_published else []
        return f"Judged by {'; '.join(judges + paper_judges)}." if judges or paper_judges else ""
