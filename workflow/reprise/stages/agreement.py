"""Stage `agreement`: compare the judges of a suite pair by pair, and write the table of judges in every format."""

from pathlib import Path

from reprise.core.paths import Results
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.stages.command import In, Out
from reprise.stages.table import write_formats
from reprise.tables.judges import agreement_table, compare, tidy_rows
from reprise.tables.keys import AgreementKey


def main(settings: AgreementKey, item_table: In[list[Path]], verdicts: In[list[Path]], tex: Out[Path]) -> None:
    results = Results(settings.suite)
    units = {path: read_table(path, ITEMS, without=("texts",)).select("item_id", "unit") for path in item_table}
    judged = {}
    for path in verdicts:
        run, _, judge = results.name_of(path).rpartition("/")
        items = units[results.items(run.partition("/")[0])]
        judged[run, judge] = read_table(path, VERDICTS).join(items, on="item_id", how="left", maintain_order="left")
    found = [compare(pair, judged, settings.confidence) for pair in settings.pairs]
    write_formats(agreement_table(settings, found), list(tidy_rows(settings, found)), tex)
