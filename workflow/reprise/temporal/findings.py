"""Phrase a temporal profile by fixed rules (docs/reference/temporal.md): a sentence per benchmark, a line per model."""

from collections.abc import Sequence

from reprise.tables.render.table import format_value
from reprise.temporal.profile import (
    FIRST,
    MIDDLE,
    MISMATCHED,
    NONE,
    REVERSED,
    SHUFFLED,
    VERDICT_TITLES,
    BenchmarkProfile,
    Change,
    TemporalProfile,
    Verdict,
)

# Each ablation as the subject of "loses 12.4 points".
ABLATION_PHRASES = {
    SHUFFLED: "shuffling the frames",
    REVERSED: "reversing them",
    FIRST: "the first frame repeated",
    MIDDLE: "the middle frame alone",
    NONE: "showing no video",
    MISMATCHED: "showing a mismatched clip",
}
ORDERS, SINGLES = (SHUFFLED, REVERSED), (MIDDLE, FIRST)


def is_significant(change: Change, level: float) -> bool:
    """Return whether both the interval and the test show a difference."""
    if change.low is None or change.high is None:
        return False
    return not change.low <= 0 <= change.high and change.p < 1 - level


def is_lower(benchmark: BenchmarkProfile, condition: str, level: float) -> bool | None:
    """Return whether the score is significantly lower under a condition; None if the condition was not run."""
    ablation = benchmark.condition(condition)
    change = ablation.change if ablation else None
    return None if change is None else change.value < 0 and is_significant(change, level)


def _losses(benchmark: BenchmarkProfile, conditions: Sequence[str], level: float) -> list[bool]:
    return [outcome for condition in conditions if (outcome := is_lower(benchmark, condition, level)) is not None]


def find_verdict(benchmark: BenchmarkProfile, level: float) -> Verdict:
    """Return the strongest use of the video that the ablations support."""
    order_losses, single_losses = _losses(benchmark, ORDERS, level), _losses(benchmark, SINGLES, level)
    uses_video = is_lower(benchmark, NONE if benchmark.condition(NONE) else MISMATCHED, level)
    if uses_video is False:
        return "words"
    if any(order_losses) and all(single_losses):
        return "order"
    if single_losses and all(single_losses):
        return "frames"
    return "frame" if uses_video and single_losses else "open"


def describe_finding(benchmark: BenchmarkProfile, level: float) -> str:
    title = benchmark.title
    if not benchmark.samples:
        return f"Nothing is known on {title}: it was not run."
    singles, orders = effect_phrases(benchmark, SINGLES, level), effect_phrases(benchmark, ORDERS, level)
    video = effect_phrases(benchmark, (NONE,), level) or effect_phrases(benchmark, (MISMATCHED,), level)
    order_note = "" if orders else "; whether their order does was not tested"
    contrary_conditions = [condition for condition in ORDERS if is_lower(benchmark, condition, level)]
    contrary_note = (
        f"; yet {_joined(effect_phrases(benchmark, contrary_conditions, level))}" if contrary_conditions else ""
    )
    match benchmark.verdict:
        case "order":
            return f"Order matters on {title}: {_joined(orders)}."
        case "frames":
            evidence = _joined([*singles, *orders])
            return f"Several frames matter on {title}, no use of their order is shown: {evidence}{order_note}."
        case "frame":
            evidence = _joined([*video, *singles])
            return f"The video matters on {title}, no use of more than one frame is shown: {evidence}{contrary_note}."
        case "words":
            return f"No use of the video is shown on {title}: {_joined(video)}{contrary_note}."
        case _:
            evidence = _joined([*video, *singles, *orders]) or "no ablation was run"
            return f"What is used on {title} is undecided: {evidence}."


def effect_phrases(benchmark: BenchmarkProfile, conditions: Sequence[str], level: float) -> list[str]:
    """Phrase the effect of each condition, such as `loses 12.4 points [8.1, 16.9]`.

    Without a significant difference it is `changes the score by -0.4 points [-2.0, 1.1]`.
    """
    phrases, unit = [], " points" if benchmark.best == 100 else ""
    for condition in conditions:
        ablation = benchmark.condition(condition)
        if ablation is None or ablation.change is None:
            continue
        value, is_clear = ablation.change.value, is_significant(ablation.change, level)
        sign = -1 if is_clear and value < 0 else 1
        ends = sorted(sign * end for end in (ablation.change.low, ablation.change.high) if end is not None)
        interval = f" [{', '.join(format_value(end, benchmark.decimals) for end in ends)}]" if ends else ""
        number = (
            format_value(sign * value, benchmark.decimals) if is_clear else format_signed(value, benchmark.decimals)
        )
        verb = "changes the score by" if not is_clear else "loses" if value < 0 else "gains"
        phrases.append(f"{ABLATION_PHRASES[condition]} {verb} {number}{unit}{interval}")
    return phrases


def format_signed(value: float, decimals: int) -> str:
    """Format a difference with its sign; a value that rounds to 0 gets none."""
    return format_value(value, decimals, signed=round(value, decimals) != 0)


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else ""


def summarize_profile(profile: TemporalProfile) -> str:
    """Summarise on one line which use of the video is supported on each benchmark."""
    titles_by_verdict: dict[str, list[str]] = {title: [] for title in VERDICT_TITLES.values()}
    for benchmark in profile.benchmarks:
        titles_by_verdict[VERDICT_TITLES[benchmark.verdict]].append(benchmark.title)
    line = "; ".join(f"{title}: {', '.join(names)}" for title, names in titles_by_verdict.items() if names)
    return line[:1].upper() + line[1:]
