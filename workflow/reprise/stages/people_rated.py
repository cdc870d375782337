"""Stage `people_rated`: the answers of models that a group of people rates, to questions that are drawn."""

from pathlib import Path

from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS, read_table, table_of, write_table
from reprise.people.keys import RatedKey
from reprise.people.rating import rating_requests
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Draw the answers that people rate.", key=Path, items=Path, answers=[Path], out=Path)
    key = read_key(args.key, RatedKey)
    answers = {run: read_table(path, ANSWERS) for run, path in zip(key.runs, args.answers, strict=True)}
    rows = rating_requests(read_table(args.items, ITEMS), answers, key.questions, key.seed)
    write_table(table_of(rows, REQUESTS), args.out, REQUESTS, args.made_under)
    questions = len({row["item_id"] for row in rows})
    log.info(f"{len(rows)} answers of {len(answers)} runs to {questions} questions")


if __name__ == "__main__":
    run_command(main)
