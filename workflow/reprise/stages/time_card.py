"""Stage `time_card`: write a model's temporal profile, which divides its scores by text, frames and frame order."""

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
    profile, samples = card_of(settings)
    write_csv(samples, html.with_suffix(".items.csv"))
    write_card(profile, html.with_suffix(".json"))
    write_csv(tidy([profile]), html.with_suffix(".csv"))
    title = f"Does {profile.title} use time?"
    save(
        draw_card(profile),
        html.with_suffix(".png"),
        {"title": title, "caption": f"{profile.notice} {headline(profile)}".strip()},
    )
    write_pages(
        title,
        [headline(profile), *(benchmark.sentence for benchmark in profile.benchmarks)],
        tables_of(profile),
        card_page(profile),
        html,
    )
