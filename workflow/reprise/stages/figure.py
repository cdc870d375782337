"""Stage `figure`: draw one figure in every format, and write its numbers as CSV."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.registry import load_analyses
from reprise.benchmarks.scoring import add_analysis_groups
from reprise.config.figures import Distribution
from reprise.core.paths import Results
from reprise.core.schemas import CLIP_METADATA, CONSTRUCTION_STATISTICS, ITEMS, VERDICTS, read_table
from reprise.core.tabular import write_csv
from reprise.figures.canvas import save_figure
from reprise.figures.draw import draw_figure
from reprise.figures.keys import FigureKey
from reprise.stages.command import In, Out
from reprise.tables.builder import TableBuilder
from reprise.tables.measurements import read_metrics, read_problems
from reprise.tables.published import PublishedTable


def main(
    settings: FigureKey,
    published_values: In[list[Path]],
    metrics: In[list[Path]],
    statistics: In[list[Path]],
    problems: In[list[Path]],
    verdicts: In[list[Path]],
    item_table: In[list[Path]],
    clip_metadata: In[list[Path]],
    construction_statistics: In[list[Path]],
    png: Out[Path],
) -> None:
    results, published_file = Results(settings.suite), next(iter(published_values), None)
    metric_table = read_metrics([*metrics, *statistics])
    import_problems = read_problems(problems, results)
    builders = [
        TableBuilder(
            key=part,
            metrics=metric_table,
            published=PublishedTable(published_file, part.table),
            problems=import_problems,
        )
        for part in settings.parts
    ]
    verdicts_by_run = {results.get_run_name(path): read_table(path, VERDICTS) for path in verdicts}
    metadata = pl.concat(
        [pl.DataFrame(schema=CLIP_METADATA), *(read_table(path, CLIP_METADATA) for path in clip_metadata)]
    )
    items = pl.concat([pl.DataFrame(schema=ITEMS), *(read_table(path, ITEMS) for path in item_table)])
    analyses = load_analyses(settings.benchmark)
    marks = settings.spec.marks if isinstance(settings.spec, Distribution) else None
    drawing, rows = draw_figure(
        settings,
        builders,
        items=add_analysis_groups(items, metadata, analyses) if analyses else items,
        clip_metadata=metadata,
        verdicts=verdicts_by_run,
        published=PublishedTable(published_file, marks.table) if marks else PublishedTable(None, ""),
        construction_counts=pl.concat(
            [
                pl.DataFrame(schema=CONSTRUCTION_STATISTICS),
                *(read_table(path, CONSTRUCTION_STATISTICS) for path in construction_statistics),
            ]
        ),
    )
    caption = f"{settings.notice} {settings.spec.caption}".strip()
    save_figure(drawing, png, {"title": f"{settings.spec.title} ({settings.origin})", "caption": caption})
    write_csv(rows, png.with_suffix(".csv"))
