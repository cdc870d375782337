"""Build the tables of temporal profiles: verdicts, conditions, and the ranking of models; and the tidy csv."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from reprise.core.notation import describe_p, format_p
from reprise.tables.render.table import (
    Cell,
    ColumnGroup,
    Table,
    TableColumn,
    TableNumber,
    TableRow,
    TableSection,
    TextCell,
)
from reprise.temporal.conditions import BEST_FRAMES, CONDITION_TITLES, NOT_IN_SUITE, PLANNED
from reprise.temporal.findings import describe_benchmark, describe_left_out, list_claims, summarize_benchmark
from reprise.temporal.profile import BenchmarkProfile, ConditionResult, RuleVerdict, ScoreEstimate, TemporalProfile
from reprise.temporal.ranking import RankedModel, common_benchmarks, rank_on_benchmark, rank_overall
from reprise.temporal.rules import Outcome, Rule

TIDY = pl.Schema(
    {
        "suite": pl.String,
        "model": pl.String,
        "benchmark": pl.String,
        "protocol": pl.String,
        "sampling": pl.String,
        "metric": pl.String,  # `question` or the headline metric
        # score | difference | share | verdict | chance |
        # ordered_only | single_frame | tomato | published | missing | broken
        "kind": pl.String,
        "name": pl.String,  # name of the condition, rule or number
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,  # of a verdict: after Holm's correction
        "regressions": pl.Int64,
        "improvements": pl.Int64,
        "questions": pl.Int64,
        "clusters": pl.Int64,
        "best": pl.Float64,
        "run": pl.String,
        "note": pl.String,
    }
)
QUESTION = "question"
# Rule -> header of its column. Shuffling alone supports no claim, so it has no column.
RULE_TITLES = {
    Rule.VIDEO: "Uses the video",
    Rule.SINGLE_FRAMES: "Better than single frames",
    Rule.SEVERAL_FRAMES: "Needs several frames",
    Rule.ORDER: "Order or position",
}
# Outcome of a rule -> its text in the table of verdicts.
OUTCOME_TITLES = {
    Outcome.SHOWN: "shown",
    Outcome.NOT_SHOWN: "not shown",
    Outcome.TOO_FEW: "too few clips",
    Outcome.NOT_MEASURED: "not measured",
    Outcome.NOT_RUN: "not tested",
}


def tidy_rows(profiles: Sequence[TemporalProfile]) -> pl.DataFrame:
    """Return every number of the profiles as one row each; rows of kind `missing` say why a condition was not run."""
    return pl.DataFrame([row for profile in profiles for row in _profile_rows(profile)], schema=TIDY)


def _profile_rows(profile: TemporalProfile) -> Iterator[dict[str, Any]]:
    """Yield the tidy rows of one model."""
    for benchmark in profile.benchmarks:
        common = {
            "suite": profile.suite, "model": profile.model, "benchmark": benchmark.name, "protocol": benchmark.protocol,
            "sampling": benchmark.sampling, "questions": benchmark.questions, "clusters": benchmark.clusters,
        }  # fmt: skip
        for row in _benchmark_rows(benchmark):
            yield common | row


def _benchmark_rows(benchmark: BenchmarkProfile) -> Iterator[dict[str, Any]]:
    """Yield the tidy rows of one benchmark, without the columns that all its rows share."""
    question = {"metric": QUESTION, "best": benchmark.question_best}
    headline = {"metric": benchmark.score, "best": benchmark.best}
    for result in benchmark.conditions:
        named = {"name": result.condition, "run": result.run}
        yield question | named | {"kind": "score"} | result.question_score.model_dump()
        yield headline | named | {"kind": "score"} | result.headline_score.model_dump()
        if result.difference:
            difference = result.difference.model_dump()
            yield question | named | {"kind": "difference", "note": difference.pop("outcome")} | difference
        for share in ("first_option", "unparsed", "failed"):
            value = getattr(result, f"{share}_share")
            yield named | {"kind": "share", "metric": share, "value": value, "best": 100}
        yield named | {"kind": "share", "metric": "threshold_loss", "value": result.threshold_loss, "best": 100}
    for verdict in benchmark.verdicts:
        yield {"kind": "verdict", "name": verdict.rule, "p": verdict.adjusted_p, "note": verdict.outcome}
    for scale, chance in ((question, benchmark.question_chance), (headline, benchmark.chance)):
        if chance is not None:
            yield scale | {"kind": "chance", "value": chance}
    if benchmark.ordered_only:
        for name, number in benchmark.ordered_only.model_dump().items():
            yield {"kind": "ordered_only", "name": name, "value": number}
    for frame in benchmark.best_frames:
        for name, number in frame.model_dump(exclude={"position"}).items():
            yield question | {"kind": "single_frame", "name": f"{name}.{frame.position}", "value": number}
    for name, number in benchmark.tomato.model_dump().items():
        yield {"kind": "tomato", "name": name, "value": number}
    for score in benchmark.published:
        yield headline | {"kind": "published", "name": score.condition, "value": score.value, "note": score.source}
    for condition, reason in benchmark.missing.items():
        yield {"kind": "missing", "name": condition, "note": reason}
    for problem in benchmark.problems:
        yield {"kind": "broken", "name": PLANNED, "note": problem}


def build_tables(profile: TemporalProfile) -> list[Table]:
    """Return the tables of one model's profile."""
    return [build_verdicts_table(profile), build_conditions_table(profile)]


