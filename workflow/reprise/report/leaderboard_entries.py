"""Collect the numbers of a benchmark for the leaderboard: rows of the paper's main table, and other runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.headline import find_chance
from reprise.config.benchmark import SUBSET
from reprise.config.tables import Column
from reprise.media.ablations import NONE
from reprise.report.keys import Headline, ReportedBenchmark, ReportedRun
from reprise.tables.builder import TableBuilder


class Sources(NamedTuple):
    """Where a benchmark's numbers come from."""

    benchmark: ReportedBenchmark
    headline: Headline
    builder: TableBuilder | None  # builder of the paper's main table
    overview_runs: frozenset[str]
    numbers: Mapping[str, Mapping[str, Any]]  # run -> its number of the headline metric, as in the metrics
    sample_noun: str  # what the headline metric counts, if these are not items
    statistics: pl.DataFrame | None  # statistics of the benchmark's data, if its tables show them
    broken_runs: frozenset[str] = frozenset()  # runs that look broken

    def find_chance(self, protocol: str) -> float | None:
        """Return the chance level of the headline metric by a protocol: computed, or else as the paper prints it."""
        benchmark, headline = self.benchmark, self.headline
        form = benchmark.forms.get(protocol, "")
        chance = find_chance(benchmark.name, form, headline.metric, headline.group, self.statistics) if form else None
        column = _find_column(self.builder, headline) if self.builder is not None else None
        if chance is not None or self.builder is None or column is None:
            return chance
        rows = (row for row in self.builder.spec.rows() if row.chance)
        numbers = (self.builder.find_published(row, column, headline.metric) for row in rows)
        return next((number.value for number in numbers if number), None)


class Entry(NamedTuple):
    """A number before it is assigned to a row of the leaderboard."""

    name: str  # name of the paper's row, or label of the run
    model: str  # slug; empty for a row with published numbers only
    protocol: str
    sampling: str
    is_subset: bool
    is_close: tuple[bool, bool]  # whether protocol and sampling are those of the headline
    run: ReportedRun | None = None
    published: float | None = None
    needs_condition: bool = False  # whether a reader would expect another protocol or sampling than those of the run


def collect_entries(sources: Sources) -> list[Entry]:
    """Return the numbers of a benchmark: of each row of the main table, and one run of each model without such a row.

    A run replaces the model's row of the main table if that row was not run, and takes over its published number. A
    model's first entry names its protocol and sampling if a run that has precedence has no number.
    """
    paper_entries = sorted(_list_paper_entries(sources), key=lambda entry: entry.is_close, reverse=True)
    main_entries: dict[tuple[str, bool], Entry] = {}  # the row of each model that is closest to the headline
    for entry in paper_entries:
        if entry.model:
            main_entries.setdefault((entry.model, entry.is_subset), entry)
    other_runs = _select_other_runs(
        sources, main_entries, {entry.run.scored.name for entry in paper_entries if entry.run}
    )
    replaced = [main_entries[subject] for subject in other_runs if subject in main_entries]
    entries = [*other_runs.values(), *(entry for entry in paper_entries if entry not in replaced)]
    subjects = [(entry.model, entry.is_subset) for entry in entries]
    return [
        entry._replace(needs_condition=True)
        if subject not in subjects[:index] and _is_substitute(entry, sources)
        else entry
        for index, (subject, entry) in enumerate(zip(subjects, entries, strict=True))
    ]


def find_headline_number(headline: Headline, metrics: pl.DataFrame) -> Mapping[str, Any] | None:
    """Return a run's number of the benchmark's headline, if it has one."""
    rows = metrics.filter(pl.col("value").is_finite(), metric=headline.metric, group=headline.group, convention="fixed")
    return rows.row(0, named=True) if rows.height else None


def _list_paper_entries(sources: Sources) -> Iterator[Entry]:
    """Yield the numbers of the rows of the paper's main table."""
    builder, headline = sources.builder, sources.headline
    column = _find_column(builder, headline) if builder is not None else None
    if builder is None or column is None:
        return
    runs = {run.scored.name: run for run in sources.benchmark.runs if run.scored.name in sources.numbers}
    for row in builder.spec.rows():
        if row.chance or row.dataset:
            continue
        scored = builder.find_scored_run(row, column)
        run = runs.get(scored.name) if scored else None
        number = builder.find_published(row, column, headline.metric)
        if run is not None or number is not None:
            yield Entry(
                # The file of published numbers tells rows of the same label apart.
                name=row.published or row.label,
                model=row.model or "",
                protocol=row.protocol or "",
                sampling=row.sampling or "",
                is_subset=sources.benchmark.items.get(row.protocol or "") == SUBSET,
                is_close=_is_close(row.protocol, row.sampling, headline),
                run=run,
                published=number.value if number else None,
            )


def _find_column(builder: TableBuilder, headline: Headline) -> Column | None:
    """Return the column of a table that shows the headline metric."""
    columns = (
        column
        for column in builder.spec.columns
        if column.group == headline.group and headline.metric in builder.spec.list_metrics(column)
    )
    return next(columns, None)


