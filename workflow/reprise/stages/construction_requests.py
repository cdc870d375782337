"""Stage `construction_requests`: what a writer is asked in a round, by what the rounds before came to.

A writer is a model run over these requests: same adapters, journal, keys and budget as any other.
"""

from pathlib import Path

from reprise.construction.keys import WritingKey
from reprise.construction.registry import load_step, read_replies, read_tables
from reprise.construction.settings import TemporalBenchSettings
from reprise.core.log import log
from reprise.core.schemas import REQUESTS, table_of, write_table
from reprise.stages.command import In, MadeUnder, Out, Wildcard


def main(
    key: In[WritingKey],
    model: Wildcard[str],
    tables: In[list[Path]],
    replies: In[list[Path]],
    out: Out[Path],
    made_under: MadeUnder,
) -> None:
    made, given = read_tables(key.settings.kind, tables), read_replies(replies)
    writer = {"writer": model} if isinstance(key.settings, TemporalBenchSettings) else {}
    rows = load_step(key.settings.kind, "requests")(made, given, key.prompts, key.settings, **writer)
    write_table(table_of(rows, REQUESTS), out, REQUESTS, made_under)
    log.info(f"round {len(given) + 1}: {len(rows)} requests")
