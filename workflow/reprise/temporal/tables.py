"""Present a temporal profile's numbers as tables and as tidy rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from reprise.tables.render.table import (
    Cell,
    ColumnGroup,
    Table,
    TableColumn,
    TableNumber,
    TableRow,
    TableSection,
    TextCell,
    format_value,
)
from reprise.temporal.profile import (
    CONDITION_TITLES,
    ORDER,
    PART_TITLES,
    PLANNED,
    BenchmarkProfile,
    ScoreEstimate,
    TemporalProfile,
)

TIDY = pl.Schema(
    {
        "suite": pl.String,
        "model": pl.String,
        "benchmark": pl.String,
        "protocol": pl.String,
        "sampling": pl.String,
        "metric": pl.String,
        "kind": pl.String,  # score | change | part | chance | published | missing
        "name": pl.String,  # name of the condition or the part
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "regressions": pl.Int64,
        "improvements": pl.Int64,
        "samples": pl.Int64,
        "clusters": pl.Int64,
        "best": pl.Float64,
        "run": pl.String,
        "note": pl.String,
    }
)
MIN_PRINTED_P = 0.0001


def tidy_rows(profiles: Sequence[TemporalProfile]) -> pl.DataFrame:
    """Return every number of the profiles as one row each; rows of kind `missing` say why a condition was not run."""
    return pl.DataFrame([row for profile in profiles for row in _rows(profile)], schema=TIDY)


def _rows(profile: TemporalProfile) -> Iterator[dict[str, Any]]:
    for benchmark in profile.benchmarks:
        common = {
            "suite": profile.suite, "model": profile.model, "benchmark": benchmark.name, "protocol": benchmark.protocol,
            "sampling": benchmark.sampling, "metric": benchmark.score, "samples": benchmark.samples,
            "clusters": benchmark.clusters, "best": benchmark.best,
        }  # fmt: skip
        for condition in benchmark.conditions:
            yield (
                common
                | {"kind": "score", "name": condition.condition, "run": condition.run}
                | condition.score.model_dump()
            )
            if condition.change:
                yield (
                    common
                    | {"kind": "change", "name": condition.condition, "run": condition.run}
                    | condition.change.model_dump()
                )
        for part in benchmark.parts:
            yield common | {"kind": "part", "name": part.name, "p": part.p} | part.number.model_dump()
        if benchmark.chance is not None:
            yield common | {"kind": "chance", "value": benchmark.chance}
        for result in benchmark.published:
            yield common | {"kind": "published", "name": result.condition, "value": result.value, "note": result.source}
        for condition_name, reason in benchmark.missing.items():
            yield common | {"kind": "missing", "name": condition_name, "note": reason}


def build_parts_table(profiles: Sequence[TemporalProfile], title: str, label: str, stub: str) -> Table:
    """Return the parts of every score as a table.

    A single model gets one row per benchmark; several models get one section per benchmark with one row per model.
    """
    pairs = [(profile, benchmark) for profile in profiles for benchmark in profile.benchmarks]
    titles = {part.name: part.title for _, benchmark in pairs for part in benchmark.parts}
    names = [*(name for name in PART_TITLES if name in titles), *(name for name in titles if name not in PART_TITLES)]
    headings = ["Score", *(titles[name][:1].upper() + titles[name][1:] for name in names), "Chance"]
    if len(profiles) == 1:
        sections = [TableSection(tuple(_parts_row(benchmark.title, benchmark, names) for _, benchmark in pairs))]
    else:
        sections = [
            TableSection(
                tuple(
                    _parts_row(profile.title, benchmark, names)
                    for profile, benchmark in pairs
                    if benchmark.name == name
                ),
                heading,
            )
            for name, heading in dict.fromkeys((benchmark.name, benchmark.title) for _, benchmark in pairs)
        ]
    level = profiles[0].level if profiles else 0.95
    return Table(
        title=title,
        caption="The parts of each score: words alone, one frame, more frames in any order, their order in time. "
        f"The parts add up to the score; {100 * level:g} % intervals.",
        label=label,
        stub=stub,
        groups=(ColumnGroup(tuple(map(TableColumn, headings))),),
        sections=tuple(sections),
        notice=profiles[0].notice if profiles else "",
        notes=tuple(dict.fromkeys(_note(benchmark) for _, benchmark in pairs)),
    )


def _parts_row(label: str, benchmark: BenchmarkProfile, names: Sequence[str]) -> TableRow:
    planned = benchmark.condition(PLANNED)
    parts = [
        _cell(part.number if (part := benchmark.part(name)) else None, benchmark, signed=name != names[0])
        for name in names
    ]
    chance = Cell((TableNumber(benchmark.chance, benchmark.chance_decimals),))
    return TableRow(label, (_cell(planned.score if planned else None, benchmark), *parts, chance))


def _cell(number: ScoreEstimate | None, benchmark: BenchmarkProfile, *, signed: bool = False) -> Cell:
    if number is None:
        return Cell((TableNumber(None),))
    interval = None if number.low is None or number.high is None else (number.low, number.high)
    return Cell((TableNumber(number.value, benchmark.decimals, signed=signed, interval=interval),))


def _note(benchmark: BenchmarkProfile) -> str:
    exclusions = (
        f" ({benchmark.excluded} excluded because a condition was not run on them)" if benchmark.excluded else ""
    )
    return f"{benchmark.title}: {benchmark.score_title}, {benchmark.samples} samples{exclusions}."


def build_conditions_table(profile: TemporalProfile) -> Table:
    has_published = any(benchmark.published for benchmark in profile.benchmarks)
    headers = ("Score", "Change", "p", "Regressions", "Improvements", *(["Published"] if has_published else []))
    return Table(
        title="All conditions",
        caption="Each condition against the planned one, sample by sample: the change with its interval, "
        "two-sided p by swapping conditions video by video, and the numbers of samples that get worse and better.",
        label=f"tab:time-{profile.model}-conditions",
        stub="Condition",
        groups=(ColumnGroup(tuple(map(TableColumn, headers))),),
        sections=tuple(
            TableSection(
                tuple(_condition_rows(benchmark, has_published)), f"{benchmark.title}: {benchmark.score_title}"
            )
            for benchmark in profile.benchmarks
        ),
        notice=profile.notice,
    )


def _condition_rows(benchmark: BenchmarkProfile, has_published: bool) -> Iterator[TableRow]:
    for name, title in CONDITION_TITLES.items():
        condition = benchmark.condition(name)
        score = _cell(condition.score if condition else None, benchmark)
        results = [result for result in benchmark.published if result.condition == name]
        published = Cell(
            tuple(
                TableNumber(result.value, benchmark.decimals, state="published", notes=(result.source,))
                for result in results
            )
        )
        change = condition.change if condition else None
        change_cells: tuple[Cell | TextCell, ...] = (Cell(),) * 4
        if change:
            p = f"{change.p:.4f}" if change.p >= MIN_PRINTED_P else f"<{MIN_PRINTED_P}"
            change_cells = (
                _cell(change, benchmark, signed=True),
                TextCell(p),
                TextCell(str(change.regressions)),
                TextCell(str(change.improvements)),
            )
        notes = () if condition else (f"Not run: {benchmark.missing.get(name, 'no answers')}.",)
        yield TableRow(title, (score, *change_cells, *([published] if has_published else [])), notes=notes)


def build_tables(profile: TemporalProfile) -> list[Table]:
    title = f"{profile.title}: the parts of its scores"
    return [
        build_parts_table([profile], title, f"tab:time-{profile.model}", "Benchmark"),
        build_conditions_table(profile),
    ]


def sort_profiles(profiles: Sequence[TemporalProfile]) -> list[TemporalProfile]:
    """Sort models by the part of their scores that is due to order; those without one come last."""
    return sorted(
        profiles, key=lambda profile: (profile.order_share is None, -(profile.order_share or 0.0), profile.title)
    )


def build_comparison_table(profiles: Sequence[TemporalProfile]) -> Table:
    return (
        build_tables(profiles[0])[0]
        if len(profiles) == 1
        else build_parts_table(sort_profiles(profiles), "The parts of all scores", "tab:time-all", "Model")
    )


def describe_order_use(profile: TemporalProfile) -> str:
    if profile.order_share is None:
        return f"what is due to {PART_TITLES[ORDER]} is unknown"
    return f"{format_value(profile.order_share, 1)} % of the best score is due to {PART_TITLES[ORDER]}"
