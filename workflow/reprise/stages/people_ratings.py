"""Stage `people_ratings`: the mean of several people's ratings of each answer, against which judges are measured."""

from pathlib import Path

from reprise.construction.review import as_csv
from reprise.core.checksums import seal_text
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import REQUESTS, read_table
from reprise.people.answers import gather, write_refused
from reprise.people.keys import RatingsKey
from reprise.people.rating import rated
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Average people's ratings.", key=Path, requests=Path, out=Path, problems=Path)
    key, requests = read_key(args.key, RatingsKey), read_table(args.requests, REQUESTS)
    tasks, counted = gather(key.scope, key.design, key.files, requests)
    votes = counted.votes
    ratings, unrated = rated(requests, tasks, votes, key.design.workers)
    write_refused(votes.problems, unrated, args.problems)
    write_text(args.out, as_csv(ratings.to_dicts(), ratings.columns))
    seal_text(args.out)
    log.info(
        f"{ratings.height} answers rated by {key.design.workers} people or more, {len(unrated)} not yet; "
        f"{len(votes.problems)} rows do not count"
    )


if __name__ == "__main__":
    run_command(main)
