"""Stage `time_card`: what of a model's scores is due to words, to frames and to their order."""

from pathlib import Path

from reprise.core.tabular import write_csv
from reprise.figures.style import save
from reprise.stages.command import In, Out
from reprise.timecard.card import TimeCardKey, write_card
from reprise.timecard.measure import card_of
from reprise.timecard.page import card_page, write_pages
from reprise.timecard.picture import draw_card
from reprise.timecard.tables import tables_of, tidy
from reprise.timecard.words import headline


def main(settings: TimeCardKey, made_from: In[list[Path]], html: Out[Path]) -> None:
    card, samples = card_of(settings)
    write_csv(samples, html.with_suffix(".items.csv"))
    write_card(card, html.with_suffix(".json"))
    write_csv(tidy([card]), html.with_suffix(".csv"))
    title = f"Does {card.title} use time?"
    save(
        draw_card(card),
        html.with_suffix(".png"),
        {"title": title, "caption": f"{card.notice} {headline(card)}".strip()},
    )
    write_pages(
        title, [headline(card), *(one.sentence for one in card.benchmarks)], tables_of(card), card_page(card), html
    )
