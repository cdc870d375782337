"""Stage `human_answers`: aggregate annotators' answers into the responses of a run, without clips or a model."""

from collections import Counter
from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import REQUESTS, RESPONSES, build_table, read_table, write_table
from reprise.external.answers import build_response_row
from reprise.media.sampling import count_frames
from reprise.models.base import Answer
from reprise.stages.command import In, Out

from human_evaluation.answers import TOO_FEW, aggregate_answers, read_group_answers, write_row_problems
from human_evaluation.keys import AnnotatorRunKey


def main(
    settings: AnnotatorRunKey,
    item_table: In[Path],
    requests: In[Path],
    files: In[list[Path]],
    out: Out[Path],
    problems: Out[Path],
) -> None:
    request_table = read_table(requests, REQUESTS)
    tasks, counted = read_group_answers(
        settings.answers.scope, settings.answers.design, settings.answers.files, request_table
    )
    answer_by_task = aggregate_answers(tasks, counted.votes, settings.answers.design)
    frames = count_frames(settings.answers.sampling) or 0
    rows = [
        build_response_row(row, Answer(text=reply.option, error=reply.error), settings.key, frames)
        for row, reply in zip(request_table.iter_rows(named=True), answer_by_task.values(), strict=True)
    ]
    unanswered_requests = [row["request_id"] for row in rows if row["error"] == TOO_FEW]
    row_problems = counted.votes.problems
    write_row_problems(row_problems, unanswered_requests, problems)
    write_table(build_table(rows, RESPONSES), out, RESPONSES)
    failed = ", ".join(
        f"{count} {error}"
        for error, count in Counter(reply.error for reply in answer_by_task.values() if reply.error).items()
    )
    log.info(
        f"{len(answer_by_task)} questions, without an answer: {failed or 'none'}; {len(row_problems)} rows do not count"
    )
