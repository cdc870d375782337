"""Stage `time_all`: write the temporal profiles of several models side by side."""

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
    profiles = in_order([read_card(path) for path in cards])
    write_csv(tidy(profiles), html.with_suffix(".csv"))
    lines = [f"{profile.title}: {order_words(profile)}. {headline(profile)}" for profile in profiles]
    save(
        draw_all(profiles),
        html.with_suffix(".png"),
        {"title": TITLE, "caption": f"{settings.notice} {'; '.join(lines)}".strip()},
    )
    write_pages(TITLE, lines, [all_table(profiles)], all_page(profiles), html)
