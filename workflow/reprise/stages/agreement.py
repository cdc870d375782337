"""Stage `agreement`: compare the judges of a suite pair by pair, and write the table of judges in every format."""

from pathlib import Path

from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.paths import Results
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.stages.arguments import arguments
from reprise.stages.table import write_formats
from reprise.tables.judges import agreement_table, compare, tidy_rows
from reprise.tables.keys import AgreementKey


def main() -> None:
    args = arguments("Compare judges.", key=Path, items=[Path], verdicts=[Path], out=Path)
    key = read_key(args.key, AgreementKey)
    results = Results(key.suite)
    units = {path: read_table(path, ITEMS, without=("texts",)).select("item_id", "unit") for path in args.items}
    judged = {}
    for path in args.verdicts:
        run, judge = results.scored_of_verdicts(path)
        items = units[results.items(run.partition("/")[0])]
        judged[run, judge] = read_table(path, VERDICTS).join(items, on="item_id", how="left", maintain_order="left")
    found = [compare(pair, judged, key.confidence) for pair in key.pairs]
    write_formats(agreement_table(key, found), list(tidy_rows(key, found)), args.out)


if __name__ == "__main__":
    run_command(main)
