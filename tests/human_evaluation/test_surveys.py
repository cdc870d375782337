"""Test surveys for annotators, their videos, and the qualification."""

from pathlib import Path
from typing import Any

import av
import polars as pl
import pytest
from human_evaluation.slides import has_sound, write_slide_show
from human_evaluation.surveys import COLUMNS as SURVEY_COLUMNS
from human_evaluation.surveys import (
    NO_QUALIFICATION,
    SurveyVideo,
    build_question_tasks,
    build_survey_rows,
    label_studio_tasks,
    load_qualification,
    qualification_videos,
    read_qualification,
)
from human_evaluation.tasks import as_json, as_sheet
from reprise.core.errors import UserError
from reprise.core.files import seal_file
from reprise.core.schemas import REQUESTS
from reprise.media.settings import Encode

from tests.human_evaluation.designs import TEST, design, task
from tests.unit.rows import request_row
from tests.unit.videos import barcode_video

HEAD = "question_id,video,question,options,answer"
VIDEO = SurveyVideo(Path("resources/a.mp4"), has_sound=True)
TWO_REQUESTS = [
    request_row(f"7_{part}/text#text_{part}", clip_id=f"7.{part}", prompt="Which?", options=["A", "B"])
    for part in ("pos", "neg")
]
SCOPE = "vinoground/full/all"


def tasks_of(scope: str = SCOPE, **changes: object) -> Any:
    return build_question_tasks(scope, pl.DataFrame([row | changes for row in TWO_REQUESTS], schema=REQUESTS))


def write_survey(rows: list[dict[str, Any]], folder: Path) -> Path:
    (folder / "surveys.csv").write_text(as_sheet(rows, SURVEY_COLUMNS))
    return folder / "surveys.csv"


def test_surveys_do_not_reveal_the_right_answer(tmp_path: Path) -> None:
    videos = {
        f"7.{part}": SurveyVideo(Path(f"resources/store/clips/{part == 'pos'}.mp4"), True) for part in ("pos", "neg")
    }
    rows = build_survey_rows(tasks_of(), NO_QUALIFICATION, design(), videos)
    assert len(rows) == 2 and {row["question"] for row in rows} == {"Which?"}
    for survey_text in (as_sheet(rows, SURVEY_COLUMNS), as_json(label_studio_tasks(write_survey(rows, tmp_path), "1"))):
        assert not any(hint in survey_text for hint in ("pos", "neg", "7.", "7_"))
    with pytest.raises(UserError, match="7_pos/text#text_pos: has no options that annotators can choose"):
        tasks_of(options=[])


def test_each_survey_is_a_file_for_label_studio(tmp_path: Path) -> None:
    tasks = [task(str(n), question="=1+1\nor -2") for n in range(5)]
    path = write_survey(build_survey_rows(tasks, TEST, design(surveys=2), {"": VIDEO}), tmp_path)
    tasks_by_survey = {name: label_studio_tasks(path, name) for name in ("qualification", "1", "2")}
    assert {name: len(survey_tasks) for name, survey_tasks in tasks_by_survey.items()} == {
        "qualification": 2,
        "1": 3,
        "2": 2,
    }
    assert {survey_task["task_id"] for survey_tasks in tasks_by_survey.values() for survey_task in survey_tasks} == {
        *"01234",
        "t1",
        "t2",
    }
    first = tasks_by_survey["1"][0]
    assert first["question"] == "=1+1\nor -2" and first["options"] == [{"value": "A"}, {"value": "B"}]
    assert first["video_url"] == "/data/local-files/?d=a.mp4" and "reviewer" not in first
    with pytest.raises(UserError, match="is not inside .*, the folder of `videos:`. Name a folder that contains"):
        build_survey_rows(tasks, TEST, design(), {"": SurveyVideo(Path("/elsewhere/a.mp4"), has_sound=True)})
    with pytest.raises(UserError, match=r"surveys.csv: no survey '3'. Found: qualification, 1, 2\."):
        label_studio_tasks(path, "3")
    seal_file(path)
    path.write_text(path.read_text().replace("-2", "-3"))
    with pytest.raises(
        UserError, match=r"surveys.csv: damaged or edited since it was written. Save your edits under another"
    ):
        label_studio_tasks(path, "1")


