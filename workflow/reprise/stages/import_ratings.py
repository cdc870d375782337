"""Stage `imports.ratings`: ratings that were given elsewhere, as the replies of a judge to a run's answers."""

from pathlib import Path

import polars as pl

from reprise.core.errors import run_command
from reprise.core.keyfile import read_key, refuse_edited
from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, RESPONSES, read_table, write_table
from reprise.external import load_rating_importer
from reprise.external.answers import ImportedAnswers, response_row, write_problems
from reprise.external.keys import ImportedRatingsKey
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Import a judge's ratings of a run.",
        key=Path, items=Path, answers=Path, files=[Path], out=Path, problems=Path,
    )  # fmt: skip
    key = read_key(args.key, ImportedRatingsKey)
    answers = read_table(args.answers, ANSWERS)
    importer = load_rating_importer(key.answers.benchmark)
    assert importer is not None, "the configuration refuses ratings of a benchmark that has none"
    imported = importer.read_ratings(args.files, read_table(args.items, ITEMS))
    planned = {name: digest for files in key.answers.files.values() for name, digest in files.items()}
    refuse_edited({str(path): planned[str(path)] for path in args.files})
    table = replies(answers, imported, key.key)
    unrated = answers.filter((pl.col("reader") == "robust") & ~pl.col("item_id").is_in(list(imported.answers)))
    write_problems(imported.problems, unrated["item_id"].to_list(), args.problems)
    write_table(table, args.out, RESPONSES, args.made_under)
    problems = len(imported.problems)
    log.info(f"{len(imported.answers)} ratings, {unrated.height} answers without one; {problems} problems")


def replies(answers: pl.DataFrame, imported: ImportedAnswers, key: str) -> pl.DataFrame:
    """One reply per answer that was rated; those to what both readers took out of it are the same."""
    rows = []
    for answer in answers.iter_rows(named=True):
        rating = imported.answers.get(answer["item_id"])
        if rating is not None:
            rows.append(response_row(answer, rating, key))
    return pl.DataFrame(rows, schema=RESPONSES)


if __name__ == "__main__":
    run_command(main)
