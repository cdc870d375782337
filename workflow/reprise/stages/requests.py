"""Stage `requests`: write the requests of a protocol about every item, with complete prompts."""

from pathlib import Path

from reprise.benchmarks.annotations import has_only_short_texts, select_items
from reprise.benchmarks.keys import RequestsKey
from reprise.benchmarks.question_forms import build_requests
from reprise.benchmarks.registry import load_questions
from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, read_table, write_table
from reprise.stages.command import In, Out


def main(settings: RequestsKey, item_table: In[Path], out: Out[Path]) -> None:
    selected_items = select_items(read_table(item_table, ITEMS), settings.items)
    items = selected_items.filter(has_only_short_texts(settings.text_chars_max))
    form = load_questions(settings.benchmark).FORMS[settings.form]
    frame = build_requests(form, items, settings.prompt, settings.request_type, settings.max_tokens)
    write_table(frame, out, REQUESTS)
    log.info(f"{frame.height} requests about {items.height} items")
    if items.height < selected_items.height:
        dropped_count = selected_items.height - items.height
        log.info(f"{dropped_count} items without requests: a text has more than {settings.text_chars_max} characters")