def build_verdicts_table(profile: TemporalProfile) -> Table:
    """Return the outcome of each rule per benchmark, the questions that depend on order, and TOMATO's metrics."""
    rules = list_claims(profile.benchmarks)
    headers = (
        *(RULE_TITLES[rule] for rule in rules),
        "Clusters",
        "Ordered only",
        "Expected",
        "Mirrored",
        "κ",
        "τ",
        "ρ*",
    )
    return Table(
        title=f"{profile.title}: verdicts",
        caption="Each verdict with its p-value after Holm's correction over benchmarks and rules. Ordered only: "
        "questions that score higher as planned than both shuffled and reversed; expected: by guessing; mirrored: "
        "questions that score lower as planned than both. κ and τ: "
        "TOMATO's multi-frame gain and frame order sensitivity in percent. ρ*: its frame information disparity, with "
        "the single-frame probe only, and with the frame of the most confident answer instead of a hand-picked one.",
        label=f"tab:temporal-{profile.model}-verdicts",
        stub="Benchmark",
        groups=(ColumnGroup(tuple(map(TableColumn, headers))),),
        sections=(TableSection(tuple(_verdict_row(benchmark, rules) for benchmark in profile.benchmarks)),),
        notice=profile.notice,
    )


def _verdict_row(benchmark: BenchmarkProfile, rules: Sequence[Rule]) -> TableRow:
    verdicts = {verdict.rule: verdict for verdict in benchmark.verdicts}
    ordered, tomato = benchmark.ordered_only, benchmark.tomato
    cells: tuple[Cell | TextCell, ...] = (
        *(TextCell("looks broken") if benchmark.problems else _verdict_cell(verdicts.get(rule)) for rule in rules),
        TextCell(str(benchmark.clusters)),
        _number_cell(ordered.count if ordered else None, 0),
        _number_cell(ordered.expected if ordered else None, 1),
        _number_cell(ordered.mirrored if ordered else None, 0),
        _number_cell(tomato.multi_frame_gain, 1),
        _number_cell(tomato.order_sensitivity, 1),
        _number_cell(tomato.frame_disparity, 1),
    )
    notes = tuple(describe_benchmark(benchmark)) if benchmark.problems else ()
    return TableRow(benchmark.title, cells, notes=notes)


def _verdict_cell(verdict: RuleVerdict | None) -> TextCell:
    if verdict is None:
        return TextCell(OUTCOME_TITLES[Outcome.NOT_RUN])
    p = f" ({describe_p(verdict.adjusted_p)})" if verdict.adjusted_p is not None else ""
    return TextCell(OUTCOME_TITLES[verdict.outcome] + p)


def build_conditions_table(profile: TemporalProfile) -> Table:
    """Return every condition's scores, its difference from the planned condition, and the shares of its answers."""
    has_published = any(benchmark.published for benchmark in profile.benchmarks)
    headers = (
        "Per question", "Main score", "Planned minus this", "p", "Regressions", "Improvements", "Yes or A",
        "Unparsed", "Failed",
        *(["Published"] if has_published else []),
    )  # fmt: skip
    return Table(
        title=f"{profile.title}: all conditions",
        caption="Scores with their intervals; the difference of the scores per question with its cluster-t interval "
        "and two-sided p; questions that score lower (regressions) and higher (improvements) than as planned; "
        "percentages of answers.",
        label=f"tab:temporal-{profile.model}-conditions",
        stub="Condition",
        groups=(ColumnGroup(tuple(map(TableColumn, headers))),),
        sections=tuple(
            TableSection(
                tuple(_condition_rows(benchmark, has_published)),
                f"{benchmark.title}: {benchmark.question_title}, {benchmark.score_title}",
            )
            for benchmark in profile.benchmarks
        ),
        notice=profile.notice,
        notes=tuple(filter(None, (describe_left_out(profile), *dict.fromkeys(map(_note, profile.benchmarks))))),
    )


