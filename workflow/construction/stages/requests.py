"""Stage `construction_requests`: what a writer is asked in a round, by what the rounds before came to.

A writer is a model run over these requests: same adapters, journal, keys and budget as any other.
"""

from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import REQUESTS, table_of, write_table
from reprise.stages.command import In, Out

from construction.keys import WritingKey
from construction.registry import load_step, read_replies, read_tables
from construction.settings import TemporalBenchSettings


def main(
    settings: WritingKey,
    model: str,
    tables: In[list[Path]],
    replies: In[list[Path]],
    out: Out[Path],
) -> None:
    made, given = read_tables(settings.settings.kind, tables), read_replies(replies)
    writer = {"writer": model} if isinstance(settings.settings, TemporalBenchSettings) else {}
    rows = load_step(settings.settings.kind, "requests")(made, given, settings.prompts, settings.settings, **writer)
    write_table(table_of(rows, REQUESTS), out, REQUESTS)
    log.info(f"round {len(given) + 1}: {len(rows)} requests")
