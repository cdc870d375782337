"""Stage `figures`: draw one figure in every format, with its numbers as csv beside it."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.analysing import with_analysed_groups
from reprise.benchmarks.registry import load_analyses
from reprise.config.figures import Distribution
from reprise.construction.tables import STATISTICS
from reprise.core.checksums import seal_text
from reprise.core.errors import run_command
from reprise.core.files import whole_file
from reprise.core.keyfile import read_key
from reprise.core.paths import Results
from reprise.core.plain import as_cell
from reprise.core.schemas import FACTS, ITEMS, VERDICTS, read_table
from reprise.figures.draw import Sources, draw
from reprise.figures.keys import FigureKey
from reprise.figures.style import KINDS, save
from reprise.stages.arguments import arguments
from reprise.tables.build import Builder
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.published import Published


def main() -> None:
    args = arguments(
        "Draw a figure.",
        key=Path, published=[Path], metrics=[Path], statistics=[Path], problems=[Path], verdicts=[Path], items=[Path],
        facts=[Path], made=[Path], out=Path,
    )  # fmt: skip
    key = read_key(args.key, FigureKey)
    results, published = Results(key.suite), next(iter(args.published), None)
    metrics = read_metrics([*args.metrics, *args.statistics])
    problems = read_problems(args.problems, results)
    builders = [
        Builder(key=part, metrics=metrics, published=Published(published, part.table), problems=problems)
        for part in key.parts
    ]
    found = {results.name_of_verdicts(path): read_table(path, VERDICTS) for path in args.verdicts}
    facts = pl.concat([pl.DataFrame(schema=FACTS), *(read_table(path, FACTS) for path in args.facts)])
    items = pl.concat([pl.DataFrame(schema=ITEMS), *(read_table(path, ITEMS) for path in args.items)])
    analyses = load_analyses(key.benchmark)
    marks = key.spec.marks if isinstance(key.spec, Distribution) else None
    drawn = draw(
        key,
        builders,
        Sources(
            items=with_analysed_groups(items, facts, analyses) if analyses else items,
            facts=facts,
            verdicts=found,
            marks=Published(published, marks.table) if marks else Published(None, ""),
            made=pl.concat([pl.DataFrame(schema=STATISTICS), *(read_table(path, STATISTICS) for path in args.made)]),
        ),
    )
    save(drawn.figure, args.out, {"title": drawn.title, "caption": drawn.caption})
    shown = pl.col(pl.String).map_elements(as_cell, return_dtype=pl.String)
    with whole_file(args.out.with_suffix(".csv")) as temporary:
        drawn.rows.with_columns(shown).write_csv(temporary)
    for kind in (*KINDS, "csv"):
        seal_text(args.out.with_suffix(f".{kind}"))


if __name__ == "__main__":
    run_command(main)
