"""Stage `temporal_profiles`: write the temporal profiles of several models side by side, and rank the models."""

from pathlib import Path

from reprise.core.tabular import write_csv
from reprise.figures.canvas import save_figure
from reprise.stages.command import In, Out
from reprise.temporal.figure import draw_profiles
from reprise.temporal.findings import summarize_profile
from reprise.temporal.page import render_profiles, write_pages
from reprise.temporal.profile import TemporalProfilesKey, read_profile
from reprise.temporal.ranking import rank_overall
from reprise.temporal.tables import build_ranking_table, tidy_rows

TITLE = "Temporal profiles"


def main(settings: TemporalProfilesKey, temporal_profiles: In[list[Path]], html: Out[Path]) -> None:
    profiles = [model.profile for model in rank_overall([read_profile(path) for path in temporal_profiles])]
    write_csv(tidy_rows(profiles), html.with_suffix(".csv"))
    lines = [f"{profile.title}: {summarize_profile(profile)}" for profile in profiles]
    description = {"title": TITLE, "caption": f"{settings.notice} {'; '.join(lines)}".strip()}
    figure = draw_profiles(profiles, settings.width)
    save_figure(figure, html.with_suffix(".png"), description)
    write_pages(TITLE, lines, [build_ranking_table(profiles)], render_profiles(profiles), html)
