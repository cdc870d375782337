"""Phrase the verdicts of a temporal profile by fixed rules (docs/reference/temporal.md)."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reprise.core.notation import describe_difference as describe_points
from reprise.core.notation import format_difference, format_interval, format_percentage
from reprise.media.ablations import REVERSED, SHUFFLED
from reprise.stats.cluster_t import MIN_CLUSTERS
from reprise.stats.measures import LOST_LIMIT
from reprise.temporal.conditions import (
    CONDITION_TITLES,
    NOT_IN_SUITE,
    NULL_CONDITIONS,
    PLANNED,
    REORDERED,
    WITHOUT_VIDEO,
)
from reprise.temporal.profile import BenchmarkProfile, PlannedDifference, TemporalProfile
from reprise.temporal.rules import CONDITIONS_BY_RULE, PROBE_RULES, ROUNDING, Outcome, Rule

NO_VIDEO_USE = "no evidence of video use"
VIDEO_NOT_MEASURED = "use of the video not measured"
TOO_FEW = "too few clips to tell"
LOOKS_BROKEN = "no verdict: the run looks broken"
NEEDS_SEVERAL_AND_ORDER = "needs several frames; sensitive to their order or position"
LOWER_IF_SHUFFLED = "lower with shuffled frames only; use of order not shown"
CLAIMS = {
    Rule.VIDEO: "uses the video",
    Rule.SINGLE_FRAMES: "better than its first, middle or last frame alone",
    Rule.SEVERAL_FRAMES: "needs several frames",
    Rule.ORDER: "sensitive to the order or position of frames",
}
"""rule -> what it claims if it is shown, in the order from the weakest to the strongest claim"""


# Outcome of a rule that is not shown -> the beginning of its sentence.
OPENINGS = {
    Outcome.NOT_SHOWN: "Not shown",
    Outcome.NOT_MEASURED: "Not measured",
    Outcome.NOT_RUN: "Not tested",
    Outcome.TOO_FEW: "Too few clips to tell",
}


class ConditionDifference(NamedTuple):
    """The planned score minus that under a condition."""

    condition: str
    difference: PlannedDifference


def list_claims(benchmarks: Iterable[BenchmarkProfile]) -> list[Rule]:
    """Return the rules that the profiles of benchmarks test, from the weakest to the strongest claim."""
    has_probe = any(benchmark.has_probe for benchmark in benchmarks)
    return [rule for rule in CLAIMS if has_probe or rule not in PROBE_RULES]


def is_lower_only_if_shuffled(benchmark: BenchmarkProfile) -> bool:
    """Return whether shuffled frames are shown to lower the score, but reversed ones are not."""
    result = benchmark.condition(REVERSED)
    difference = result.difference if result else None
    return (
        benchmark.outcome(Rule.SHUFFLING) == Outcome.SHOWN
        and difference is not None
        and difference.outcome == Outcome.NOT_SHOWN
    )


def summarize_benchmark(benchmark: BenchmarkProfile) -> str:
    """Return the strongest claim about a benchmark in a few words."""
    if not benchmark.questions:
        return "not run"
    if benchmark.problems:
        return LOOKS_BROKEN
    if benchmark.effective_clusters < MIN_CLUSTERS:
        return TOO_FEW
    shown_rules = [rule for rule in CLAIMS if benchmark.outcome(rule) == Outcome.SHOWN]
    if Rule.ORDER in shown_rules:
        summary = NEEDS_SEVERAL_AND_ORDER if Rule.SEVERAL_FRAMES in shown_rules else CLAIMS[Rule.ORDER]
    elif is_lower_only_if_shuffled(benchmark) and Rule.SEVERAL_FRAMES not in shown_rules:
        summary = LOWER_IF_SHUFFLED
    else:
        summary = CLAIMS[shown_rules[-1]] if shown_rules else ""
    if summary:
        # Without a comparison with text only, changed frames may only distract a model that answers from the text.
        return summary if Rule.VIDEO in shown_rules else f"{summary}; {VIDEO_NOT_MEASURED}"
    return {
        Outcome.NOT_SHOWN: _summarize_missing_gain(benchmark),
        Outcome.NOT_MEASURED: VIDEO_NOT_MEASURED,
        Outcome.NOT_RUN: "use of the video not tested",
    }.get(benchmark.outcome(Rule.VIDEO), TOO_FEW)


def _summarize_missing_gain(benchmark: BenchmarkProfile) -> str:
    """Return what the planned frames do not gain over; only both comparisons together are no evidence of video use."""
    differences = _differences(benchmark, WITHOUT_VIDEO)
    missing = [entry.condition for entry in differences if entry.difference.outcome == Outcome.NOT_SHOWN]
    return NO_VIDEO_USE if len(missing) != 1 else f"gain of at most 5 % over {CONDITION_TITLES[missing[0]]}"


def describe_benchmark(benchmark: BenchmarkProfile) -> list[str]:
    """Return one sentence per claim, with the comparison that decides it."""
    if not benchmark.questions:
        return ["Not run."]
    if benchmark.problems:
        planned = benchmark.condition(PLANNED)
        name = f" {planned.run}" if planned and planned.run else ""
        return [f"No verdict: the run{name} looks broken: {'; '.join(benchmark.problems)}."]
    if benchmark.condition(PLANNED) is None:
        return [f"Not tested: {CONDITION_TITLES[PLANNED]} was not run."]
    if benchmark.effective_clusters < MIN_CLUSTERS:
        return [f"Too few clips to tell: {_describe_clusters(benchmark)}; a verdict needs {MIN_CLUSTERS}."]
    sentences = {rule: _describe_rule(benchmark, rule) for rule in list_claims([benchmark])}
    if is_lower_only_if_shuffled(benchmark):
        shuffled, reverse = (describe_difference(benchmark, condition) for condition in (SHUFFLED, REVERSED))
        sentences[Rule.ORDER] = f"Lower with shuffled frames: {shuffled}. Use of order not shown: {reverse}."
    return list(sentences.values())


def _describe_clusters(benchmark: BenchmarkProfile) -> str:
    """Return how many groups of clips there are; if only their unequal sizes are a problem, what they are worth."""
    groups = f"{benchmark.clusters:,} independent groups of clips"
    if benchmark.clusters < MIN_CLUSTERS:
        return groups
    worth = math.floor(benchmark.effective_clusters)  # rounding could give the number that a verdict needs
    return f"{groups} have unequal sizes and are worth only {worth} equal ones"


def _describe_rule(benchmark: BenchmarkProfile, rule: Rule) -> str:
    """Return the sentence for one rule, with the comparison that decides its outcome."""
    claim, outcome = CLAIMS[rule], benchmark.outcome(rule)
    differences = list(_differences(benchmark, CONDITIONS_BY_RULE[rule]))
    missing = [CONDITION_TITLES[name] for name in _required_conditions(rule) if not benchmark.condition(name)]
    if outcome == Outcome.NOT_RUN and missing:
        return f"Not tested: {claim}. Not run: {', '.join(missing)}."
    undecided = [entry for entry in differences if entry.difference.outcome == outcome]
    if outcome == Outcome.NOT_MEASURED and undecided:
        return f"Not measured: {claim}. {_describe_artefacts(benchmark, undecided)}"
    if outcome == Outcome.SHOWN:
        closest = min(_differences(benchmark, _evidence(rule)), key=lambda entry: entry.difference.value)
        return f"{claim[:1].upper()}{claim[1:]}: {describe_difference(benchmark, closest.condition)}."
    opening = OPENINGS[outcome]
    if undecided:
        weakest = min(undecided, key=lambda entry: entry.difference.value)
        margin = _describe_margin(benchmark, weakest.condition)
        return f"{opening}: {claim}; {describe_difference(benchmark, weakest.condition)}.{margin}"
    if rule != Rule.VIDEO and benchmark.outcome(Rule.VIDEO) != Outcome.SHOWN:
        return f"{opening}: {claim}. The lower scores under other conditions count only if the model uses the video."
    return f"{opening}: {claim}. Holm's correction for several tests removes the evidence."


def _evidence(rule: Rule) -> Sequence[str]:
    """Return the conditions of a rule that speak for its own claim; weaker rules have the others."""
    if rule == Rule.VIDEO:
        return WITHOUT_VIDEO
    if rule == Rule.ORDER:
        return REORDERED
    return [condition for condition in CONDITIONS_BY_RULE[rule] if condition not in WITHOUT_VIDEO]


def _describe_margin(benchmark: BenchmarkProfile, condition: str) -> str:
    """Return the sentence on the gain that must be exceeded in a comparison with the best frame, else an empty text."""
    best, null = benchmark.condition(condition), benchmark.condition(NULL_CONDITIONS.get(condition, ""))
    if best is None or null is None:
        return ""
    gain = format_difference(best.question_score.value - null.question_score.value, benchmark.question_decimals)
    return f" This must exceed the gain of that frame over the best one of a mismatched clip, {gain}."


def _required_conditions(rule: Rule) -> list[str]:
    """Return the conditions of a rule, with those that its comparisons with the best frame need."""
    conditions = CONDITIONS_BY_RULE[rule]
    nulls = [NULL_CONDITIONS[name] for name in conditions if name in NULL_CONDITIONS]
    return [*conditions, *nulls]


def _describe_artefacts(benchmark: BenchmarkProfile, unmeasured: Sequence[ConditionDifference]) -> str:
    """Return the sentences that say why comparisons were not measured, such as too many unparsed answers."""
    planned = benchmark.condition(PLANNED)
    if benchmark.is_confidence_informative is False and {entry.condition for entry in unmeasured} <= set(
        NULL_CONDITIONS
    ):
        return "The model is not more confident where it is right, so its confidence does not identify the best frame."
    assert planned is not None  # Comparisons are with the planned condition.
    lost, shifted = [], []
    planned_lost = planned.unparsed_share + planned.failed_share
    for condition in [entry.condition for entry in unmeasured]:
        result, title = benchmark.condition(condition), CONDITION_TITLES[condition]
        assert result is not None
        lost_share = result.unparsed_share + result.failed_share
        if abs(lost_share - planned_lost) >= 100 * LOST_LIMIT - ROUNDING:
            lost.append(f"{title} {format_percentage(lost_share)}")
        else:
            shifted.append(f"{title} {result.threshold_loss:.0f}")
    sentences = []
    if lost:
        planned_text = format_percentage(planned_lost)
        sentences.append(f"Unparsed or failed answers: {', '.join(lost)}; {planned_text} as planned.")
    if shifted:
        sentences.append(f"Points that a moved threshold for Yes or A can explain: {', '.join(shifted)}.")
    return " ".join(sentences)


def _differences(benchmark: BenchmarkProfile, conditions: Sequence[str]) -> Iterator[ConditionDifference]:
    """Yield the planned score minus the score under each of these conditions that was run."""
    for name in conditions:
        result = benchmark.condition(name)
        if result and result.difference:
            yield ConditionDifference(name, result.difference)


def describe_difference(benchmark: BenchmarkProfile, condition: str) -> str:
    """Phrase a comparison, such as `as planned +10.1 [7.2, 13.0] points against mismatched clip`."""
    result = benchmark.condition(condition)
    if result is None or result.difference is None:
        return f"{CONDITION_TITLES[condition]} not run"
    difference, decimals = result.difference, benchmark.question_decimals
    interval = format_interval(difference.low, difference.high, decimals)
    value = " ".join(filter(None, (format_difference(difference.value, decimals), interval)))
    return f"as planned {value} points against {CONDITION_TITLES[condition]}"


def describe_run_difference(profile: TemporalProfile, first: str, second: str) -> str:
    """Phrase the score per question of a run minus that of another, if the profile compares these runs."""
    for benchmark in profile.benchmarks:
        planned = benchmark.condition(PLANNED)
        for result in benchmark.conditions:
            if planned and result.difference and {first, second} == {planned.run, result.run}:
                sign = 1 if first == planned.run else -1
                difference, ends = result.difference, (result.difference.low, result.difference.high)
                low, high = ends if sign == 1 else (None if end is None else -end for end in reversed(ends))
                text = describe_points(
                    sign * difference.value, low, high, difference.p, benchmark.question_decimals, profile.level
                )
                test = "cluster t-test" if difference.p is not None else f"a test needs {MIN_CLUSTERS}"
                return (
                    f"Per question, {benchmark.question_title}: {text}; questions: {benchmark.questions:,}; "
                    f"clusters: {benchmark.clusters:,} ({test})."
                )
    return ""


def describe_left_out(profile: TemporalProfile) -> str:
    """Return the sentence with the conditions that the suite leaves out, which are the same on all benchmarks."""
    missing = [benchmark.missing for benchmark in profile.benchmarks]
    titles = [
        title for name, title in CONDITION_TITLES.items() if any(entry.get(name) == NOT_IN_SUITE for entry in missing)
    ]
    return f"Not run in this suite: {', '.join(titles)}." if titles else ""


def summarize_profile(profile: TemporalProfile) -> str:
    """Return one line with the strongest claim about each benchmark."""
    titles_by_summary: dict[str, list[str]] = {}
    for benchmark in profile.benchmarks:
        titles_by_summary.setdefault(summarize_benchmark(benchmark), []).append(benchmark.title)
    return ". ".join(
        f"{summary[:1].upper()}{summary[1:]}: {', '.join(titles)}" for summary, titles in titles_by_summary.items()
    )
