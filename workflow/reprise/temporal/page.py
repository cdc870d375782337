"""Write a temporal profile as HTML, Markdown and LaTeX. The HTML has the conclusions first, then bars, then tables.

The bars need no script. All CSS classes begin with `tp-`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reprise.core.files import write_sealed_text
from reprise.tables.render import html, latex, markdown
from reprise.tables.render.html import escape
from reprise.tables.render.table import Table, format_value
from reprise.temporal.figure import Step, compute_steps
from reprise.temporal.findings import format_signed, summarize_profile
from reprise.temporal.profile import CONDITION_TITLES, KIND_TITLES, PLANNED, BenchmarkProfile, TemporalProfile
from reprise.temporal.tables import build_comparison_table, build_tables, describe_order_use, sort_profiles

CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def write_pages(title: str, sentences: Sequence[str], tables: Sequence[Table], page: str, path: Path) -> None:
    lines = "\n".join(f"- {markdown.escape(line)}" for line in sentences if line)
    document = [f"## {markdown.escape(title)}\n", f"{lines}\n", *map(markdown.render, tables)]
    source = [*(latex.comment(line) for line in sentences if line), *map(latex.render, tables)]
    for kind, blocks in (("html", [page]), ("md", document), ("tex", source)):
        write_sealed_text(path.with_suffix(f".{kind}"), "\n".join(blocks))


def render_profile(profile: TemporalProfile) -> str:
    parts = [
        render_fragment(profile),
        *(html.render_section(replace(table, notice="")) for table in build_tables(profile)),
    ]
    return html.render_page(f"Does {profile.title} use time?", f"<style>\n{CSS}</style>\n{''.join(parts)}")


def render_profiles(profiles: Sequence[TemporalProfile]) -> str:
    sorted_profiles = sort_profiles(profiles)
    parts = [_notice(sorted_profiles[0])] if sorted_profiles else []
    parts += [
        render_fragment(profile, f"{profile.title}: {describe_order_use(profile)}", sentences=False)
        for profile in sorted_profiles
    ]
    parts += (
        [html.render_section(replace(build_comparison_table(sorted_profiles), notice=""))] if sorted_profiles else []
    )
    content = f"<style>\n{CSS}</style>\n<h1>Which models use time?</h1>\n{''.join(parts)}"
    return html.render_page("Which models use time?", content)


def render_fragment(profile: TemporalProfile, heading: str = "", *, sentences: bool = True) -> str:
    """Return the profile without its tables, for any page that includes its style sheet."""
    heading = heading or f"Does {profile.title} use time?"
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
    kinds = {part.kind for benchmark in profile.benchmarks for part in benchmark.parts}
    keys = "".join(
        f'<li><span class="tp-key tp-{name}"></span>{escape(title)}</li>'
        for name, title in KIND_TITLES.items()
        if name in kinds
    )
    if any(benchmark.chance is not None for benchmark in profile.benchmarks):
        keys += '<li><span class="tp-key tp-dots"></span>chance</li>' if keys else ""
    return f'<ul class="tp-legend">{keys}</ul>\n' if keys else ""


def _block(benchmark: BenchmarkProfile, sentences: bool) -> str:
    planned = benchmark.condition(PLANNED)
    score = format_value(planned.score.value, benchmark.decimals) if planned else ""
    lines = "".join(_lines(benchmark))
    aria_label = ", ".join(
        f"{part.title} {format_value(part.number.value, benchmark.decimals)}" for part in benchmark.parts
    )
    published = "; ".join(
        f"{_title(score.condition)} {format_value(score.value, benchmark.decimals)} ({score.source})"
        for score in benchmark.published
    )
    titles_by_reason: dict[str, list[str]] = {}
    for condition, reason in benchmark.missing.items():
        titles_by_reason.setdefault(reason, []).append(_title(condition))
    missing = "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in titles_by_reason.items())
    comparative = "right" if benchmark.best == 100 else "rated higher"
    time_dependent = f"{benchmark.only_as_planned} of {benchmark.samples} samples {comparative} only with time. "
    return (
        f'<article class="tp-benchmark"><h3>{escape(benchmark.title)} <span class="tp-score">{escape(score)}</span> '
        f"<small>{escape(benchmark.score_title)}</small></h3>\n"
        + (f'<div class="tp-stairs" role="img" aria-label="{escape(aria_label)}">{lines}</div>\n' if lines else "")
        + (f'<p class="tp-sentence">{escape(benchmark.sentence)}</p>\n' if sentences else "")
        + (
            f'<p class="tp-more">{escape(time_dependent)}</p>\n'
            if sentences and benchmark.only_as_planned is not None
            else ""
        )
        + (f'<p class="tp-more">Published: {escape(published)}.</p>\n' if sentences and published else "")
        + (f'<p class="tp-more">Not run: {escape(missing)}.</p>\n' if sentences and missing else "")
        + "</article>\n"
    )


def _title(condition: str) -> str:
    return CONDITION_TITLES.get(condition, condition)


def _lines(benchmark: BenchmarkProfile) -> Iterator[str]:
    """Yield one line per part, whose bar starts where the previous one ends.

    The track runs from the lowest end of any bar or interval to the best score.
    """
    steps = compute_steps(benchmark)
    ends = [0.0, *(end for step in steps for end in (step.end, _end(step, step.part.number.low)))]
    minimum, span = min(ends), benchmark.best - min(ends)
    chance = (
        ""
        if benchmark.chance is None
        else f'<i class="tp-chance" style="left:{100 * (benchmark.chance - minimum) / span:.2f}%"></i>'
    )

    def position(value: float) -> str:
        return f"{min(100.0, max(0.0, 100 * (value - minimum) / span)):.2f}%"

    for index, step in enumerate(steps):
        start, end = sorted((step.start, step.end))
        number = step.part.number
        low, high = _end(step, number.low), _end(step, number.high)
        kind = f"tp-{step.part.kind}{' tp-back' if step.end < step.start else ''}"
        value = (
            format_signed(number.value, benchmark.decimals) if index else format_value(number.value, benchmark.decimals)
        )
        interval = "" if number.low is None or number.high is None else (
            f" [{format_value(number.low, benchmark.decimals)}, {format_value(number.high, benchmark.decimals)}]"
        )  # fmt: skip
        whisker = (
            f'<i class="tp-interval" style="left:{position(low)};right:calc(100% - {position(high)})"></i>'
            if interval
            else ""
        )
        yield (
            f'<span class="tp-name">{escape(step.part.title)}</span><span class="tp-track">{chance}'
            f'<b class="tp-bar {kind}" style="left:{position(start)};width:{100 * (end - start) / span:.2f}%"></b>'
            f"{whisker}</span>"
            f'<span class="tp-value">{escape(value)}<small>{escape(interval)}</small></span>'
        )


def _end(step: Step, end: float | None) -> float:
    return step.end if end is None else step.start + end
