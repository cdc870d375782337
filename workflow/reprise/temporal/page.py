"""Write a temporal profile as HTML, Markdown and LaTeX. The HTML has the verdicts first, then scores, then tables.

The scores are drawn without a script. All CSS classes begin with `tp-`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reprise.core.files import write_sealed_text
from reprise.core.notation import format_interval, format_percentage, format_share, format_value
from reprise.tables.render import html, latex, latex_text, markdown
from reprise.tables.render.html import escape
from reprise.tables.render.table import Table
from reprise.temporal.conditions import CONDITION_TITLES, PLANNED
from reprise.temporal.findings import describe_benchmark, summarize_benchmark, summarize_profile
from reprise.temporal.profile import BenchmarkProfile, ConditionResult, TemporalProfile
from reprise.temporal.ranking import rank_overall
from reprise.temporal.rules import Outcome
from reprise.temporal.tables import build_ranking_table, build_tables

CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
MAX_OPTION_SHIFT = 10.0  # percentage points; a larger change of the first option's share gets a note
# (end of the CSS class `tp-<kind>`, explanation) of each mark
LEGEND = (
    ("planned", "as planned"),
    ("lower", "lower than as planned"),
    ("equal", "not shown to be lower"),
    ("unmeasured", "not measured"),
)


def write_pages(title: str, sentences: Sequence[str], tables: Sequence[Table], page: str, path: Path) -> None:
    """Write the HTML `page` to `path`, and the sentences and tables beside it as Markdown and LaTeX."""
    lines = "\n".join(f"- {markdown.escape(line)}" for line in sentences if line)
    document = [f"## {markdown.escape(title)}\n", f"{lines}\n", *map(markdown.render, tables)]
    source = [*(latex_text.comment(line) for line in sentences if line), *map(latex.render, tables)]
    for kind, blocks in (("html", [page]), ("md", document), ("tex", source)):
        write_sealed_text(path.with_suffix(f".{kind}"), "\n".join(blocks))


def list_sentences(profile: TemporalProfile) -> list[str]:
    """Return every sentence of a profile, after the title of its benchmark."""
    return [
        f"{benchmark.title}: {sentence}"
        for benchmark in profile.benchmarks
        for sentence in describe_benchmark(benchmark)
    ]


def render_profile(profile: TemporalProfile) -> str:
    """Return the HTML page of one model."""
    tables = [html.render_section(replace(table, notice="")) for table in build_tables(profile)]
    content = f"<style>\n{CSS}</style>\n{render_fragment(profile)}{''.join(tables)}"
    return html.render_page(f"Temporal profile of {profile.title}", content)


def render_profiles(profiles: Sequence[TemporalProfile]) -> str:
    """Return the HTML page that ranks all models and shows their profiles."""
    ranked = [model.profile for model in rank_overall(profiles)]
    parts = [_notice(ranked[0]), html.render_section(replace(build_ranking_table(ranked), notice=""))] if ranked else []
    parts += [render_fragment(profile, profile.title, sentences=False) for profile in ranked]
    content = f"<style>\n{CSS}</style>\n<h1>Temporal profiles</h1>\n{''.join(parts)}"
    return html.render_page("Temporal profiles", content)


def render_fragment(profile: TemporalProfile, heading: str = "", *, sentences: bool = True) -> str:
    """Return the profile without its tables, for any page that includes its style sheet."""
    heading = heading or f"Temporal profile of {profile.title}"
    blocks = "".join(_block(benchmark, sentences) for benchmark in profile.benchmarks)
    return (
        f'<section class="tp-profile">\n<h2>{escape(heading)}</h2>\n{_notice(profile) if sentences else ""}'
        f'<p class="tp-headline">{escape(summarize_profile(profile))}</p>\n'
        f'{_legend(profile)}<div class="tp-grid">\n{blocks}</div>\n'
        "</section>\n"
    )


def _notice(profile: TemporalProfile) -> str:
    return f'<p class="notice tp-notice">{escape(profile.notice)}</p>\n' if profile.notice else ""


def _legend(profile: TemporalProfile) -> str:
    if not any(benchmark.is_usable for benchmark in profile.benchmarks):
        return ""
    keys = "".join(f'<li><span class="tp-key tp-{name}"></span>{escape(title)}</li>' for name, title in LEGEND)
    if any(benchmark.question_chance is not None for benchmark in profile.benchmarks):
        keys += '<li><span class="tp-key tp-dots"></span>chance</li>'
    return f'<ul class="tp-legend">{keys}</ul>\n'


def _block(benchmark: BenchmarkProfile, has_sentences: bool) -> str:
    """Return the HTML of one benchmark: its score, its marks, and its sentences or only their summary."""
    planned = benchmark.condition(PLANNED)
    score = format_value(planned.headline_score.value, benchmark.decimals) if planned else ""
    sentences = describe_benchmark(benchmark) if has_sentences else [summarize_benchmark(benchmark)]
    scores = f'<div class="tp-scores">{"".join(_score_lines(benchmark))}</div>\n' if benchmark.is_usable else ""
    return (
        f'<article class="tp-benchmark"><h3>{escape(benchmark.title)} <span class="tp-score">{escape(score)}</span> '
        f"<small>{escape(benchmark.score_title)}; below: {escape(benchmark.question_title)}</small></h3>\n"
        f"{scores}"
        + "".join(f'<p class="tp-sentence">{escape(sentence)}</p>\n' for sentence in sentences)
        + ("".join(f'<p class="tp-more">{escape(note)}</p>\n' for note in _notes(benchmark)) if has_sentences else "")
        + "</article>\n"
    )


def _notes(benchmark: BenchmarkProfile) -> Iterator[str]:
    """Yield the remarks below a benchmark's sentences."""
    ordered = benchmark.ordered_only
    if ordered:
        expected = "" if ordered.expected is None else f", {format_value(ordered.expected, 1)} expected by guessing"
        yield (
            f"{format_share(ordered.count, benchmark.questions)} questions score higher as planned than in both other "
            f"orders{expected}; {ordered.mirrored} score lower than both."
        )
    if benchmark.best_frames:
        yield _describe_positions(benchmark)
    if benchmark.frames == 2:
        yield "With two frames, shuffled equals reversed, and middle equals last."
    yield from _note_threshold_shifts(benchmark)
    published = [
        f"{CONDITION_TITLES[score.condition]} {format_value(score.value, benchmark.decimals)} ({score.source})"
        for score in benchmark.published
    ]
    if published:
        yield f"Published: {'; '.join(published)}."
    titles_by_reason: dict[str, list[str]] = {}
    for condition, reason in benchmark.missing.items():
        titles_by_reason.setdefault(reason, []).append(CONDITION_TITLES[condition])
    if titles_by_reason:
        missing = "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in titles_by_reason.items())
        yield f"Not run: {missing}."


