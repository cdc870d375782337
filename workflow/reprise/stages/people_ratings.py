"""Stage `people_ratings`: the mean of several people's ratings of each answer, against which judges are measured."""

from pathlib import Path

from reprise.construction.review import as_csv
from reprise.core.files import write_sealed
from reprise.core.log import log
from reprise.core.schemas import REQUESTS, read_table
from reprise.people.answers import gather, rated, write_refused
from reprise.people.keys import RatingsKey
from reprise.stages.command import In, Out


def main(key: In[RatingsKey], requests: In[Path], csv: Out[Path], problems: Out[Path]) -> None:
    asked = read_table(requests, REQUESTS)
    tasks, counted = gather(key.scope, key.design, key.files, asked)
    votes = counted.votes
    ratings, unrated = rated(asked, tasks, votes, key.design.workers)
    write_refused(votes.problems, unrated, problems)
    write_sealed(csv, as_csv(ratings.to_dicts(), ratings.columns))
    log.info(
        f"{ratings.height} answers rated by {key.design.workers} people or more, {len(unrated)} not yet; "
        f"{len(votes.problems)} rows do not count"
    )
