"""Stage `requests`: what a protocol asks of every item, with its prompt filled in."""

from pathlib import Path

from reprise.benchmarks.asking import request_table
from reprise.benchmarks.keys import RequestsKey
from reprise.benchmarks.registry import load_questions
from reprise.benchmarks.rows import are_short, chosen_items
from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, read_table, write_table
from reprise.stages.command import In, MadeUnder, Out


def main(key: In[RequestsKey], item_table: In[Path], out: Out[Path], made_under: MadeUnder) -> None:
    chosen = chosen_items(read_table(item_table, ITEMS), key.items)
    items = chosen.filter(are_short(key.text_chars_max))
    form = load_questions(key.benchmark).FORMS[key.form]
    frame = request_table(form, items, key.prompt, key.ask, key.max_tokens)
    write_table(frame, out, REQUESTS, made_under)
    log.info(f"{frame.height} requests about {items.height} items")
    if items.height < chosen.height:
        log.info(f"{chosen.height - items.height} items not asked: a text of more than {key.text_chars_max} characters")
