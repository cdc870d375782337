"""Stage `construction_subset`: find a subset of VELOCITI whose strict score is near that of the full benchmark."""

from pathlib import Path

from human_evaluation.tasks import as_csv
from reprise.benchmarks.velociti.subsets import LIST_COLUMNS
from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.stages.command import In, Out

from construction.keys import SubsetKey
from construction.velociti.subset import find_correct_samples, score_rows, search, subset_rows


def main(
    settings: SubsetKey, item_table: In[Path], verdicts: In[Path], score_table: Out[Path], rows: Out[Path]
) -> None:
    items = read_table(item_table, ITEMS)
    correctness_by_test = find_correct_samples(items, read_table(verdicts, VERDICTS))
    if not correctness_by_test:
        raise UserError(
            f"{verdicts}: no sample has answers about both captions. Name a protocol with requests for both captions."
        )
    subsets = [search(test, is_correct, settings.settings) for test, is_correct in correctness_by_test.items()]
    scores = score_rows(subsets)
    write_text(score_table, as_csv(scores, list(scores[0])))
    write_text(rows, as_csv(subset_rows(items, subsets), LIST_COLUMNS))
    log.info(
        "; ".join(
            f"{subset.test}: {subset.subset_strict:.1f} in the subset, {subset.strict:.1f} in all samples"
            for subset in subsets
        )
    )
