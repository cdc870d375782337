"""Stage `requests`: what a protocol asks of every item, with its prompt filled in."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.keys import RequestsKey
from reprise.benchmarks.registry import load_questions
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, in_group_named, read_table, write_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Fill a protocol's prompt with every item's texts.", key=Path, items=Path, out=Path)
    key = read_key(args.key, RequestsKey)
    items = chosen_items(read_table(args.items, ITEMS), key.items)
    rows = load_questions(key.benchmark).requests(items, key.form, key.prompt)
    frame = pl.DataFrame([row | {"ask": key.ask, "max_tokens": key.max_tokens} for row in rows], schema=REQUESTS)
    write_table(frame, args.out, REQUESTS)
    log.info(f"{frame.height} requests about {items.height} items")


def chosen_items(items: pl.DataFrame, subset: str | None) -> pl.DataFrame:
    """All items, or those that the release or the suite puts into a subset."""
    if subset is None:
        return items
    return items.filter(in_group_named(subset))


if __name__ == "__main__":
    run_command(main)
