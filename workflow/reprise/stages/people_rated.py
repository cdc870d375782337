"""Stage `people_rated`: the answers of models that a group of people rates, to questions that are drawn."""

from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS, read_table, table_of, write_table
from reprise.people.answers import rating_requests
from reprise.people.keys import RatedKey
from reprise.stages.command import In, MadeUnder, Out


def main(
    key: In[RatedKey], item_table: In[Path], answers: In[list[Path]], out: Out[Path], made_under: MadeUnder
) -> None:
    given = {run: read_table(path, ANSWERS) for run, path in zip(key.runs, answers, strict=True)}
    rows = rating_requests(read_table(item_table, ITEMS), given, key.questions, key.seed)
    write_table(table_of(rows, REQUESTS), out, REQUESTS, made_under)
    questions = len({row["item_id"] for row in rows})
    log.info(f"{len(rows)} answers of {len(given)} runs to {questions} questions")
