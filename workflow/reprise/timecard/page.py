"""Write a temporal profile as HTML, Markdown and LaTeX. The HTML has the conclusions first, then bars, then tables.

The bars need no script. All CSS classes begin with `tc-`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reprise.core.files import write_sealed
from reprise.tables.render import html, latex, markdown
from reprise.tables.render.html import escape
from reprise.tables.render.table import Table, format_value
from reprise.timecard.card import KIND_TITLES, PLANNED, VIEW_TITLES, Card, CardBenchmark
from reprise.timecard.picture import Step, steps
from reprise.timecard.tables import all_table, in_order, order_words, tables_of
from reprise.timecard.words import headline, signed

CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def write_pages(title: str, sentences: Sequence[str], tables: Sequence[Table], page: str, path: Path) -> None:
    lines = "\n".join(f"- {markdown.escape(line)}" for line in sentences if line)
    document = [f"## {markdown.escape(title)}\n", f"{lines}\n", *map(markdown.render, tables)]
    source = [*(latex.comment(line) for line in sentences if line), *map(latex.render, tables)]
    for kind, blocks in (("html", [page]), ("md", document), ("tex", source)):
        write_sealed(path.with_suffix(f".{kind}"), "\n".join(blocks))


def card_page(card: Card) -> str:
    parts = [fragment(card), *(html.table_section(replace(table, notice="")) for table in tables_of(card))]
    return html.page(f"Does {card.title} use time?", f"<style>\n{CSS}</style>\n{''.join(parts)}")


def all_page(cards: Sequence[Card]) -> str:
    sorted_cards = in_order(cards)
    parts = [_notice(sorted_cards[0])] if sorted_cards else []
    parts += [fragment(card, f"{card.title}: {order_words(card)}", sentences=False) for card in sorted_cards]
    parts += [html.table_section(replace(all_table(sorted_cards), notice=""))] if sorted_cards else []
    content = f"<style>\n{CSS}</style>\n<h1>Which models use time?</h1>\n{''.join(parts)}"
    return html.page("Which models use time?", content)


def fragment(card: Card, heading: str = "", *, sentences: bool = True) -> str:
    """Return the profile without its tables, for any page that includes its style sheet."""
    heading = heading or f"Does {card.title} use time?"
    blocks = "".join(_block(benchmark, sentences) for benchmark in card.benchmarks)
    return (
        f'<section class="tc-card">\n<h2>{escape(heading)}</h2>\n{_notice(card) if sentences else ""}'
        f'<p class="tc-headline">{escape(headline(card))}</p>\n{_legend(card)}<div class="tc-grid">\n{blocks}</div>\n'
        "</section>\n"
    )


def _notice(card: Card) -> str:
    return f'<p class="notice tc-notice">{escape(card.notice)}</p>\n' if card.notice else ""


def _legend(card: Card) -> str:
    kinds = {part.kind for benchmark in card.benchmarks for part in benchmark.parts}
    keys = "".join(
        f'<li><span class="tc-key tc-{name}"></span>{escape(title)}</li>'
        for name, title in KIND_TITLES.items()
        if name in kinds
    )
    if any(benchmark.chance is not None for benchmark in card.benchmarks):
        keys += '<li><span class="tc-key tc-dots"></span>chance</li>' if keys else ""
    return f'<ul class="tc-legend">{keys}</ul>\n' if keys else ""


def _block(benchmark: CardBenchmark, sentences: bool) -> str:
    planned = benchmark.view(PLANNED)
    score = format_value(planned.score.value, benchmark.decimals) if planned else ""
    lines = "".join(_lines(benchmark))
    aria_label = ", ".join(
        f"{part.title} {format_value(part.number.value, benchmark.decimals)}" for part in benchmark.parts
    )
    printed = "; ".join(
        f"{VIEW_TITLES.get(paper.view, paper.view)} {format_value(paper.value, benchmark.decimals)} ({paper.source})"
        for paper in benchmark.published
    )
    missing = "; ".join(
        f"{', '.join(VIEW_TITLES.get(key, key) for key, text in benchmark.missing.items() if text == reason)}: {reason}"
        for reason in dict.fromkeys(benchmark.missing.values())
    )
    comparative = "right" if benchmark.best == 100 else "rated higher"
    time_dependent = f"{benchmark.only_with_time} of {benchmark.samples} samples {comparative} only with time. "
    return (
        f'<article class="tc-benchmark"><h3>{escape(benchmark.title)} <span class="tc-score">{escape(score)}</span> '
        f"<small>{escape(benchmark.score_title)}</small></h3>\n"
        + (f'<div class="tc-stairs" role="img" aria-label="{escape(aria_label)}">{lines}</div>\n' if lines else "")
        + (f'<p class="tc-sentence">{escape(benchmark.sentence)}</p>\n' if sentences else "")
        + (
            f'<p class="tc-more">{escape(time_dependent)}</p>\n'
            if sentences and benchmark.only_with_time is not None
            else ""
        )
        + (f'<p class="tc-more">Published: {escape(printed)}.</p>\n' if sentences and printed else "")
        + (f'<p class="tc-more">Not asked: {escape(missing)}.</p>\n' if sentences and missing else "")
        + "</article>\n"
    )


def _lines(benchmark: CardBenchmark) -> Iterator[str]:
    """Yield one line per part, whose bar starts where the previous one ends.

    The track runs from the lowest end of any bar or interval to the best score.
    """
    bars = steps(benchmark)
    ends = [0.0, *(end for step in bars for end in (step.end, _end(step, step.part.number.low)))]
    minimum, span = min(ends), benchmark.best - min(ends)
    chance = (
        ""
        if benchmark.chance is None
        else f'<i class="tc-chance" style="left:{100 * (benchmark.chance - minimum) / span:.2f}%"></i>'
    )

    def position(value: float) -> str:
        return f"{min(100.0, max(0.0, 100 * (value - minimum) / span)):.2f}%"

    for index, step in enumerate(bars):
        start, end = sorted((step.start, step.end))
        measure = step.part.number
        low, high = _end(step, measure.low), _end(step, measure.high)
        kind = f"tc-{step.part.kind}{' tc-back' if step.end < step.start else ''}"
        value = signed(measure.value, benchmark.decimals) if index else format_value(measure.value, benchmark.decimals)
        interval = "" if measure.low is None or measure.high is None else (
            f" [{format_value(measure.low, benchmark.decimals)}, {format_value(measure.high, benchmark.decimals)}]"
        )  # fmt: skip
        whisker = (
            f'<i class="tc-interval" style="left:{position(low)};right:calc(100% - {position(high)})"></i>'
            if interval
            else ""
        )
        yield (
            f'<span class="tc-name">{escape(step.part.title)}</span><span class="tc-track">{chance}'
            f'<b class="tc-bar {kind}" style="left:{position(start)};width:{100 * (end - start) / span:.2f}%"></b>'
            f"{whisker}</span>"
            f'<span class="tc-value">{escape(value)}<small>{escape(interval)}</small></span>'
        )


def _end(step: Step, end: float | None) -> float:
    return step.end if end is None else step.start + end
