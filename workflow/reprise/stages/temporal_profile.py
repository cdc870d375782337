"""Stage `temporal_profile`: write a model's temporal profile, which has its scores under each temporal ablation."""

from pathlib import Path

from reprise.core.tabular import write_csv
from reprise.figures.canvas import save_figure
from reprise.stages.command import In, Out
from reprise.temporal.figure import draw_profile
from reprise.temporal.findings import summarize_profile
from reprise.temporal.measure import build_profile
from reprise.temporal.page import render_profile, write_pages
from reprise.temporal.profile import TemporalProfileKey, write_profile
from reprise.temporal.tables import build_tables, tidy_rows


def main(settings: TemporalProfileKey, inputs: In[list[Path]], html: Out[Path]) -> None:
    profile, samples = build_profile(settings)
    write_csv(samples, html.with_suffix(".items.csv"))
    write_profile(profile, html.with_suffix(".json"))
    write_csv(tidy_rows([profile]), html.with_suffix(".csv"))
    title = f"Does {profile.title} use time?"
    save_figure(
        draw_profile(profile),
        html.with_suffix(".png"),
        {"title": title, "caption": f"{profile.notice} {summarize_profile(profile)}".strip()},
    )
    write_pages(
        title,
        [summarize_profile(profile), *(benchmark.sentence for benchmark in profile.benchmarks)],
        build_tables(profile),
        render_profile(profile),
        html,
    )
