"""Compare every measured number with the number in the paper, and summarise the verdicts by paper and table."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import polars as pl

from reprise.core.notation import EN_DASH, format_difference, format_interval, format_value
from reprise.external.answers import DIFFERENT_FRAMES, DIFFERENT_PROMPT
from reprise.external.lmms_eval import FEWER_TOKENS, PARTIAL_RUN
from reprise.stats.measures import LOST_LIMIT
from reprise.tables.keys import ReproductionKey, TableTitle
from reprise.tables.published import PublishedNumber
from reprise.tables.render import table as rendered

VerdictName = Literal["within margin", "differs", "too few to tell", "not comparable"]
VERDICT_NAMES: tuple[VerdictName, ...] = ("within margin", "differs", "too few to tell", "not comparable")
DEFAULT_MARGIN = 2.0  # points
# Problems of imported answers that another tool gave under other conditions than those of their run.
OTHER_CONDITIONS = (DIFFERENT_PROMPT, DIFFERENT_FRAMES, FEWER_TOKENS, PARTIAL_RUN)
ERROR_RATE = 0.05  # significance level of both tests
# Half the length of a 95 % interval, in standard errors. A test for a difference at 5 % uses this interval.
DIFFERENCE_QUANTILE = NormalDist().inv_cdf(1 - ERROR_RATE / 2)
# Length of a 90 % interval as a share of a 95 % interval. An equivalence test at 5 % uses the 90 % interval.
EQUIVALENCE_RATIO = NormalDist().inv_cdf(1 - ERROR_RATE) / DIFFERENCE_QUANTILE
# The columns of a table's csv that identify a number.
IDENTITY_COLUMNS = ("table", "section", "row", "column", "metric", "group", "run", "judge")
REPRODUCTION_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(IDENTITY_COLUMNS, pl.String),
        "extractor": pl.String,
        "ours": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "published": pl.Float64,
        "difference": pl.Float64,
        "margin": pl.Float64,
        "uncertainty": pl.Float64,
        "verdict": pl.String,
        "why": pl.String,
        "conditions": pl.String,
        "key": pl.String,
    }
)
CAPTION = (
    "Our numbers use the authors' convention and extractor. The paper's answers are not available, so the numbers "
    "cannot be paired; the paper's number is assumed to be as uncertain as ours. Within margin: an equivalence test at "
    "5 % excludes a difference above the margin. Differs: the 95 % interval of the difference excludes 0. Too few to "
    "tell: neither; ± is half the length of that interval. A count is within margin if it prints the same. Not "
    "comparable: the conditions differ, or {limit:.0%} or more of the answers failed or are unparsed. Chance alone "
    "makes at most about {wrong:.1f} of the {comparable} comparable scores `differs` although they are equal, or "
    "`within margin` although they are not."
)


class ReproductionVerdict(NamedTuple):
    """The result of comparing a measured number with the published one."""

    name: VerdictName
    reason: str = ""  # why the numbers are not comparable
    difference: float | None = None  # measured minus published
    margin: float | None = None  # the largest difference that counts as equal; 0 for exact numbers
    uncertainty: float | None = None  # half of the difference's 95 % interval, with the rounding of the paper's number

    @property
    def text(self) -> str:
        """Return the verdict as printed, such as `within ±2` or `too few to tell (±6.1)`."""
        if self.name == "within margin" and self.margin:
            return f"within ±{self.margin:g}"
        if self.name == "too few to tell":
            return f"too few to tell (±{self.uncertainty:.2g})"
        return f"{self.name}: {self.reason}" if self.reason else self.name


def compare_with_published(
    value: float | None,
    interval: tuple[float, float] | None,
    published: PublishedNumber,
    *,
    level: float = 0.95,
    margin: float = DEFAULT_MARGIN,
    is_exact: bool = False,
    obstacle: str = "",
) -> ReproductionVerdict:
    """Compare a measured number with the number in the paper.

    Both were measured on the same questions, but a paired comparison would need the paper's answers. The paper's number
    is assumed to be independent of the measured one, and as uncertain. The uncertainty of each is the longer half of
    the measured interval, which is rescaled from its confidence level `level` to 95 %. Half a unit of the published
    number's last digit is added for its rounding. For an exact number, such as a count, the tolerance is this half unit
    alone.

    `obstacle` is the reason why the numbers are not comparable, if there is one.
    """
    if value is None:
        return ReproductionVerdict("not comparable", "no answer could be scored")
    difference, rounding = value - published.value, 10.0**-published.decimals / 2
    if obstacle:
        return ReproductionVerdict("not comparable", obstacle, difference)
    if is_exact:
        is_same = abs(difference) < rounding or math.isclose(abs(difference), rounding)
        return ReproductionVerdict("within margin" if is_same else "differs", "", difference, 0.0, rounding)
    if interval is None:
        return ReproductionVerdict("not comparable", "no interval", difference)
    low, high = interval
    half_interval = max(value - low, high - value)
    # The difference of two independent numbers of the same uncertainty is sqrt(2) times as uncertain.
    sampling_error = math.sqrt(2) * half_interval * DIFFERENCE_QUANTILE / NormalDist().inv_cdf((1 + level) / 2)
    uncertainty = sampling_error + rounding
    if abs(difference) + EQUIVALENCE_RATIO * sampling_error + rounding <= margin:
        return ReproductionVerdict("within margin", "", difference, margin, uncertainty)
    name: VerdictName = "differs" if abs(difference) > uncertainty else "too few to tell"
    return ReproductionVerdict(name, "", difference, margin, uncertainty)


class NumberComparison(NamedTuple):
    """A measured number with its verdict."""

    row: Mapping[str, Any]  # the number's row of the table's csv
    verdict: ReproductionVerdict
    conditions: tuple[str, ...]  # conditions that may explain a difference, such as failed answers


class Reproduction:
    """Compute the verdicts on a suite's numbers from the csv files of its tables."""

    def __init__(
        self, key: ReproductionKey, tidy: pl.DataFrame, problems: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self._key = key
        self._problems = problems or {}  # run -> problems of its imported answers
        rows_by_identity: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in tidy.filter(pl.col("published").is_not_null()).iter_rows(named=True):
            if row["source"] != "published":
                identity = tuple(row[name] or "" for name in IDENTITY_COLUMNS)
                rows_by_identity.setdefault(identity, []).append(row)
        self.comparisons = [self._compare(rows) for rows in rows_by_identity.values()]

    def _compare(self, rows: Sequence[Mapping[str, Any]]) -> NumberComparison:
        """Compare a number by the authors' extractor, if there is one, and else by another one."""
        row = next((row for row in rows if row["extractor"] == "authors"), rows[0])
        # The authors' convention may leave lost answers out of all counts, so the other convention counts them.
        counts = max(rows, key=_lost_share)
        interval = None if row["low"] is None or row["high"] is None else (row["low"], row["high"])
        published = PublishedNumber(row["published"], row["published_decimals"])
        judge = self._key.judges.get(row["judge"] or "", "")
        paper_judge = self._key.paper_judges.get(row["table"], "")
        # Papers and labels write a judge's name with different case and punctuation, which the comparison ignores.
        judge_names = {"".join(filter(str.isalnum, name.lower())) for name in (judge, paper_judge)}
        has_other_extractor = row["extractor"] != "authors" and row["source"] != "data"
        problems = self._problems.get(row["run"] or "", ())
        has_other_judge = len(judge_names) == 2 and "" not in judge_names
        obstacles = [
            f"judged by {judge}, in the paper by {paper_judge}" if has_other_judge else "",
            *self._key.obstacles.get(row["run"] or "", ()),
            *self._key.obstacles.get(row["judge"] or "", ()),
            *(problem for problem in OTHER_CONDITIONS if problem in problems),
            f"extracted by {row['extractor']}, not by authors" if has_other_extractor else "",
            f"{row['missing']} samples without a clip" if row["missing"] else "",
            f"{_lost_count(counts)} of {counts['requested']} failed or unparsed"
            if _lost_share(counts) >= LOST_LIMIT
            else "",
        ]
        verdict = compare_with_published(
            row["value"],
            interval,
            published,
            level=self._key.confidence,
            margin=self._key.margins.get(row["table"].partition("/")[0], {}).get(row["metric"], DEFAULT_MARGIN),
            is_exact=row["source"] == "data",
            obstacle="; ".join(filter(None, obstacles)),
        )
        return NumberComparison(row, verdict, tuple(self._conditions(counts)))

    def _conditions(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Yield the conditions of a number that may explain a difference from the paper."""
        total = (row["requested"] or 0) + (row["missing"] or 0)
        for name, words in (("missing", "without a clip"), ("failed", "failed"), ("unparsed", "unparsed")):
            if row[name]:
                yield f"{row[name]} of {total} {words}"
        if row["source"] == "imported":
            yield "imported predictions"
        yield from self._key.conditions.get(row["run"] or "", ())

    def to_frame(self) -> pl.DataFrame:
        """Return the comparisons as rows of the csv, with the columns of `REPRODUCTION_SCHEMA`."""
        rows = []
        for row, verdict, conditions in self.comparisons:
            verdict_columns = {
                "ours": row["value"],
                "verdict": verdict.name,
                "why": verdict.reason,
                "conditions": "; ".join(conditions),
            }
            difference_columns = {
                "difference": verdict.difference,
                "margin": verdict.margin,
                "uncertainty": verdict.uncertainty,
            }
            rows.append(
                {name: row[name] for name in REPRODUCTION_SCHEMA if name in row} | verdict_columns | difference_columns
            )
        return pl.DataFrame(rows, schema=REPRODUCTION_SCHEMA)

    def build_tables(self) -> list[rendered.Table]:
        """Return the summary of the verdicts, followed by a table of comparisons for each table of the suite."""
        comparisons_by_table: dict[str, list[NumberComparison]] = {title.table: [] for title in self._key.titles}
        for comparison in self.comparisons:
            comparisons_by_table[comparison.row["table"]].append(comparison)
        details = (
            self._detail_table(title, comparisons_by_table[title.table])
            for title in self._key.titles
            if comparisons_by_table[title.table]
        )
        return [self._summary_table(comparisons_by_table), *details]

    def _summary_table(self, comparisons_by_table: Mapping[str, Sequence[NumberComparison]]) -> rendered.Table:
        rows: list[tuple[str, rendered.TableRow]] = []
        for paper in dict.fromkeys(title.paper for title in self._key.titles):
            comparisons_by_label = {
                title.number: comparisons_by_table[title.table] for title in self._key.titles if title.paper == paper
            }
            comparisons_by_label["All tables"] = list(chain.from_iterable(comparisons_by_label.values()))
            for label, comparisons in comparisons_by_label.items():
                counts = Counter(comparison.verdict.name for comparison in comparisons)
                cells = (
                    rendered.Cell((rendered.TableNumber(count, 0),))
                    for count in (len(comparisons), *(counts[name] for name in VERDICT_NAMES))
                )
                rows.append((paper, rendered.TableRow(label, tuple(cells))))
        comparable = sum(
            comparison.verdict.name != "not comparable" and comparison.row["source"] != "data"
            for comparison in self.comparisons
        )
        return rendered.Table(
            title="Reproduction",
            caption=CAPTION.format(comparable=comparable, wrong=ERROR_RATE * comparable, limit=LOST_LIMIT),
            label="tab:reproduction",
            stub="Table",
            groups=(rendered.ColumnGroup(tuple(map(rendered.TableColumn, ("numbers", *VERDICT_NAMES)))),),
            sections=rendered.group_into_sections(rows),
            notice=self._key.notice,
            provenance=(f"Suite {self._key.suite} ({self._key.suite_title}).",),
        )

    def _detail_table(self, title: TableTitle, comparisons: Sequence[NumberComparison]) -> rendered.Table:
        left_aligned = ("column", "verdict", "conditions")
        columns = ("column", "ours", "interval", "paper", "difference", "verdict", "conditions")
        return rendered.Table(
            title=title.title,
            origin=f"{title.paper}, {title.number}",
            caption="Our numbers beside the paper's.",
            label=f"tab:reproduction-{title.table.replace('/', '-').replace('_', '-')}",
            stub="Row",
            groups=(
                rendered.ColumnGroup(
                    tuple(rendered.TableColumn(name, "left" if name in left_aligned else "right") for name in columns)
                ),
            ),
            sections=rendered.group_into_sections(
                (comparison.row["section"] or "", _detail_row(comparison)) for comparison in comparisons
            ),
            notice=self._key.notice,
        )


def _lost_count(row: Mapping[str, Any]) -> int:
    """Return the number of failed and unparsed answers."""
    return int(row["failed"] or 0) + int(row["unparsed"] or 0)


def _lost_share(row: Mapping[str, Any]) -> float:
    """Return the share of failed and unparsed answers."""
    return _lost_count(row) / max(1, row["requested"] or 0)


def _detail_row(comparison: NumberComparison) -> rendered.TableRow:
    """Return the row of one comparison. Its numbers have the decimals of the published number, but at least two."""
    row, verdict = comparison.row, comparison.verdict
    decimals = max(2, row["published_decimals"])
    texts = (
        f"{row['column']} ({row['metric']})",
        format_value(row["value"], decimals),
        format_interval(row["low"], row["high"], decimals) or EN_DASH,
        format_value(row["published"], row["published_decimals"]),
        format_difference(verdict.difference, decimals),
        verdict.text,
        "; ".join(comparison.conditions),
    )
    return rendered.TableRow(row["row"], tuple(map(rendered.TextCell, texts)))
