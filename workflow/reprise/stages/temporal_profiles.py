"""Stage `temporal_profiles`: compare the temporal profiles of several models."""

from pathlib import Path

from reprise.core.tabular import write_csv
from reprise.figures.canvas import save_figure
from reprise.stages.command import In, Out
from reprise.temporal.figure import draw_profiles
from reprise.temporal.findings import summarize_profile
from reprise.temporal.page import render_profiles, write_pages
from reprise.temporal.profile import TemporalProfilesKey, read_profile
from reprise.temporal.tables import build_comparison_table, describe_order_use, sort_profiles, tidy_rows

TITLE = "Which models use time?"


def main(settings: TemporalProfilesKey, temporal_profiles: In[list[Path]], html: Out[Path]) -> None:
    profiles = sort_profiles([read_profile(path) for path in temporal_profiles])
    write_csv(tidy_rows(profiles), html.with_suffix(".csv"))
    lines = [f"{profile.title}: {describe_order_use(profile)}. {summarize_profile(profile)}" for profile in profiles]
    save_figure(
        draw_profiles(profiles),
        html.with_suffix(".png"),
        {"title": TITLE, "caption": f"{settings.notice} {'; '.join(lines)}".strip()},
    )
    write_pages(TITLE, lines, [build_comparison_table(profiles)], render_profiles(profiles), html)
