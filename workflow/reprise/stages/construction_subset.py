"""Stage `construction_subset`: a subset of VELOCITI on which a model's strict score is near that on the whole."""

from pathlib import Path

from reprise.benchmarks.velociti.subsets import LIST_COLUMNS
from reprise.construction.keys import SubsetKey
from reprise.construction.review import as_csv
from reprise.construction.velociti.subset import listed, samples_of, scores, search
from reprise.core.errors import UserError, run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Search for a subset that is as hard as the whole.", key=Path, items=Path, verdicts=Path, scores=Path, out=Path
    )  # fmt: skip
    settings = read_key(args.key, SubsetKey).settings
    items = read_table(args.items, ITEMS)
    samples = samples_of(items, read_table(args.verdicts, VERDICTS))
    if not samples:
        raise UserError(f"{args.verdicts}: no answers about both captions of a sample. Name a protocol that asks so.")
    found = [search(test, of_test, settings) for test, of_test in samples.items()]
    numbers = scores(found)
    write_text(args.scores, as_csv(numbers, list(numbers[0])))
    write_text(args.out, as_csv(listed(items, found), LIST_COLUMNS))
    log.info("; ".join(f"{one.test}: {one.subset_strict:.1f} for {one.strict:.1f}" for one in found))


if __name__ == "__main__":
    run_command(main)
