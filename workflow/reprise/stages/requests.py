"""Stage `requests`: what a protocol asks of every item, with its prompt filled in."""

from pathlib import Path

from reprise.benchmarks.asking import request_table
from reprise.benchmarks.keys import RequestsKey
from reprise.benchmarks.registry import load_questions
from reprise.benchmarks.rows import are_short, chosen_items
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, read_table, write_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Fill a protocol's prompt with every item's texts.", key=Path, items=Path, out=Path)
    key = read_key(args.key, RequestsKey)
    chosen = chosen_items(read_table(args.items, ITEMS), key.items)
    items = chosen.filter(are_short(key.text_chars_max))
    form = load_questions(key.benchmark).FORMS[key.form]
    frame = request_table(form, items, key.prompt, key.ask, key.max_tokens)
    write_table(frame, args.out, REQUESTS, args.made_under)
    log.info(f"{frame.height} requests about {items.height} items")
    if items.height < chosen.height:
        log.info(f"{chosen.height - items.height} items not asked: a text of more than {key.text_chars_max} characters")


if __name__ == "__main__":
    run_command(main)
