"""Stage `import_ratings`: import ratings from files as a judge's replies to a run's answers."""

from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, RESPONSES, read_table, write_table
from reprise.core.settings import reject_edited_files
from reprise.external import load_rating_importer
from reprise.external.answers import ImportedAnswers, build_response_row, write_problems
from reprise.external.keys import ImportedRatingsKey
from reprise.stages.command import In, Out


def main(
    settings: ImportedRatingsKey,
    item_table: In[Path],
    answers: In[Path],
    files: In[list[Path]],
    responses: Out[Path],
    problems: Out[Path],
) -> None:
    answer_table = read_table(answers, ANSWERS)
    importer = load_rating_importer(settings.answers.benchmark)
    assert importer is not None, "the configuration rejects ratings of a benchmark without an importer"
    imported = importer.read_ratings(files, read_table(item_table, ITEMS))
    digest_groups = settings.answers.files.values()
    planned_digests = {name: digest for digests in digest_groups for name, digest in digests.items()}
    reject_edited_files({str(path): planned_digests[str(path)] for path in files})
    table = build_replies(answer_table, imported, settings.key)
    unrated = answer_table.filter((pl.col("extractor") == "robust") & ~pl.col("item_id").is_in(list(imported.answers)))
    write_problems(imported.problems, unrated["item_id"].to_list(), problems)
    write_table(table, responses, RESPONSES)
    log.info(f"{len(imported.answers)} ratings, {unrated.height} unrated answers, {len(imported.problems)} problems")


def build_replies(answers: pl.DataFrame, imported: ImportedAnswers, key: str) -> pl.DataFrame:
    """Return one reply per rated answer; an item's answers by both extractors share its rating."""
    rated = answers.filter(pl.col("item_id").is_in(list(imported.answers)))
    rows = [
        build_response_row(answer, imported.answers[answer["item_id"]], key) for answer in rated.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=RESPONSES)
