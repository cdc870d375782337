"""Stage `people_answers`: a run's answers out of those that people gave; no clip is needed and no model is asked."""

from collections import Counter
from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import REQUESTS, RESPONSES, read_table, table_of, write_table
from reprise.external.answers import response_row
from reprise.media.sampling import frames_shown
from reprise.models.base import Answer
from reprise.stages.command import In, Out

from human_evaluation.answers import TOO_FEW, gather, replies, write_refused
from human_evaluation.keys import PeopleRunKey


def main(
    settings: PeopleRunKey,
    item_table: In[Path],
    requests: In[Path],
    files: In[list[Path]],
    out: Out[Path],
    problems: Out[Path],
) -> None:
    asked = read_table(requests, REQUESTS)
    tasks, counted = gather(settings.answers.scope, settings.answers.design, settings.answers.files, asked)
    said = replies(tasks, counted.votes, settings.answers.design)
    frames = frames_shown(settings.answers.sampling) or 0
    rows = [
        response_row(row, Answer(text=reply.option, error=reply.error), settings.key, frames)
        for row, reply in zip(asked.iter_rows(named=True), said.values(), strict=True)
    ]
    waiting = [row["request_id"] for row in rows if row["error"] == TOO_FEW]
    refused = counted.votes.problems
    write_refused(refused, waiting, problems)
    write_table(table_of(rows, RESPONSES), out, RESPONSES)
    failed = ", ".join(
        f"{count} {error}" for error, count in Counter(r.error for r in said.values() if r.error).items()
    )
    log.info(f"{len(said)} questions, without an answer: {failed or 'none'}; {len(refused)} rows do not count")
