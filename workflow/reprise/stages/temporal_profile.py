"""Stage `temporal_profile`: write a model's temporal profile, its scores under each temporal ablation."""

from pathlib import Path

from reprise.core.tabular import write_csv
from reprise.figures.canvas import save_figure
from reprise.stages.command import In, Out
from reprise.temporal.figure import draw_profile
from reprise.temporal.findings import summarize_profile
from reprise.temporal.measure import build_profile
from reprise.temporal.page import list_sentences, render_profile, write_pages
from reprise.temporal.profile import TemporalProfileKey, write_profile
from reprise.temporal.tables import build_tables, tidy_rows


def main(settings: TemporalProfileKey, inputs: In[list[Path]], html: Out[Path]) -> None:
    profile, ordered_only = build_profile(settings)
    write_csv(ordered_only, html.with_suffix(".items.csv"))
    write_profile(profile, html.with_suffix(".json"))
    write_csv(tidy_rows([profile]), html.with_suffix(".csv"))
    title, summary = f"Temporal profile of {profile.title}", summarize_profile(profile)
    description = {"title": title, "caption": f"{profile.notice} {summary}".strip()}
    figure = draw_profile(profile, settings.width)
    save_figure(figure, html.with_suffix(".png"), description)
    sentences = [summary, *list_sentences(profile)]
    write_pages(title, sentences, build_tables(profile), render_profile(profile), html)
