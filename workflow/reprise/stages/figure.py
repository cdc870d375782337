"""Stage `figure`: draw one figure in every format, and write its numbers as csv."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.registry import load_analyses
from reprise.benchmarks.scoring import with_analysed_groups
from reprise.config.figures import Distribution
from reprise.core.paths import Results
from reprise.core.schemas import CONSTRUCTION_STATISTICS, FACTS, ITEMS, VERDICTS, read_table
from reprise.core.tabular import write_csv
from reprise.figures.draw import draw
from reprise.figures.keys import FigureKey
from reprise.figures.style import save
from reprise.stages.command import In, Out
from reprise.tables.build import Builder
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.published import Published


def main(
    settings: FigureKey,
    published: In[list[Path]],
    metrics: In[list[Path]],
    statistics: In[list[Path]],
    problems: In[list[Path]],
    verdicts: In[list[Path]],
    item_table: In[list[Path]],
    facts: In[list[Path]],
    made: In[list[Path]],
    png: Out[Path],
) -> None:
    results, paper_numbers = Results(settings.suite), next(iter(published), None)
    numbers = read_metrics([*metrics, *statistics])
    flaws = read_problems(problems, results)
    builders = [
        Builder(key=part, metrics=numbers, published=Published(paper_numbers, part.table), problems=flaws)
        for part in settings.parts
    ]
    verdicts_of = {results.name_of(path): read_table(path, VERDICTS) for path in verdicts}
    clip_metadata = pl.concat([pl.DataFrame(schema=FACTS), *(read_table(path, FACTS) for path in facts)])
    items = pl.concat([pl.DataFrame(schema=ITEMS), *(read_table(path, ITEMS) for path in item_table)])
    analyses = load_analyses(settings.benchmark)
    marks = settings.spec.marks if isinstance(settings.spec, Distribution) else None
    drawing, rows = draw(
        settings,
        builders,
        items=with_analysed_groups(items, clip_metadata, analyses) if analyses else items,
        facts=clip_metadata,
        verdicts=verdicts_of,
        marks=Published(paper_numbers, marks.table) if marks else Published(None, ""),
        made=pl.concat(
            [
                pl.DataFrame(schema=CONSTRUCTION_STATISTICS),
                *(read_table(path, CONSTRUCTION_STATISTICS) for path in made),
            ]
        ),
    )
    caption = f"{settings.notice} {settings.spec.caption}".strip()
    save(drawing, png, {"title": f"{settings.spec.title} ({settings.origin})", "caption": caption})
    write_csv(rows, png.with_suffix(".csv"))
