"""Stage `time_all`: the time cards of several models beside each other."""

from pathlib import Path

from reprise.core.tabular import write_csv
from reprise.figures.style import save
from reprise.stages.command import In, Out
from reprise.timecard.card import TimeAllKey, read_card
from reprise.timecard.page import all_page, write_pages
from reprise.timecard.picture import draw_all
from reprise.timecard.tables import all_table, in_order, order_words, tidy
from reprise.timecard.words import headline

TITLE = "Which models use time?"


def main(settings: TimeAllKey, cards: In[list[Path]], html: Out[Path]) -> None:
    found = in_order([read_card(path) for path in cards])
    write_csv(tidy(found), html.with_suffix(".csv"))
    lines = [f"{card.title}: {order_words(card)}. {headline(card)}" for card in found]
    save(
        draw_all(found),
        html.with_suffix(".png"),
        {"title": TITLE, "caption": f"{settings.notice} {'; '.join(lines)}".strip()},
    )
    write_pages(TITLE, lines, [all_table(found)], all_page(found), html)
