"""Stage `construction_requests`: what the writer is asked in a round, by what the rounds before came to.

The writer is a model run over these requests: same adapters, journal, keys and budget as any other.
"""

from pathlib import Path

from reprise.construction.keys import WritingKey
from reprise.construction.registry import load_step, read_tables
from reprise.core.log import log
from reprise.core.schemas import REQUESTS, RESPONSES, read_table, table_of, write_table
from reprise.stages.command import In, MadeUnder, Out


def main(
    key: In[WritingKey], tables: In[list[Path]], replies: In[list[Path]], out: Out[Path], made_under: MadeUnder
) -> None:
    made = read_tables(key.settings.kind, tables)
    given = [read_table(path, RESPONSES) for path in replies]
    rows = load_step(key.settings.kind, "requests")(made, given, key.prompts, key.settings)
    write_table(table_of(rows, REQUESTS), out, REQUESTS, made_under)
    log.info(f"round {len(given) + 1}: {len(rows)} requests")
