"""Stage `requests`: what a protocol asks of every item, with its prompt filled in."""

from pathlib import Path

from reprise.benchmarks.asking import request_table
from reprise.benchmarks.keys import RequestsKey
from reprise.benchmarks.registry import load_questions
from reprise.benchmarks.rows import chosen_items
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, read_table, write_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Fill a protocol's prompt with every item's texts.", key=Path, items=Path, out=Path)
    key = read_key(args.key, RequestsKey)
    items = chosen_items(read_table(args.items, ITEMS), key.items)
    form = load_questions(key.benchmark).FORMS[key.form]
    frame = request_table(form, items, key.prompt, key.ask, key.max_tokens)
    write_table(frame, args.out, REQUESTS, args.made_under)
    log.info(f"{frame.height} requests about {items.height} items")


if __name__ == "__main__":
    run_command(main)