def _is_close(protocol: str | None, sampling: str | None, headline: Headline) -> tuple[bool, bool]:
    """Return whether protocol and sampling are those of the headline; the protocol of a subset counts as the same."""
    names = [(name or "").removesuffix(f".{SUBSET}") for name in (protocol, headline.protocol)]
    return names[0] == names[1], sampling == headline.sampling


def _select_other_runs(
    sources: Sources, main_entries: Mapping[tuple[str, bool], Entry], used_runs: Iterable[str]
) -> dict[tuple[str, bool], Entry]:
    """Return one run of each model whose row of the main table was not run: of the overview, or else the closest one.

    Runs with temporal ablations do not count. Keys are the model and whether its run is about the subset.
    """
    benchmark, headline = sources.benchmark, sources.headline
    excluded = {*used_runs, *_list_ablations(benchmark)}
    headline_items = benchmark.items.get(headline.protocol, "")
    candidates: dict[tuple[str, bool], list[ReportedRun]] = {}
    for run in benchmark.runs:
        items = benchmark.items.get(run.scored.run.protocol, "")
        subject = run.scored.run.model, items == SUBSET
        is_same_task = items == SUBSET or headline_items in (items, SUBSET)
        is_needed = subject not in main_entries or main_entries[subject].run is None
        if run.scored.name in sources.numbers and run.scored.name not in excluded and is_same_task and is_needed:
            candidates.setdefault(subject, []).append(run)
    entries = {}
    for subject, runs in candidates.items():
        run = max(runs, key=lambda run: _rank_run(run, sources))
        protocol, sampling = run.scored.run.protocol, run.scored.run.sampling
        entries[subject] = Entry(
            name=run.label,
            model=run.scored.run.model,
            protocol=protocol,
            sampling=sampling,
            is_subset=subject[1],
            is_close=_is_close(protocol, sampling, headline),
            run=run,
            published=main_entries[subject].published if subject in main_entries else None,
            needs_condition=run.scored.name not in sources.overview_runs
            and not all(_is_close(protocol, sampling, headline)),
        )
    return entries


def _is_substitute(entry: Entry, sources: Sources) -> bool:
    """Return whether a run of the model that has precedence over that of the entry has no number.

    For example, Vinoground has no group score of one or two frames. The sampling alone gives no precedence.
    """
    benchmark, entry_run = sources.benchmark, entry.run
    if entry_run is None:
        return False
    used = {*sources.numbers, *_list_ablations(benchmark)}
    return any(
        _rank_run(run, sources)[:2] > _rank_run(entry_run, sources)[:2]
        for run in benchmark.runs
        if run.scored.run.model == entry.model
        and (benchmark.items.get(run.scored.run.protocol) == SUBSET) == entry.is_subset
        and run.scored.name not in used
    )


def _list_ablations(benchmark: ReportedBenchmark) -> set[str]:
    """Return the runs with temporal ablations, which only a temporal profile shows."""
    return {name for run in benchmark.runs for name in run.ablations.values()}


def _rank_run(run: ReportedRun, sources: Sources) -> tuple[bool, ...]:
    """Return the rank of a run among the runs of its model: those of the overview, then those like the headline."""
    scored = run.scored
    is_close = _is_close(scored.run.protocol, scored.run.sampling, sources.headline)
    return (scored.name in sources.overview_runs, *is_close)


def name_entries(entries: Sequence[Entry], label: str, benchmark: ReportedBenchmark) -> Iterator[tuple[str, Entry]]:
    """Yield the name of each entry of a model.

    The first entry has the label of the model. The others are variants, named by the settings that differ from the
    first, such as `GPT-4o, text only`. If these settings have the same names, the name of the paper's row tells them
    apart.
    """
    first = entries[0]
    names: set[str] = set()
    for entry in entries:
        settings = _describe_differences(entry, first, benchmark)
        sampling = benchmark.sampling_titles.get(entry.sampling, entry.sampling)
        candidates = [", ".join([label, *settings]), entry.name, f"{entry.name}, {sampling}"]
        name = next((candidate for candidate in candidates if candidate not in names), candidates[-1])
        names.add(name)
        yield name, entry


def _describe_differences(entry: Entry, first: Entry, benchmark: ReportedBenchmark) -> Iterator[str]:
    """Yield the settings in which two entries of a model differ, in a reader's words.

    The protocol of a text-only run is left out, because it is often another one only as to images.
    """
    protocols, samplings = benchmark.protocol_titles, benchmark.sampling_titles
    for name, first_name, titles in (
        (entry.protocol, first.protocol, protocols), (entry.sampling, first.sampling, samplings)
    ):  # fmt: skip
        title = titles.get(name, name)
        is_text_only_protocol = titles is protocols and entry.sampling == NONE
        if title and title != titles.get(first_name, first_name) and not is_text_only_protocol:
            yield title
    if entry.run and entry.run.judge and (first.run is None or entry.run.judge != first.run.judge):
        yield entry.run.judge_title
