"""A card as people read it. As HTML: what it says first, bars that need no script, the tables below.

All classes begin with `tc-`.
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
    shown = [f"## {markdown.escape(title)}\n", f"{lines}\n", *map(markdown.render, tables)]
    source = [*(latex.comment(line) for line in sentences if line), *map(latex.render, tables)]
    for kind, parts in (("html", [page]), ("md", shown), ("tex", source)):
        write_sealed(path.with_suffix(f".{kind}"), "\n".join(parts))


def card_page(card: Card) -> str:
    parts = [fragment(card), *(html.table_section(replace(table, notice="")) for table in tables_of(card))]
    return html.page(f"Does {card.title} use time?", f"<style>\n{CSS}</style>\n{''.join(parts)}")


def all_page(cards: Sequence[Card]) -> str:
    ordered = in_order(cards)
    parts = [_notice(ordered[0])] if ordered else []
    parts += [fragment(card, f"{card.title}: {order_words(card)}", sentences=False) for card in ordered]
    parts += [html.table_section(replace(all_table(ordered), notice=""))] if ordered else []
    content = f"<style>\n{CSS}</style>\n<h1>Which models use time?</h1>\n{''.join(parts)}"
    return html.page("Which models use time?", content)


def fragment(card: Card, heading: str = "", *, sentences: bool = True) -> str:
    """The card without its tables, to stand in any page that has its style."""
    heading = heading or f"Does {card.title} use time?"
    blocks = "".join(_block(one, sentences) for one in card.benchmarks)
    return (
        f'<section class="tc-card">\n<h2>{escape(heading)}</h2>\n{_notice(card) if sentences else ""}'
        f'<p class="tc-headline">{escape(headline(card))}</p>\n{_legend(card)}<div class="tc-grid">\n{blocks}</div>\n'
        "</section>\n"
    )


def _notice(card: Card) -> str:
    return f'<p class="notice tc-notice">{escape(card.notice)}</p>\n' if card.notice else ""


def _legend(card: Card) -> str:
    there = {part.kind for one in card.benchmarks for part in one.parts}
    keys = "".join(
        f'<li><span class="tc-key tc-{name}"></span>{escape(title)}</li>'
        for name, title in KIND_TITLES.items()
        if name in there
    )
    if any(one.chance is not None for one in card.benchmarks):
        keys += '<li><span class="tc-key tc-dots"></span>chance</li>' if keys else ""
    return f'<ul class="tc-legend">{keys}</ul>\n' if keys else ""


def _block(one: CardBenchmark, sentences: bool) -> str:
    planned = one.view(PLANNED)
    score = format_value(planned.score.value, one.decimals) if planned else ""
    lines = "".join(_lines(one))
    aloud = ", ".join(f"{part.title} {format_value(part.number.value, one.decimals)}" for part in one.parts)
    printed = "; ".join(
        f"{VIEW_TITLES.get(paper.view, paper.view)} {format_value(paper.value, one.decimals)} ({paper.source})"
        for paper in one.published
    )
    missing = "; ".join(
        f"{', '.join(VIEW_TITLES.get(name, name) for name, said in one.missing.items() if said == reason)}: {reason}"
        for reason in dict.fromkeys(one.missing.values())
    )
    what = "right" if one.best == 100 else "rated higher"
    only = f"{one.only_with_time} of {one.samples} samples {what} only with time. "
    return (
        f'<article class="tc-benchmark"><h3>{escape(one.title)} <span class="tc-score">{escape(score)}</span> '
        f"<small>{escape(one.score_title)}</small></h3>\n"
        + (f'<div class="tc-stairs" role="img" aria-label="{escape(aloud)}">{lines}</div>\n' if lines else "")
        + (f'<p class="tc-sentence">{escape(one.sentence)}</p>\n' if sentences else "")
        + (f'<p class="tc-more">{escape(only)}</p>\n' if sentences and one.only_with_time is not None else "")
        + (f'<p class="tc-more">Published: {escape(printed)}.</p>\n' if sentences and printed else "")
        + (f'<p class="tc-more">Not asked: {escape(missing)}.</p>\n' if sentences and missing else "")
        + "</article>\n"
    )


def _lines(one: CardBenchmark) -> Iterator[str]:
    """A line for each part, its bar where the one before ends; the track is from the least end to the best score."""
    found = steps(one)
    ends = [0.0, *(end for step in found for end in (step.end, _end(step, step.part.number.low)))]
    least, span = min(ends), one.best - min(ends)
    chance = (
        "" if one.chance is None else f'<i class="tc-chance" style="left:{100 * (one.chance - least) / span:.2f}%"></i>'
    )

    def at(value: float) -> str:
        return f"{min(100.0, max(0.0, 100 * (value - least) / span)):.2f}%"

    for place, step in enumerate(found):
        start, end = sorted((step.start, step.end))
        number = step.part.number
        low, high = _end(step, number.low), _end(step, number.high)
        kind = f"tc-{step.part.kind}{' tc-back' if step.end < step.start else ''}"
        value = signed(number.value, one.decimals) if place else format_value(number.value, one.decimals)
        ends_shown = "" if number.low is None or number.high is None else (
            f" [{format_value(number.low, one.decimals)}, {format_value(number.high, one.decimals)}]"
        )  # fmt: skip
        whisker = (
            f'<i class="tc-interval" style="left:{at(low)};right:calc(100% - {at(high)})"></i>' if ends_shown else ""
        )
        yield (
            f'<span class="tc-name">{escape(step.part.title)}</span><span class="tc-track">{chance}'
            f'<b class="tc-bar {kind}" style="left:{at(start)};width:{100 * (end - start) / span:.2f}%"></b>'
            f"{whisker}</span>"
            f'<span class="tc-value">{escape(value)}<small>{escape(ends_shown)}</small></span>'
        )


def _end(step: Step, end: float | None) -> float:
    return step.end if end is None else step.start + end