def _describe_positions(benchmark: BenchmarkProfile) -> str:
    """Name the positions that the single-frame probe chooses most often, of the clip and of a mismatched one."""
    own = max(benchmark.best_frames, key=lambda frame: frame.chosen_share)
    mismatched = max(benchmark.best_frames, key=lambda frame: frame.mismatched_chosen_share)
    scores = ", ".join(format_value(frame.score, benchmark.question_decimals) for frame in benchmark.best_frames)
    return (
        f"Scores of single frames by position: {scores}. The model is most confident with frame {own.position} in "
        f"{format_percentage(own.chosen_share)} of the questions; of a mismatched clip, with frame "
        f"{mismatched.position} in {format_percentage(mismatched.mismatched_chosen_share)}."
    )


def _note_threshold_shifts(benchmark: BenchmarkProfile) -> Iterator[str]:
    """Name the conditions whose share of the first option differs much, if a shifted threshold can change the score."""
    planned = benchmark.condition(PLANNED)
    if benchmark.question_title != "accuracy per question" or planned is None or planned.first_option_share is None:
        return
    shifts = [
        f"{CONDITION_TITLES[result.condition]} {format_percentage(result.first_option_share)}"
        for result in benchmark.conditions
        if result.first_option_share is not None
        and abs(result.first_option_share - planned.first_option_share) > MAX_OPTION_SHIFT
    ]
    if shifts:
        yield (
            f"The share of Yes or A is {format_percentage(planned.first_option_share)} as planned, but "
            f"{', '.join(shifts)}. These differences may come from a shifted threshold."
        )


def condition_kind(result: ConditionResult) -> str:
    """Return the key of a condition's mark in `LEGEND`."""
    if result.condition == PLANNED:
        return "planned"
    if result.difference is None:
        return "equal"
    return {Outcome.SHOWN: "lower", Outcome.NOT_MEASURED: "unmeasured"}.get(result.difference.outcome, "equal")


def _score_lines(benchmark: BenchmarkProfile) -> Iterator[str]:
    """Yield one line per condition: its score as a mark on a track from 0 to the best score, and as a number."""
    best, decimals = benchmark.question_best, benchmark.question_decimals

    def position(value: float) -> str:
        return f"{min(100.0, max(0.0, 100 * value / best)):.2f}%"

    chance = (
        ""
        if benchmark.question_chance is None
        else f'<i class="tp-chance" style="left:{position(benchmark.question_chance)}"></i>'
    )
    for condition, title in CONDITION_TITLES.items():
        result = benchmark.condition(condition)
        if result is None:
            continue
        score = result.question_score
        interval, whisker = "", ""
        if score.low is not None and score.high is not None:
            interval = f" {format_interval(score.low, score.high, decimals)}"
            left, right = position(score.low), position(score.high)
            whisker = f'<i class="tp-interval" style="left:{left};right:calc(100% - {right})"></i>'
        value = escape(format_value(score.value, decimals))
        yield (
            f'<span class="tp-name">{escape(title)}</span><span class="tp-track">{chance}{whisker}'
            f'<b class="tp-mark tp-{condition_kind(result)}" style="left:{position(score.value)}"></b></span>'
            f'<span class="tp-value">{value}<small>{escape(interval)}</small></span>'
        )
