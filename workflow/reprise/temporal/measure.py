"""Compute a temporal profile from the verdicts on a model's answers under each condition.

A score is the unweighted mean over tests of the mean over their samples. VELOCITI has seven tests, most benchmarks one.
The column `task` names a sample's test. Every condition has the benchmark's headline score, and a score per question.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from reprise.benchmarks.headline import find_chance
from reprise.benchmarks.health import find_problems
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import ACCURACY
from reprise.core.schemas import METRICS, read_table
from reprise.media.ablations import FRAME, MIDDLE, REVERSED, SHUFFLED
from reprise.stats.intervals import clustered_estimate
from reprise.stats.paired import ROUNDING
from reprise.temporal.conditions import BEST_FRAME, BEST_FRAMES, CONDITIONS, MISMATCHED_BEST, NOT_IN_SUITE, PLANNED
from reprise.temporal.profile import (
    BenchmarkProfile,
    BenchmarkProfileKey,
    BestFrame,
    ConditionResult,
    OrderedOnly,
    PlannedDifference,
    ProfiledModel,
    RuleVerdict,
    ScoreDefinition,
    ScoreEstimate,
    TemporalProfile,
    TemporalProfileKey,
    TomatoMetrics,
)
from reprise.temporal.read import SAMPLES, ConditionVerdicts, align_confidences, read_condition
from reprise.temporal.rules import (
    PROBE_RULES,
    Comparison,
    ConditionAnswers,
    Samples,
    apply_rules,
    compare_conditions,
    is_confidence_informative,
)
from reprise.temporal.threshold import OptionRates, estimate_rates

# Columns of the ordered-only questions: the question, and its score as planned, shuffled and reversed.
ORDERED_ONLY_SCHEMA = pl.Schema(
    dict.fromkeys(("benchmark", "question", "cluster", "task"), pl.String())
    | dict.fromkeys((PLANNED, SHUFFLED, REVERSED), pl.Float64())
)
FIRST_OPTIONS = {"Yes": ("Yes", "No"), "A": ("A", "B", "C", "D", "E")}
"""first option -> the options of its kind of question"""


@dataclass(frozen=True)
class MeasuredBenchmark:
    """A benchmark's profile without verdicts, the comparisons that they follow from, and the ordered-only questions."""

    profile: BenchmarkProfile
    comparisons: Mapping[str, Comparison]
    """condition -> its comparison with the planned condition"""
    ordered_only: pl.DataFrame


def build_profile(key: TemporalProfileKey) -> tuple[TemporalProfile, pl.DataFrame]:
    """Return a model's profile, and its ordered-only questions (`ORDERED_ONLY_SCHEMA`)."""
    measured = [measure_benchmark(benchmark, key.level) for benchmark in key.benchmarks]
    results = apply_rules([benchmark.comparisons for benchmark in measured], key.level)
    profile = TemporalProfile(
        **key.model_dump(include=set(ProfiledModel.model_fields)),
        benchmarks=tuple(
            benchmark.profile.model_copy(
                update={
                    "verdicts": tuple(
                        RuleVerdict(rule=rule, outcome=result.outcome, p=result.p, adjusted_p=result.adjusted_p)
                        for rule, result in results_by_rule.items()
                        if not benchmark.profile.problems and (benchmark.profile.has_probe or rule not in PROBE_RULES)
                    )
                }
            )
            for benchmark, results_by_rule in zip(measured, results, strict=True)
        ),
    )
    rows = [pl.DataFrame(schema=ORDERED_ONLY_SCHEMA), *(benchmark.ordered_only for benchmark in measured)]
    return profile, pl.concat(rows)


