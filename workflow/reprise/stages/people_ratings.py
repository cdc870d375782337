"""Stage `people_ratings`: the mean of several people's ratings of each answer, against which judges are measured."""

from pathlib import Path

from reprise.construction.review import as_csv
from reprise.core.checksums import seal_text
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.schemas import REQUESTS, read_table
from reprise.people.gathering import gather
from reprise.people.keys import RatingsKey
from reprise.people.rating import rated, waiting
from reprise.people.refused import write_refused
from reprise.stages.command import In, Out


def main(key: In[RatingsKey], requests: In[Path], csv: Out[Path], problems: Out[Path]) -> None:
    asked = read_table(requests, REQUESTS)
    found = gather(key.scope, key.design, key.files, asked)
    votes = found.counted.votes
    ratings = rated(asked, found.tasks, votes, key.design.workers)
    unrated = waiting(asked, found.tasks, votes, key.design.workers)
    write_refused(votes.problems, unrated, problems)
    write_text(csv, as_csv(ratings.to_dicts(), ratings.columns))
    seal_text(csv)
    log.info(
        f"{ratings.height} answers rated by {key.design.workers} people or more, {len(unrated)} not yet; "
        f"{len(votes.problems)} rows do not count"
    )
