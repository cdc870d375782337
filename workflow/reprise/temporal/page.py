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
from reprise.temporal.conditions import CONDITION_TITLES, NOT_IN_SUITE, PLANNED
from reprise.temporal.findings import describe_benchmark, describe_left_out, summarize_benchmark, summarize_profile
from reprise.temporal.marks import build_style_properties, choose_mark, list_marks
from reprise.temporal.profile import BenchmarkProfile, TemporalProfile
from reprise.temporal.ranking import rank_overall
from reprise.temporal.rules import MARGIN
from reprise.temporal.tables import build_ranking_table, build_tables

CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
MAX_LISTED_LOSSES = 3  # a note on more conditions has their range; the table has each of them


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
    title = f"Temporal profile of {profile.title}"
    fragment = render_fragment(profile, "Score per question")
    content = f"<style>\n{CSS}</style>\n<h1>{escape(title)}</h1>\n{fragment}{''.join(tables)}"
    return html.render_page(title, content)


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
    left_out = describe_left_out(profile) if sentences else ""
    blocks = "".join(_block(benchmark, sentences) for benchmark in profile.benchmarks)
    return (
        f'<section class="tp-profile" style="{build_style_properties(profile.style)}">\n<h2>{escape(heading)}</h2>\n'
        f'{_notice(profile) if sentences else ""}<p class="tp-headline">{escape(summarize_profile(profile))}</p>\n'
        f'{_legend(profile)}<div class="tp-grid">\n{blocks}</div>\n{_note(left_out)}'
        "</section>\n"
    )


def _note(text: str) -> str:
    return f'<p class="tp-more">{escape(text)}</p>\n' if text else ""


def _notice(profile: TemporalProfile) -> str:
    return f'<p class="notice tp-notice">{escape(profile.notice)}</p>\n' if profile.notice else ""


def _legend(profile: TemporalProfile) -> str:
    """Return the keys of the marks and lines that the panels of a profile have."""
    keys = [
        f'<li><span class="tp-key tp-{mark}"></span>{escape(title)}</li>'
        for mark, title in list_marks([profile]).items()
    ]
    if any(benchmark.is_usable and benchmark.question_chance is not None for benchmark in profile.benchmarks):
        keys.append('<li><span class="tp-key tp-dots"></span>chance</li>')
    return f'<ul class="tp-legend">{"".join(keys)}</ul>\n' if keys else ""


def _block(benchmark: BenchmarkProfile, has_sentences: bool) -> str:
    """Return the HTML of one benchmark: its scores, its marks, and its sentences or only their summary."""
    sentences = describe_benchmark(benchmark) if has_sentences else [summarize_benchmark(benchmark)]
    lines = f'<div class="tp-scores">{"".join(_score_lines(benchmark))}</div>\n' if benchmark.is_usable else ""
    return (
        f'<article class="tp-benchmark"><h3>{escape(benchmark.title)}{_lead(benchmark)}\n'
        f"{lines}"
        + "".join(f'<p class="tp-sentence">{escape(sentence)}</p>\n' for sentence in sentences)
        + ("".join(map(_note, _notes(benchmark))) if has_sentences else "")
        + "</article>\n"
    )


def _lead(benchmark: BenchmarkProfile) -> str:
    """Return the rest of a heading: the planned score per question, which the marks show, and below the main score."""
    planned = benchmark.condition(PLANNED)
    if planned is None:
        return "</h3>"
    score, main = planned.question_score, planned.headline_score
    interval = format_interval(main.low, main.high, benchmark.decimals)
    return (
        f' <span class="tp-score">{escape(format_value(score.value, benchmark.question_decimals))}</span> '
        f"<small>{escape(benchmark.question_title)}, as planned</small></h3>\n"
        f'<p class="tp-main">Main score: {escape(benchmark.score_title)} '
        f"{escape(format_value(main.value, benchmark.decimals))} <small>{escape(interval)}</small></p>"
    )


def _notes(benchmark: BenchmarkProfile) -> Iterator[str]:
    """Yield the remarks below a benchmark's sentences."""
    ordered = benchmark.ordered_only
    if ordered:
        yield (
            f"{format_share(ordered.count, benchmark.questions)} questions score higher as planned than in both other "
            f"orders, and {ordered.mirrored} score lower than in both."
        )
    if benchmark.best_frames:
        yield _describe_positions(benchmark)
    if benchmark.frames == 2:
        yield "With two frames, shuffled equals reversed, and middle equals last."
    yield from _note_threshold_losses(benchmark)
    published = [
        f"{CONDITION_TITLES[score.condition]} {format_value(score.value, benchmark.decimals)} ({score.source})"
        for score in benchmark.published
    ]
    if published:
        yield f"Published: {'; '.join(published)}."
    titles_by_reason: dict[str, list[str]] = {}
    for condition, reason in benchmark.missing.items():
        if reason == NOT_IN_SUITE:
            continue
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


def _note_threshold_losses(benchmark: BenchmarkProfile) -> Iterator[str]:
    """Name the conditions under which a moved threshold for the first option can explain much of a loss."""
    losses = {
        CONDITION_TITLES[result.condition]: result.threshold_loss
        for result in benchmark.conditions
        if result.threshold_loss > 100 * MARGIN
    }
    if not losses:
        return
    listed = ", ".join(f"{loss:.0f} ({title})" for title, loss in losses.items())
    if len(losses) > MAX_LISTED_LOSSES:
        ends = dict.fromkeys(f"{end:.0f}" for end in (min(losses.values()), max(losses.values())))
        listed = f"{' to '.join(ends)} (under {len(losses)} conditions)"
    yield f"A moved threshold for Yes or A can explain a loss of {listed} points."


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
        score, mark = result.question_score, choose_mark(benchmark, result)
        interval, whisker = "", ""
        if score.low is not None and score.high is not None:
            interval = f" {format_interval(score.low, score.high, decimals)}"
            left, right = position(score.low), position(score.high)
            whisker = f'<i class="tp-interval tp-{mark}" style="left:{left};right:calc(100% - {right})"></i>'
        value = escape(format_value(score.value, decimals))
        yield (
            f'<span class="tp-name">{escape(title)}</span><span class="tp-track">{chance}{whisker}'
            f'<b class="tp-mark tp-{mark}" style="left:{position(score.value)}"></b></span>'
            f'<span class="tp-value">{value}<small>{escape(interval)}</small></span>'
        )