def _note(benchmark: BenchmarkProfile) -> str:
    """Return the sentence that names a benchmark's planned run and its number of questions."""
    exclusions = (
        f" ({benchmark.excluded} excluded because a condition was not run on them)" if benchmark.excluded else ""
    )
    run = f"{benchmark.title}, protocol {benchmark.protocol}, sampling {benchmark.sampling}"
    return f"{run}: {benchmark.questions} questions{exclusions} in {benchmark.clusters} clusters."


def _condition_rows(benchmark: BenchmarkProfile, has_published: bool) -> Iterator[TableRow]:
    for name, title in CONDITION_TITLES.items():
        result, reason = benchmark.condition(name), benchmark.missing.get(name)
        is_optional = name in BEST_FRAMES and reason is None
        if result is None and (is_optional or reason == NOT_IN_SUITE):
            continue
        # A condition that was not run has a dash for its score, and eight empty cells.
        cells = _condition_cells(benchmark, result) if result else (Cell((TableNumber(None),)), *(Cell(),) * 8)
        published = Cell(
            tuple(
                TableNumber(score.value, benchmark.decimals, state="published", notes=(score.source,))
                for score in benchmark.published
                if score.condition == name
            )
        )
        notes = () if result else (f"Not run: {reason or 'no answers'}.",)
        yield TableRow(title, (*cells, *([published] if has_published else [])), notes=notes)


def _condition_cells(benchmark: BenchmarkProfile, result: ConditionResult) -> tuple[Cell | TextCell, ...]:
    difference = result.difference
    compared: tuple[Cell | TextCell, ...] = (Cell(),) * 4
    if difference:
        compared = (
            _estimate_cell(difference, benchmark.question_decimals, signed=True),
            TextCell("" if difference.p is None else format_p(difference.p)),
            TextCell(str(difference.regressions)),
            TextCell(str(difference.improvements)),
        )
    return (
        _estimate_cell(result.question_score, benchmark.question_decimals),
        _estimate_cell(result.headline_score, benchmark.decimals),
        *compared,
        Cell() if result.first_option_share is None else _number_cell(result.first_option_share, 0),
        _number_cell(result.unparsed_share, 1),
        _number_cell(result.failed_share, 1),
    )


def build_ranking_table(profiles: Sequence[TemporalProfile]) -> Table:
    """Return the models ranked on each benchmark, and over the benchmarks that all of them have."""
    title_by_benchmark = {benchmark.name: benchmark.title for profile in profiles for benchmark in profile.benchmarks}
    common_titles = [title_by_benchmark[name] for name in common_benchmarks(profiles)]
    sections = [
        TableSection(tuple(_ranking_row(model, name) for model in rank_on_benchmark(profiles, name)), title)
        for name, title in title_by_benchmark.items()
    ]
    if len(common_titles) > 1:
        overall = tuple(_ranking_row(model, "") for model in rank_overall(profiles))
        sections.insert(0, TableSection(overall, f"Mean of {', '.join(common_titles)}"))
    return Table(
        title="Sensitivity to the order of frames",
        caption="Loss: the smaller of the losses from shuffled and from reversed frames, in percent of the best score "
        "per question, with its interval. Models with overlapping intervals may change places.",
        label="tab:temporal-all",
        stub="Model",
        groups=(ColumnGroup(tuple(map(TableColumn, ("Loss", "Verdict")))),),
        sections=tuple(sections),
        notice=profiles[0].notice if profiles else "",
    )


def _ranking_row(model: RankedModel, name: str) -> TableRow:
    """Return a model's row in the ranking of the benchmark `name`, or in the overall ranking if `name` is empty."""
    benchmark = model.profile.benchmark(name)
    loss = Cell((TableNumber(None),)) if model.loss is None else _estimate_cell(model.loss, 1)
    broken = [entry.title for entry in model.profile.benchmarks if entry.problems and not benchmark]
    verdict = f"no rank: the run on {', '.join(broken)} looks broken" if broken else ""
    return TableRow(model.profile.title, (loss, TextCell(summarize_benchmark(benchmark) if benchmark else verdict)))


def _estimate_cell(number: ScoreEstimate, decimals: int, *, signed: bool = False) -> Cell:
    interval = None if number.low is None or number.high is None else (number.low, number.high)
    return Cell((TableNumber(number.value, decimals, signed=signed, interval=interval),))


def _number_cell(value: float | None, decimals: int) -> Cell:
    return Cell((TableNumber(value, decimals),))
