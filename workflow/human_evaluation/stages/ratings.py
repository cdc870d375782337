"""Stage `human_ratings`: average several annotators' ratings of each answer, the reference for judges."""

from pathlib import Path

from reprise.core.files import write_sealed_text
from reprise.core.log import log
from reprise.core.schemas import REQUESTS, read_table
from reprise.stages.command import In, Out

from human_evaluation.answers import compute_mean_ratings, read_group_answers, write_row_problems
from human_evaluation.keys import RatingsKey
from human_evaluation.tasks import as_csv


def main(settings: RatingsKey, requests: In[Path], csv: Out[Path], problems: Out[Path]) -> None:
    request_table = read_table(requests, REQUESTS)
    tasks, counted = read_group_answers(settings.scope, settings.design, settings.files, request_table)
    votes = counted.votes
    ratings, unrated = compute_mean_ratings(request_table, tasks, votes, settings.design.workers)
    write_row_problems(votes.problems, unrated, problems)
    write_sealed_text(csv, as_csv(ratings.to_dicts(), ratings.columns))
    log.info(
        f"{ratings.height} answers with {settings.design.workers} ratings or more, {len(unrated)} with fewer; "
        f"{len(votes.problems)} rows do not count"
    )