def test_questions_are_divided_in_a_seeded_order_independent_of_other_clips() -> None:
    """VELOCITI's pairs are divided among three annotators; Vinoground's questions fill surveys of a fixed size."""
    tasks = [task(str(n)) for n in range(21)]
    rows = build_survey_rows(tasks, NO_QUALIFICATION, design(surveys=3), {"": VIDEO})
    tasks_by_survey = {number: {row["task_id"] for row in rows if row["survey"] == number} for number in "123"}
    assert [len(task_ids) for task_ids in tasks_by_survey.values()] == [7, 7, 7] and len(
        set.union(*tasks_by_survey.values())
    ) == 21
    rows = build_survey_rows(tasks, TEST, design(per_survey=4), {"": VIDEO})
    assert [row["survey"] for row in rows[:2]] == ["qualification", "qualification"]
    assert [sum(row["survey"] == str(n) for row in rows) for n in range(1, 7)] == [4] * 5 + [1]
    assert rows == build_survey_rows(tasks[::-1], TEST, design(per_survey=4), {"": VIDEO})
    reseeded = build_survey_rows(tasks, TEST, design(per_survey=4, seed=1), {"": VIDEO})
    assert [row["task_id"] for row in rows] != [row["task_id"] for row in reseeded] and len(reseeded) == 23
    clip_tasks, videos = [task(str(n), str(n)) for n in range(30)], {str(n): VIDEO for n in range(30)}
    all_rows = build_survey_rows(clip_tasks, NO_QUALIFICATION, design(surveys=3), videos)
    del videos["7"]
    assert build_survey_rows(clip_tasks, NO_QUALIFICATION, design(surveys=3), videos) == [
        row for row in all_rows if row["task_id"] != "7"
    ]


FIRST_QUESTION, SECOND_QUESTION = "1,,Which?,A | B,A", "2,,Who?,A | B,B"
MISTAKES = [
    ("1,,Which?,A | B,C", "row 1: found 'C' of 'A | B'; needed: at least two options, one of which is the answer."),
    ("1,a.mp4,Which?,A | B,A", "row 1: no video 'a.mp4' in "),
    (f"{FIRST_QUESTION}\n2,,Which?", "row 2: 3 cells for 5 columns (question_id, video, question, options, answer)."),
    (f"{FIRST_QUESTION}\n{FIRST_QUESTION}", "row 2: question '1' appears twice."),
    (f"{FIRST_QUESTION}\n{SECOND_QUESTION}", "has 2 questions, fewer than `right: 3`. Add questions or lower it."),
    ("", "the file with the questions of the qualification does not exist"),
]


@pytest.mark.parametrize(("rows", "message"), MISTAKES)
def test_an_error_in_a_qualification_is_named(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "test.csv"
    if rows:
        path.write_text(f"{HEAD}\n{rows}\n")
    with pytest.raises(UserError) as error:
        load_qualification("b/g/all", design(qualification={"questions": str(path), "right": 3}))
    assert message in str(error.value) and str(path) in str(error.value)


def test_an_unreadable_video_of_a_qualification_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text(f"{HEAD}\n1,v.mp4,Which?,A | B,A\n2,bad.mp4,Which?,A | B,A\n3,,Which?,A | B,A\n")
    barcode_video(tmp_path / "v.mp4", frame_count=4)
    (tmp_path / "bad.mp4").write_text("no video")
    with pytest.raises(UserError, match=r"test.csv: row 2: .*bad.mp4: not_media: "):
        qualification_videos(read_qualification("b/g/all", path), str(path))


def test_frames_are_shown_as_a_silent_video_of_ten_seconds(tmp_path: Path) -> None:
    source, slides_video = barcode_video(tmp_path / "v.mp4", frame_count=48), tmp_path / "shown.mp4"
    write_slide_show(source, [round(n * 47 / 31) for n in range(32)], 10, slides_video, Encode())
    with av.open(str(slides_video)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264" and stream.frames == 32 and not container.streams.audio
        assert float(stream.duration * stream.time_base) == pytest.approx(10)
    assert not has_sound(slides_video)
