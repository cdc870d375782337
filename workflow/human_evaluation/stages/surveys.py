"""Stage `human_surveys`: distribute the questions of a group of annotators to surveys, with their videos."""

from pathlib import Path

import polars as pl
from reprise.core.errors import UserError
from reprise.core.files import write_sealed_text, write_text
from reprise.core.log import log
from reprise.core.schemas import FRAME_PLAN, REQUESTS, read_table
from reprise.core.store import Store
from reprise.media.manifests import read_available_clips, report_damage, verify_clip_file
from reprise.stages.command import In, Out, Site

from human_evaluation.keys import SurveysKey
from human_evaluation.settings import AnswerDesign, RatingDesign
from human_evaluation.slides import get_slide_show, has_sound
from human_evaluation.surveys import (
    COLUMNS,
    QUALIFICATION,
    SurveyVideo,
    build_question_tasks,
    build_survey_rows,
    load_qualification,
    qualification_videos,
)
from human_evaluation.tasks import as_sheet, label_studio_template

# The instructions for four grades are from the paper's judge prompt (MMBench-Video, appendix D). The instructions for
# six grades are Reprise's own, as in its judge prompt.
RATING_INSTRUCTIONS = (
    "Your assessment should range from 0 to {highest}, based solely on the semantic similarity between the groundtruth "
    "and the candidate answer, disregarding any grammatical differences. A rating of 0 suggests no similarity, "
    "implying the candidate answer is entirely incorrect. {between} Lastly, a rating of {highest} indicates complete "
    "similarity, which means the candidate answer is entirely correct."
)
BETWEEN = {  # highest rating -> the meaning of the ratings between 0 and it
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
    manifests: In[list[Path]],
    store: Site[Store],
    csv: Out[Path],
    form: Out[Path],
) -> None:
    request_table = read_table(requests, REQUESTS)
    qualification = load_qualification(settings.scope, settings.design)
    clips = read_available_clips(manifests)
    clips = clips.filter(pl.col("clip_id").is_in(request_table["clip_id"].to_list()))
    # clip id -> frames of the clip; empty for a group that sees whole videos
    plans = dict(read_table(frames[0], FRAME_PLAN).select("clip_id", "indices").iter_rows()) if frames else {}
    videos = {}
    for clip in clips.iter_rows(named=True):
        path = verify_clip_file(store, clip)
        with report_damage(path):
            if plans and isinstance(settings.design, AnswerDesign):  # The group sees the frames of a sampling.
                slide_show = get_slide_show(
                    path, clip["sha256"], plans[clip["clip_id"]], settings.design.seconds, store
                )
                videos[clip["clip_id"]] = SurveyVideo(slide_show, has_sound=False)
            else:
                videos[clip["clip_id"]] = SurveyVideo(path, has_sound(path))
    videos |= qualification_videos(qualification, ", ".join(settings.files.qualification))
    tasks = build_question_tasks(settings.scope, request_table)
    rows = build_survey_rows(tasks, qualification, settings.design, videos)
    write_sealed_text(csv, as_sheet(rows, COLUMNS))
    write_text(form, label_studio_template(_instructions(settings, request_table), ("question",)))
    survey_count = len({row["survey"] for row in rows} - {QUALIFICATION})
    question_count = len(rows) - len(qualification.tasks)
    silent_count = sum(row["sound"] == "no" for row in rows)
    log.info(
        f"{question_count} questions in {survey_count} surveys, {len(qualification.tasks)} of a qualification; "
        f"{len(tasks) - question_count} left out because their clip is missing; {silent_count} with a silent video"
    )


def _instructions(key: SurveysKey, requests: pl.DataFrame) -> str:
    """Return the instructions for annotators. Raise a UserError if the runs that they rate have different scales."""
    if not isinstance(key.design, RatingDesign):
        return "Watch the video, then answer."
    # The options are the ratings, from 0 to the highest one. Without requests, any scale would do.
    highest_ratings = sorted(requests["options"].list.last().unique()) or ["3"]
    if len(highest_ratings) > 1:
        raise UserError(
            f"{key.scope}: its runs have different rating scales, up to {' and '.join(highest_ratings)}. Put them into "
            "separate groups."
        )
    return RATING_INSTRUCTIONS.format(highest=highest_ratings[0], between=BETWEEN[highest_ratings[0]])
