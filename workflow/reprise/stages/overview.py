"""Stage `overview`: write the overview of models in every format."""

from pathlib import Path

from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.paths import Results
from reprise.core.schemas import TIMINGS, read_table
from reprise.stages.arguments import arguments
from reprise.stages.table import write_formats
from reprise.tables.keys import OverviewKey
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import Published


def main() -> None:
    args = arguments(
        "Write the overview.", key=Path, published=[Path], metrics=[Path], problems=[Path], timings=[Path], out=Path
    )
    key = read_key(args.key, OverviewKey)
    results, files = Results(key.suite), {path.stem: path for path in args.published}
    builder = OverviewBuilder(
        key,
        read_metrics(args.metrics),
        {name: Published(files.get(name), main.table) for name, main in key.of_all.items()},
        read_problems(args.problems, results),
        {results.run_of_timings(path): read_table(path, TIMINGS) for path in args.timings},
    )
    write_formats(builder.table(), builder.tidy, args.out)


if __name__ == "__main__":
    run_command(main)