def measure_benchmark(key: BenchmarkProfileKey, level: float) -> MeasuredBenchmark:
    """Measure a benchmark's scores under each condition, over the samples that all conditions share."""
    paths = {condition: path for condition in CONDITIONS if (path := key.conditions.get(condition)) is not None}
    # Condition -> verdicts on its answers. The best single frame is a condition with the verdicts of several runs.
    verdicts = {condition: read_condition(key, [path]) for condition, path in paths.items()}
    for condition, ablation in BEST_FRAMES.items():
        if key.probe.get(ablation):
            verdicts[condition] = read_condition(key, key.probe[ablation])
    questions, excluded = align_samples({name: condition.questions.rows for name, condition in verdicts.items()})
    headline, _ = align_samples({name: condition.headline_samples for name, condition in verdicts.items()})
    scoring = load_scores(key.name).SCORES[key.form]
    is_rating = scoring.max_score != 100  # other scores are percentages
    question_best = scoring.max_score
    conditions = list(verdicts) if questions.height else []
    shared_verdicts = keep_shared_requests({name: condition.verdicts for name, condition in verdicts.items()})
    # The title and the chance level of the score per question are the same under all conditions.
    first = next((verdicts[name].questions for name in conditions), None)
    depends_on_threshold = first is not None and first.title == ACCURACY
    answers = {
        name: ConditionAnswers(
            questions[name].to_numpy(),
            *lost_shares(shared_verdicts[name], questions.height),
            estimate_options(shared_verdicts[name]) if depends_on_threshold else None,
            align_confidences(verdicts[name].confidences, questions) if key.probe else None,
        )
        for name in conditions
    }
    samples = Samples(
        questions["task"].to_numpy(), questions["cluster"].to_numpy(), bool(first and first.is_text_useless)
    )
    problems = find_problems(read_table(key.metrics, METRICS).iter_rows(named=True)) if key.metrics else []
    is_compared = PLANNED in answers and not problems
    comparisons = compare_conditions(answers, samples, level) if is_compared else {}
    default_reason = NOT_IN_SUITE if questions.height else "no sample"
    compared_questions = questions.clear() if problems else questions
    ordered_only = select_ordered_only(compared_questions, key.name)
    expected = (*CONDITIONS, *(BEST_FRAMES if key.probe or set(BEST_FRAMES) & set(key.missing) else ()))
    has_probe = is_compared and set(BEST_FRAMES) <= set(answers)
    profile = BenchmarkProfile(
        **key.model_dump(include=set(ScoreDefinition.model_fields)),
        best=scoring.max_score,
        chance=compute_chance(key),
        question_title=first.title if first else "",
        question_metric=(first.metric if first else "") or key.score,
        question_best=question_best,
        question_decimals=key.decimals if is_rating else 1,
        question_chance=first.chance if first else None,
        questions=questions.height,
        excluded=excluded,
        clusters=len(np.unique(samples.clusters)),
        effective_clusters=samples.effective_clusters,
        conditions=tuple(
            ConditionResult(
                condition=name,
                run=key.runs.get(name, ""),
                question_score=estimate_score(questions, name, question_best, level),
                headline_score=estimate_score(headline, name, scoring.max_score, level),
                difference=describe_difference(comparisons.get(name), answers, name, question_best),
                threshold_loss=100 * comparisons[name].threshold_loss if name in comparisons else 0.0,
                **answer_shares(shared_verdicts[name]),
            )
            for name in conditions
        ),
        missing={name: key.missing.get(name, default_reason) for name in expected if name not in conditions},
        published=key.published,
        ordered_only=count_ordered_only(compared_questions, ordered_only.height, first.chance if first else None),
        tomato=tomato_metrics(compared_questions),
        problems=tuple(problems),
        is_confidence_informative=is_confidence_informative(answers, samples, level) if has_probe else None,
        best_frames=tuple(list_best_frames(key, verdicts, question_best)) if has_probe else (),
    )
    return MeasuredBenchmark(profile, comparisons, ordered_only)


