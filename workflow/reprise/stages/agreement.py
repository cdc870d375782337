"""Stage `agreement`: compare pairs of judges of a suite, and write the table of their agreement in every format."""

from pathlib import Path

from reprise.core.paths import Results
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.stages.command import In, Out
from reprise.stages.table import write_formats
from reprise.tables.judges import build_agreement_table, compare_judges, tidy_rows
from reprise.tables.keys import AgreementKey


def main(settings: AgreementKey, item_table: In[list[Path]], verdicts: In[list[Path]], tex: Out[Path]) -> None:
    results = Results(settings.suite)
    clusters_by_file = {
        path: read_table(path, ITEMS, skipped_columns=("texts",)).select("item_id", "cluster") for path in item_table
    }
    verdicts_by_judge = {}  # (run, judge) -> verdicts with their clusters
    for path in verdicts:
        run, _, judge_name = results.get_run_name(path).rpartition("/")
        clusters = clusters_by_file[results.items(run.partition("/")[0])]
        verdicts_by_judge[run, judge_name] = read_table(path, VERDICTS).join(
            clusters, on="item_id", how="left", maintain_order="left"
        )
    comparisons = [compare_judges(pair, verdicts_by_judge, settings.confidence) for pair in settings.pairs]
    write_formats(build_agreement_table(settings, comparisons), list(tidy_rows(settings, comparisons)), tex)
