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
from construction.velociti.subset import listed, samples_of, scores, search


def main(
    settings: SubsetKey, item_table: In[Path], verdicts: In[Path], score_table: Out[Path], rows: Out[Path]
) -> None:
    construction = settings.settings
    items = read_table(item_table, ITEMS)
    samples = samples_of(items, read_table(verdicts, VERDICTS))
    if not samples:
        raise UserError(f"{verdicts}: no answers about both captions of a sample. Name a protocol that asks so.")
    subsets = [search(test, right, construction) for test, right in samples.items()]
    numbers = scores(subsets)
    write_text(score_table, as_csv(numbers, list(numbers[0])))
    write_text(rows, as_csv(listed(items, subsets), LIST_COLUMNS))
    log.info("; ".join(f"{subset.test}: {subset.subset_strict:.1f} for {subset.strict:.1f}" for subset in subsets))
