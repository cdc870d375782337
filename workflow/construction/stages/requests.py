"""Stage `construction_requests`: write the requests to a writer in one round, based on the replies of earlier rounds.

A writer answers these requests like any model, with the same adapters, response cache, keys and budget.
"""

from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import REQUESTS, build_table, write_table
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
    named_tables, reply_tables = read_tables(settings.settings.kind, tables), read_replies(replies)
    # Only TemporalBench has several writers, whose requests differ.
    writer_option = {"writer": model} if isinstance(settings.settings, TemporalBenchSettings) else {}
    rows = load_step(settings.settings.kind, "requests")(
        named_tables, reply_tables, settings.prompts, settings.settings, **writer_option
    )
    write_table(build_table(rows, REQUESTS), out, REQUESTS)
    log.info(f"round {len(reply_tables) + 1}: {len(rows)} requests")
