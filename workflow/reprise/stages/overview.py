"""Stage `overview`: write the overview of models in every format."""

from pathlib import Path

from reprise.core.paths import Results
from reprise.core.schemas import TIMINGS, read_table
from reprise.stages.command import In, Out
from reprise.stages.table import write_formats
from reprise.tables.keys import OverviewKey
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import Published


def main(
    settings: OverviewKey,
    published: In[list[Path]],
    metrics: In[list[Path]],
    problems: In[list[Path]],
    timings: In[list[Path]],
    tex: Out[Path],
) -> None:
    results, published_files = Results(settings.suite), {path.stem: path for path in published}
    builder = OverviewBuilder(
        settings,
        read_metrics(metrics),
        {name: Published(published_files.get(name), key.table) for name, key in settings.of_all.items()},
        read_problems(problems, results),
        {results.name_of(path): read_table(path, TIMINGS) for path in timings},
    )
    write_formats(builder.table(), builder.tidy, tex)