def list_best_frames(
    key: BenchmarkProfileKey, verdicts: Mapping[str, ConditionVerdicts], best: float
) -> Iterator[BestFrame]:
    """Yield the results of each position of the single-frame probe, over all questions of its runs."""
    choices = [verdicts[condition].chosen_frames for condition in (BEST_FRAME, MISMATCHED_BEST)]
    for frame, path in enumerate(key.probe[FRAME]):
        rows = read_condition(key, [path]).questions.rows
        shares = [
            100 * choice.filter(frame=frame).height / max(1, choice.height) for choice in choices if choice is not None
        ]
        yield BestFrame(
            position=frame + 1,
            score=best * mean_over_tests(rows, "value"),
            chosen_share=shares[0],
            mismatched_chosen_share=shares[1],
        )


def align_samples(rows_by_condition: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Join the samples that every condition has, with one column per condition; also count the excluded ones."""
    common = pl.concat([pl.DataFrame(schema=SAMPLES), *rows_by_condition.values()]).drop("value").unique("item_id")
    total = common.height
    for condition, rows in rows_by_condition.items():
        common = common.join(rows.select("item_id", pl.col("value").alias(condition)), on="item_id", how="inner")
    return common.sort("item_id"), total - common.height


def estimate_score(samples: pl.DataFrame, condition: str, best: float, level: float) -> ScoreEstimate:
    """Return the mean over tests of a condition's values, on the score's own scale, with its interval."""
    values, tests = samples[condition].to_numpy(), samples["task"].to_numpy()
    memberships = [(tests == test).astype(np.float64) for test in np.unique(tests)]
    ratios = [(values * members, members) for members in memberships]
    if not ratios:
        return ScoreEstimate(value=0.0)
    value = float(np.mean([numerator.sum() / members.sum() for numerator, members in ratios]))
    estimate = clustered_estimate(ratios, samples["cluster"].to_numpy(), lambda shares: shares.mean(axis=1))
    low, high = (best * bound for bound in estimate.interval(level)) if estimate else (None, None)
    return ScoreEstimate(value=best * value, low=low, high=high)


def describe_difference(
    comparison: Comparison | None, answers: Mapping[str, ConditionAnswers], condition: str, best: float
) -> PlannedDifference | None:
    """Return the comparison of a condition with the planned one, on the score's own scale."""
    if comparison is None or comparison.value is None:
        return None
    differences = answers[PLANNED].values - answers[condition].values
    return PlannedDifference(
        value=best * comparison.value,
        low=None if comparison.low is None else best * comparison.low,
        high=None if comparison.high is None else best * comparison.high,
        p=comparison.p,
        outcome=comparison.outcome,
        regressions=int((differences > ROUNDING).sum()),
        improvements=int((differences < -ROUNDING).sum()),
    )


def keep_shared_requests(verdicts: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the verdicts on the requests that every condition has."""
    shared = None
    for rows in verdicts.values():
        keys = rows.select("item_id", "role")
        shared = keys if shared is None else shared.join(keys, on=["item_id", "role"], how="semi")
    if shared is None:
        return {}
    return {name: rows.join(shared, on=["item_id", "role"], how="semi") for name, rows in verdicts.items()}


def lost_shares(verdicts: pl.DataFrame, question_count: int) -> tuple[float, float]:
    """Return the share of unparsed and failed answers, and the largest share of questions that they can affect."""
    lost = float((verdicts["unparsed"] | verdicts["failed"]).sum())
    return lost / max(1, verdicts.height), min(1.0, lost / max(1, question_count))


def estimate_options(verdicts: pl.DataFrame) -> dict[str, OptionRates] | None:
    """Return how often the parsed answers to each test are the first of two options; None for other questions."""
    parsed = select_parsed(verdicts)
    first_option = find_first_option(parsed)
    if first_option is None or not set(parsed["value"].unique()) <= set(FIRST_OPTIONS[first_option][:2]):
        return None
    is_first = pl.col("value") == first_option
    is_first_right = is_first == pl.col("right")  # of two options
    counts = (is_first_right, is_first & is_first_right, ~is_first_right, is_first & ~is_first_right)
    tests = parsed.group_by("task").agg(count.sum().alias(f"{index}") for index, count in enumerate(counts))
    return {task: estimate_rates(*numbers) for task, *numbers in tests.iter_rows()}


def select_parsed(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts on answers that are neither failed nor unparsed."""
    return verdicts.filter(~pl.col("failed") & ~pl.col("unparsed"))


def find_first_option(parsed: pl.DataFrame) -> str | None:
    """Return the first option of the questions, Yes or A; None if answers choose no option."""
    present = set(parsed["value"].unique())
    return next((first for first, options in FIRST_OPTIONS.items() if present and present <= set(options)), None)


def answer_shares(verdicts: pl.DataFrame) -> dict[str, float | None]:
    """Return the percentages of unparsed and failed answers, and of the first option among the parsed ones.

    The keys are fields of `ConditionResult`. The share of the first option is None if answers choose no option.
    """
    failed = int(verdicts["failed"].sum())
    unparsed = int((verdicts["unparsed"] & ~verdicts["failed"]).sum())
    parsed = select_parsed(verdicts)
    first_option = find_first_option(parsed)
    return {
        "first_option_share": None
        if first_option is None
        else 100 * int((parsed["value"] == first_option).sum()) / parsed.height,
        "unparsed_share": 100 * unparsed / max(1, verdicts.height),
        "failed_share": 100 * failed / max(1, verdicts.height),
    }


def compute_chance(key: BenchmarkProfileKey) -> float | None:
    """Return the headline score of random answers: a constant, or computed from the data."""
    statistics = read_table(key.statistics, METRICS) if key.statistics is not None else None
    return find_chance(key.name, key.form, key.score, key.group, statistics)


def select_ordered_only(questions: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """Return the questions that score higher as planned than both shuffled and reversed."""
    if not {PLANNED, SHUFFLED, REVERSED} <= set(questions.columns):
        return pl.DataFrame(schema=ORDERED_ONLY_SCHEMA)
    margin = pl.col(PLANNED) - pl.max_horizontal(SHUFFLED, REVERSED)
    rows = questions.filter(margin > ROUNDING).sort(margin, "item_id", descending=[True, False])
    return rows.with_columns(benchmark=pl.lit(benchmark), question="item_id").select(list(ORDERED_ONLY_SCHEMA))


def count_ordered_only(questions: pl.DataFrame, count: int, chance: float | None) -> OrderedOnly | None:
    """Count the ordered-only questions and the mirrored ones; None unless all three conditions were run."""
    if not questions.height or not {PLANNED, SHUFFLED, REVERSED} <= set(questions.columns):
        return None
    mirrored = questions.filter(pl.min_horizontal(SHUFFLED, REVERSED) - pl.col(PLANNED) > ROUNDING).height
    share = None if chance is None else chance / 100
    # A guess is right as planned, and wrong both shuffled and reversed.
    expected = None if share is None else questions.height * share * (1 - share) ** 2
    return OrderedOnly(count=count, expected=expected, mirrored=mirrored)


def tomato_metrics(questions: pl.DataFrame) -> TomatoMetrics:
    """Return how much the score rises, in percent.

    From one frame to all frames, from shuffled to planned order, and from one frame to the best frame.
    """

    def gain(condition: str, base: str) -> float | None:
        if not questions.height or not {condition, base} <= set(questions.columns):
            return None
        score, base_score = (mean_over_tests(questions, name) for name in (condition, base))
        return 100 * (score / base_score - 1) if base_score > 0 else None

    return TomatoMetrics(
        multi_frame_gain=gain(PLANNED, MIDDLE),
        order_sensitivity=gain(PLANNED, SHUFFLED),
        frame_disparity=gain(BEST_FRAME, MIDDLE),
    )


def mean_over_tests(samples: pl.DataFrame, condition: str) -> float:
    """Return the unweighted mean over tests of the mean of their samples."""
    return float(np.mean(samples.group_by("task").agg(pl.col(condition).mean())[condition].to_numpy()))
