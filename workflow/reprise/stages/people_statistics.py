"""Stage `people_statistics`: how many people answered what, how far they agree, and each of them by a number."""

from pathlib import Path

from reprise.construction.review import as_csv
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key
from reprise.core.schemas import REQUESTS, read_table
from reprise.people.answers import replies
from reprise.people.gathering import gather
from reprise.people.keys import PeopleStatisticsKey
from reprise.people.statistics import WORKER_COLUMNS, Number, numbers, worker_rows
from reprise.stages.arguments import arguments

DIGITS = 4


def main() -> None:
    args = arguments("Count people's answers.", key=Path, requests=Path, csv=Path, md=Path, workers=Path)
    key = read_key(args.key, PeopleStatisticsKey)
    requests = read_table(args.requests, REQUESTS)
    found = gather(key.design, key.files, requests)
    said = replies(found.tasks, found.counted.votes, key.design)
    lines = numbers(key.benchmark, found.tasks, found.counted, said, key.design)
    expected = dict(requests.select("request_id", "expected").iter_rows())
    write_text(args.csv, as_csv([line._asdict() for line in lines], Number._fields))
    write_text(args.workers, as_csv(worker_rows(found.counted, said, expected), WORKER_COLUMNS))
    write_text(args.md, _page(key, lines))


def _page(key: PeopleStatisticsKey, lines: list[Number]) -> str:
    head = [f"# People's answers to {key.title}", "", f"Run `{key.design.run}`.", ""]
    head += [key.notice, ""] if key.notice else []
    table = ["| what | paper | here | note |", "|---|---|---|---|"]
    table += [f"| {line.what} | {_cell(line.paper)} | {_cell(line.ours)} | {line.note} |" for line in lines]
    return "\n".join([*head, *table, "", "Each person, by a number: `workers.csv`.", ""])


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{round(value, DIGITS):g}"


if __name__ == "__main__":
    run_command(main)
