"""Summarize the health of all runs for the first page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reprise.core.notation import format_percentage, format_share
from reprise.report.keys import ReportedRun
from reprise.report.runs import RunSummary

NO_SCORES = "no answers were scored"


class Outcome(NamedTuple):
    """An outcome of items, whose number is listed for each run."""

    show: str  # kind of items in the item browser
    title: str
    field: str  # field of `RunSummary`

    def count(self, summary: RunSummary) -> int:
        """Return the number of a run's items with this outcome."""
        return int(getattr(summary, self.field))


OUTCOMES = (
    Outcome("failed", "failed", "failed"),
    Outcome("unparsed", "unparsed", "unparsed"),
    Outcome("missing", "no clip", "missing"),
    Outcome("extractors", "extractors differ", "extractors_differ"),
)


def list_outcomes(summaries: Mapping[str, RunSummary], runs: Sequence[ReportedRun]) -> list[Outcome]:
    """Return the outcomes that occur in any of the runs."""
    return [outcome for outcome in OUTCOMES if any(outcome.count(summaries[run.scored.name]) for run in runs)]


class OutcomeCounts(NamedTuple):
    """Numbers of items by outcome, summed over runs."""

    name: str  # kind of models
    runs: int
    items: int  # items with and without a clip
    requested: int
    failed: int
    unparsed: int
    missing: int  # items without a clip

    def describe(self) -> str:
        """Return each bad outcome that occurred, such as `29 of 7,708 unparsed (0.4 %)`."""
        outcomes = (
            ("failed", self.failed, self.requested),
            ("unparsed", self.unparsed, self.requested),
            ("without a clip", self.missing, self.items),
        )
        descriptions = [
            f"{format_share(count, total)} {name} ({format_percentage(100 * count / total, 1)})"
            for name, count, total in outcomes
            if count
        ]
        return ", ".join(descriptions) or "none failed, unparsed or without a clip"


class HealthSummary(NamedTuple):
    """Health of all runs."""

    broken_runs: list[tuple[ReportedRun, list[str]]]  # runs that look broken, with the reasons
    broken_counts: Counter[str]  # benchmark -> number of runs that look broken
    counts: list[OutcomeCounts]  # of the models, whose health is checked, and of the baselines


def summarize_health(
    runs: Sequence[ReportedRun], summaries: Mapping[str, RunSummary], problems_by_run: Mapping[str, list[str]]
) -> HealthSummary:
    """Return the runs that look broken, and the outcomes of all items. A run without scored answers looks broken."""
    broken_runs = []
    for run in runs:
        reasons = problems_by_run[run.scored.name] or (
            [] if summaries[run.scored.name].requested or run.reference else [NO_SCORES]
        )
        if reasons:
            broken_runs.append((run, reasons))
    groups = (
        ("models", [run for run in runs if not run.reference]),
        ("baselines", [run for run in runs if run.reference]),
    )
    counts = [_count_outcomes(name, [summaries[run.scored.name] for run in members]) for name, members in groups]
    return HealthSummary(
        broken_runs,
        Counter(run.scored.run.benchmark for run, _ in broken_runs),
        [count for count in counts if count.runs],
    )


def _count_outcomes(name: str, summaries: Sequence[RunSummary]) -> OutcomeCounts:
    requested, failed, unparsed, missing = (
        sum(getattr(summary, field) for summary in summaries)
        for field in ("requested", "failed", "unparsed", "missing")
    )
    return OutcomeCounts(name, len(summaries), requested + missing, requested, failed, unparsed, missing)
