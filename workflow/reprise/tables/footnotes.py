"""Write the footnotes of a table: judges, extractors, flawed entries, broken runs and provenance."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import polars as pl

from reprise.benchmarks import health
from reprise.benchmarks.annotations import FLAWS_METRIC
from reprise.core.notation import format_share, format_value
from reprise.core.plain import summarize_list
from reprise.core.schemas import EXTRACTORS_DIFFER
from reprise.core.version import VERSION
from reprise.extraction.rules import CUSTOM_RULE_SUFFIX
from reprise.tables.keys import TableKey
from reprise.tables.measurements import subject_name


def list_judges(metrics: pl.DataFrame) -> list[str]:
    """Return the judges whose ratings the metrics are computed from."""
    return metrics["judge"].drop_nulls().unique().sort().to_list()


def broken_run_notes(key: TableKey, metrics: pl.DataFrame, labels: Mapping[str, str]) -> list[str]:
    """Return a warning with the reasons for each run that looks broken, except baselines.

    `labels` maps the name of a run to the label of its row.
    """
    lines = [
        f"{labels.get(name, name)} looks broken: {'; '.join(reasons)}."
        for name, rows in _health_by_subject(metrics)
        if rows[0]["run"].rpartition("/")[2] not in key.reference_models and (reasons := health.find_problems(rows))
    ]
    return summarize_list(lines, 8, "{} more runs look broken: see the provenance.")


def _health_by_subject(metrics: pl.DataFrame) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the health metrics of each scored run, with its name."""
    health_metrics = metrics.filter(pl.col("metric").str.starts_with(health.HEALTH_PREFIX)).unique(maintain_order=True)
    rows = sorted(health_metrics.iter_rows(named=True), key=subject_name)
    return [(name, list(numbers)) for name, numbers in groupby(rows, subject_name)]


def judge_notes(key: TableKey, metrics: pl.DataFrame) -> list[str]:
    """Return notes on the judges, unless the caption names them, and on runs that no judge has rated."""
    judges = () if key.spec.judge else list_judges(metrics)
    counts = _extractor_counts(metrics).filter(pl.col("judge").is_not_null())
    # A judge of all answers is recorded as `<judge>: <rule>`, and a judge of unparsed answers as `<judge>`.
    # `extraction_notes` names the judges of unparsed answers.
    is_rule_of_judge = pl.col("extractor").str.starts_with(pl.col("judge") + ": ")
    extracting_judges = set(counts["judge"]) - set(counts.filter(is_rule_of_judge)["judge"])
    lines = [f"Answers judged by {key.judges[judge]}." for judge in judges if judge not in extracting_judges]
    if key.unjudged_runs:
        lines.append(f"Published values instead of {len(key.unjudged_runs)} runs that no judge has rated.")
    return lines


def _extractor_counts(metrics: pl.DataFrame) -> pl.DataFrame:
    """Return how many answers of each run each extraction rule or judge extracted."""
    rows = metrics.filter(metric=health.EXTRACTED_BY).unique(maintain_order=True)
    extractor = pl.col("group").str.strip_prefix(health.ANSWERS + health.GROUP_SEPARATOR)
    # The metric is a percentage of the requested answers.
    count = (pl.col("value") * pl.col("requested") / 100).round()
    return rows.select("run", "judge", "requested", extractor=extractor, count=count)


def extraction_notes(key: TableKey, metrics: pl.DataFrame) -> Iterator[str]:
    """Yield notes on differing extractors, on answers extracted by judges or custom rules, and on flawed entries."""
    difference_rows = metrics.filter(pl.col("metric") == EXTRACTORS_DIFFER).iter_rows(named=True)
    largest = max(difference_rows, key=lambda row: (row["value"] or 0) / max(row["requested"], 1), default=None)
    if largest is not None and largest["value"]:
        count, total = round(largest["value"]), largest["requested"]
        share = format_share(count, total)
        yield f"Our extraction rules and the authors' extract another answer from at most {share} responses of a run."
    counts = _extractor_counts(metrics)
    by_judge = counts.filter(pl.col("extractor") == pl.col("judge"))
    by_custom_rule = counts.filter(pl.col("extractor").str.ends_with(CUSTOM_RULE_SUFFIX))
    for (name,), rows in pl.concat([by_judge, by_custom_rule]).group_by("extractor", maintain_order=True):
        rule = str(name).removesuffix(CUSTOM_RULE_SUFFIX)
        extractor = key.judges.get(rule, f"the additional rule '{rule}'")
        unparsed = " that no extraction rule parses" if rule in key.judges else ""
        share = format_share(int(rows["count"].sum()), int(rows["requested"].sum()))
        yield f"{share} answers{unparsed} were extracted by {extractor}."
    yield from judge_notes(key, metrics)
    flaws = metrics.filter(pl.col("metric") == FLAWS_METRIC).select("value", "note").unique(maintain_order=True)
    for value, note in flaws.iter_rows():
        yield f"Flawed entries of the release: {format_value(value, 0)} ({note})."


def provenance_lines(key: TableKey, metrics: pl.DataFrame) -> Iterator[str]:
    """Yield lines with the suite, the paper, the convention, and the key and health of every run."""
    yield f"Suite {key.suite} ({key.suite_title}), Reprise {VERSION}."
    yield f"Paper: {key.paper}."
    if key.runs:
        yield (
            "Failed and unparsed answers count as wrong (convention fixed, extractor robust). "
            "Intervals and numbers by the authors' convention are in the csv."
        )
    for run in key.unjudged_runs:
        yield f"{run}: rated by no judge"
    digests = {row["run"]: row["key"] for row in metrics.iter_rows(named=True) if row["key"]}
    for run, digest in sorted(digests.items()):
        yield f"{run}: key {digest[:12]}"
    for name, rows in _health_by_subject(metrics):
        if summary := health.summarize_health(rows):
            yield f"{name}: {summary}"
