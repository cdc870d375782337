"""Stage `overview`: write the overview of models in every format."""

from pathlib import Path

from reprise.core.paths import Results
from reprise.core.schemas import TIMINGS, read_table
from reprise.stages.command import In, Out
from reprise.stages.table import write_formats
from reprise.tables.keys import OverviewKey
from reprise.tables.measurements import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import PublishedTable


def main(
    settings: OverviewKey,
    published_values: In[list[Path]],
    metrics: In[list[Path]],
    problems: In[list[Path]],
    timings: In[list[Path]],
    tex: Out[Path],
) -> None:
    results, published_files = Results(settings.suite), {path.stem: path for path in published_values}
    builder = OverviewBuilder(
        settings,
        read_metrics(metrics),
        {
            name: PublishedTable(published_files.get(name), key.table)
            for name, key in settings.default_conditions.items()
        },
        read_problems(problems, results),
        {results.get_run_name(path): read_table(path, TIMINGS) for path in timings},
    )
    write_formats(builder.build(), builder.tidy_rows, tex)
