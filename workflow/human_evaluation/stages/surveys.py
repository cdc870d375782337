"""Stage `people_surveys`: what a group of people is asked, dealt out to surveys, with the videos that they see."""

from pathlib import Path

import polars as pl
from reprise.core.errors import UserError
from reprise.core.files import write_sealed, write_text
from reprise.core.log import log
from reprise.core.schemas import FRAME_PLAN, REQUESTS, read_table
from reprise.core.store import Store
from reprise.media.ledgers import clip_file, present_clips, readable
from reprise.stages.command import In, Out, Site

from human_evaluation.keys import SurveysKey
from human_evaluation.settings import AnswerDesign, RatingDesign
from human_evaluation.slides import has_sound, kept_slides
from human_evaluation.surveys import (
    COLUMNS,
    QUALIFICATION,
    Shown,
    qualification_of,
    qualification_videos,
    question_tasks,
    survey_rows,
)
from human_evaluation.tasks import as_sheet, template

# The words of the paper's judge prompt (MMBench-Video, appendix D), and ours for six grades, which our judge has too.
RATE = (
    "Your assessment should range from 0 to {highest}, based solely on the semantic similarity between the groundtruth "
    "and the candidate answer, disregarding any grammatical differences. A rating of 0 suggests no similarity, "
    "implying the candidate answer is entirely incorrect. {between} Lastly, a rating of {highest} indicates complete "
    "similarity, which means the candidate answer is entirely correct."
)
BETWEEN = {
    "3": "A rating of 1 suggests low similarity, meaning the candidate answer is largely incorrect. A rating of 2 "
    "suggests high similarity, meaning the candidate answer is largely correct.",
    "5": "A rating of 1 suggests very low similarity. A rating of 2 suggests low similarity, meaning the candidate "
    "answer is largely incorrect. A rating of 3 suggests some similarity, meaning the candidate answer is partly "
    "correct. A rating of 4 suggests high similarity, meaning the candidate answer is largely correct.",
}


def main(
    settings: SurveysKey,
    requests: In[Path],
    frames: In[list[Path]],
    ledgers: In[list[Path]],
    store: Site[Store],
    csv: Out[Path],
    form: Out[Path],
) -> None:
    asked, tested = read_table(requests, REQUESTS), qualification_of(settings.scope, settings.design)
    clips = present_clips(ledgers)
    clips = clips.filter(pl.col("clip_id").is_in(asked["clip_id"].to_list()))
    plans = dict(read_table(frames[0], FRAME_PLAN).select("clip_id", "indices").iter_rows()) if frames else {}
    videos = {}
    for clip in clips.iter_rows(named=True):
        path = clip_file(store, clip)
        with readable(path):
            if plans and isinstance(settings.design, AnswerDesign):  # the frames of its plan
                shown = kept_slides(path, clip["sha256"], plans[clip["clip_id"]], settings.design.seconds, store)
                videos[clip["clip_id"]] = Shown(shown, has_sound=False)
            else:
                videos[clip["clip_id"]] = Shown(path, has_sound(path))
    videos |= qualification_videos(tested, ", ".join(settings.files.qualification))
    tasks = question_tasks(settings.scope, asked)
    rows = survey_rows(tasks, tested, settings.design, videos)
    write_sealed(csv, as_sheet(rows, COLUMNS))
    write_text(form, template(_instructions(settings, asked), ("question",)))
    number, there = len({row["survey"] for row in rows} - {QUALIFICATION}), len(rows) - len(tested.tasks)
    silent = sum(row["sound"] == "no" for row in rows)
    log.info(
        f"{there} questions in {number} surveys, {len(tested.tasks)} of a qualification; {len(tasks) - there} left out "
        f"because their clip is missing; {silent} with a video that has no sound"
    )


def _instructions(key: SurveysKey, requests: pl.DataFrame) -> str:
    """What people are told to do; the answers that a group rates are all on one scale."""
    if not isinstance(key.design, RatingDesign):
        return "Watch the video, then answer."
    scales = sorted(requests["options"].list.last().unique()) or ["3"]
    if len(scales) > 1:
        raise UserError(
            f"{key.scope}: its runs are rated on different scales, to {' and to '.join(scales)}. Name them in groups "
            "of their own."
        )
    return RATE.format(highest=scales[0], between=BETWEEN[scales[0]])
