"""What goes out to people: surveys, their videos, and the test before them."""

from collections.abc import Sequence
from pathlib import Path

import av
import polars as pl
import pytest
from reprise.construction.review import as_json, as_sheet
from reprise.core.checksums import seal_text
from reprise.core.errors import UserError
from reprise.core.schemas import REQUESTS
from reprise.media.settings import Encode
from reprise.media.slides import has_sound, slides
from reprise.people.answers import counting
from reprise.people.gathering import qualification_of
from reprise.people.surveys import COLUMNS as SEEN
from reprise.people.surveys import Shown, address, label_studio_tasks, qualification_videos, survey_rows
from reprise.people.surveys import NOT_TESTED, qualification_tasks, question_tasks

from tests.unit.people.asked import AB, TASKS, TEST, design, said, task
from tests.unit.rows import request_row
from tests.unit.videos import barcode_video

HEAD = "question_id,video,question,options,answer"


def saved(rows: Sequence[dict[str, object]], folder: Path) -> Path:
    (folder / "surveys.csv").write_text(as_sheet(rows, SEEN))
    return folder / "surveys.csv"


VIDEO = Shown(Path("resources/a.mp4"), has_sound=True)
REQUESTS_OF_TWO = pl.DataFrame(
    [
        request_row(f"7_{part}/text#text_{part}", clip_id=f"7.{part}", prompt="Which?", options=["A", "B"])
        for part in ("pos", "neg")
    ],
    schema=REQUESTS,
)


def test_nothing_that_people_see_tells_what_is_right(tmp_path: Path) -> None:
    tasks = question_tasks("vinoground/full/all", REQUESTS_OF_TWO)
    videos = {
        f"7.{part}": Shown(Path(f"resources/store/clips/{n}.mp4"), has_sound=True)
        for n, part in enumerate(("pos", "neg"))
    }
    rows = survey_rows(tasks, NOT_TESTED, design(), videos)
    assert len(rows) == 2 and {row["question"] for row in rows} == {"Which?"}
    for seen in (as_sheet(rows, SEEN), as_json(label_studio_tasks(saved(rows, tmp_path), "1"))):
        assert "pos" not in seen and "neg" not in seen and "7." not in seen and "7_" not in seen


def test_each_survey_is_a_file_for_label_studio(tmp_path: Path) -> None:
    tasks = [task(str(n), question="=1+1\nor -2") for n in range(5)]
    path = saved(survey_rows(tasks, TEST, design(surveys=2), {"": VIDEO}), tmp_path)
    found = {name: label_studio_tasks(path, name) for name in ("qualification", "1", "2")}
    assert {name: len(some) for name, some in found.items()} == {"qualification": 2, "1": 3, "2": 2}
    assert {one["task_id"] for some in found.values() for one in some} == {*"01234", "t1", "t2"}
    first = found["1"][0]
    assert first["question"] == "=1+1\nor -2" and first["options"] == [{"value": "A"}, {"value": "B"}]
    assert first["video_url"] == "/data/local-files/?d=a.mp4" and "reviewer" not in first
    with pytest.raises(UserError, match=r"surveys.csv: no survey '3'. Found: qualification, 1, 2\."):
        label_studio_tasks(path, "3")
    seal_text(path)
    path.write_text(path.read_text().replace("-2", "-3"))
    with pytest.raises(UserError, match=r"surveys.csv: damaged, or edited: .* Save what you wrote in it under another"):
        label_studio_tasks(path, "1")


def test_a_task_of_another_benchmark_group_or_setting_is_another_task() -> None:
    mine = question_tasks("vinoground/full/all", REQUESTS_OF_TWO)
    for scope in ("velociti/full/all", "vinoground/frames32/all", "vinoground/full/linspace32"):
        theirs = question_tasks(scope, REQUESTS_OF_TWO)
        found = counting(mine, [said("ann", theirs[0], "A")], design(), NOT_TESTED, ())
        assert [one.problem for one in found.votes.problems] == ["foreign_task"] and found.workers == []


@pytest.mark.parametrize("change", [{"prompt": "Who?"}, {"options": ["A", "B", "C"]}, {"clip_id": "8.pos"}])
def test_an_answer_to_another_text_or_clip_is_named(change: dict[str, object]) -> None:
    rows = [row | change for row in REQUESTS_OF_TWO.to_dicts()]
    others = question_tasks("vinoground/full/all", pl.DataFrame(rows, schema=REQUESTS))
    mine = question_tasks("vinoground/full/all", REQUESTS_OF_TWO)
    votes = counting(mine, [said("ann", others[0], "A")], design(), NOT_TESTED, ()).votes
    assert [one.problem for one in votes.problems] == ["other_text"] and not votes.by_task


def test_velocitis_pairs_go_to_three_people_without_overlap() -> None:
    tasks = [task(str(n)) for n in range(2100)]
    rows = survey_rows(tasks, NOT_TESTED, design(surveys=3), {"": VIDEO})
    people = {number: {row["task_id"] for row in rows if row["survey"] == number} for number in "123"}
    assert [len(one) for one in people.values()] == [700, 700, 700] and len(set.union(*people.values())) == 2100


def test_a_clip_that_comes_later_moves_no_other_question() -> None:
    tasks = [task(str(n), str(n)) for n in range(30)]
    videos = {str(n): VIDEO for n in range(30)}
    whole = survey_rows(tasks, NOT_TESTED, design(surveys=3), videos)
    del videos["7"]
    assert survey_rows(tasks, NOT_TESTED, design(surveys=3), videos) == [row for row in whole if row["task_id"] != "7"]


def test_vinogrounds_questions_fill_fifty_surveys_in_a_drawn_order() -> None:
    tasks = [task(str(n)) for n in range(2000)]
    rows = survey_rows(tasks, TEST, design(per_survey=40), {"": VIDEO})
    assert [row["survey"] for row in rows[:2]] == ["qualification", "qualification"]
    assert [sum(row["survey"] == str(n) for row in rows) for n in range(1, 51)] == [40] * 50
    assert rows == survey_rows(tasks[::-1], TEST, design(per_survey=40), {"": VIDEO})
    other = survey_rows(tasks, TEST, design(per_survey=40, seed=1), {"": VIDEO})
    assert [row["task_id"] for row in rows] != [row["task_id"] for row in other] and len(other) == 2002


def test_a_video_outside_the_folder_that_is_shown_is_refused(tmp_path: Path) -> None:
    assert address(tmp_path / "store/clips/a.mp4", str(tmp_path)) == "store/clips/a.mp4"
    with pytest.raises(
        UserError, match="is not inside .*, the folder of the videos. Let `videos:` name one that holds it"
    ):
        address(Path("/elsewhere/a.mp4"), str(tmp_path))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,,Which?,A | B,C", "row 1: found 'C' of 'A | B'; needed: two options or more, and the answer among them."),
        ("1,,Which?,A,A", "row 1: found 'A' of 'A'; needed: two options or more"),
        ("1,a.mp4,Which?,A | B,A", "row 1: no video 'a.mp4' in "),
        ("1,../a.mp4,Which?,A | B,A", "row 1: no video '../a.mp4' in "),
        (
            "1,,Which?,A | B,A\n2,,Which?",
            "row 2: 3 cells for 5 columns (question_id, video, question, options, answer).",
        ),
        ("1,,Which?,A | B,A\n1,,Which?,A | B,A", "row 2: question '1' stands there twice."),
    ],
)
def test_a_mistake_in_a_qualification_is_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "test.csv"
    path.write_text(f"{HEAD}\n{row}\n")
    with pytest.raises(UserError) as caught:
        qualification_tasks("b/g/all", path)
    assert message in str(caught.value) and str(path) in str(caught.value)


def test_a_qualification_may_be_saved_by_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text(f"{HEAD}\n1,,Which?,A | B,A\n", encoding="utf-8-sig")
    (found,) = qualification_tasks("b/g/all", tmp_path / "test.csv").tasks
    assert found.choices == AB


def test_a_qualification_has_as_many_questions_as_must_be_right(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text(f"{HEAD}\n1,,Which?,A | B,A\n2,,Who?,A | B,B\n")
    assert len(qualification_of("b/g/all", design(qualification={"questions": str(path), "right": 2})).tasks) == 2
    with pytest.raises(UserError, match=r"test.csv: has 2 questions, and `right: 3` of the group needs more of them\."):
        qualification_of("b/g/all", design(qualification={"questions": str(path), "right": 3}))


def test_who_passed_the_test_of_one_group_has_not_passed_that_of_another(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text(f"{HEAD}\n1,,Which?,A | B,A\n")
    asked = design(qualification={"questions": str(path), "right": 1})
    mine, theirs = (qualification_of(f"b/{group}/all", asked) for group in ("full", "frames"))
    found = counting(TASKS, [said("ann", theirs.tasks[0], "A"), said("ann", TASKS[0], "A")], asked, mine, ())
    assert [one.problem for one in found.votes.problems] == ["foreign_task", "not_qualified"]


def test_a_qualification_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file, which should hold the questions of a qualification"):
        qualification_tasks("b/g/all", tmp_path / "none.csv")


def test_a_video_of_a_qualification_that_cannot_be_played_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text(f"{HEAD}\n1,v.mp4,Which?,A | B,A\n2,bad.mp4,Which?,A | B,A\n")
    barcode_video(tmp_path / "v.mp4", frames=4)
    (tmp_path / "bad.mp4").write_text("no video")
    with pytest.raises(UserError, match=r"test.csv: row 2: .*bad.mp4: not_media: "):
        qualification_videos(qualification_tasks("b/g/all", path), str(path))
    (tmp_path / "bad.mp4").unlink()
    with pytest.raises(UserError, match=r"test.csv: row 2: no video 'bad.mp4' in "):
        qualification_tasks("b/g/all", path)


def test_frames_are_shown_as_a_silent_video_of_ten_seconds(tmp_path: Path) -> None:
    source, shown = barcode_video(tmp_path / "v.mp4", frames=48), tmp_path / "shown.mp4"
    slides(source, [round(n * 47 / 31) for n in range(32)], 10, shown, Encode())
    with av.open(str(shown)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264" and stream.frames == 32 and not container.streams.audio
        assert float(stream.duration * stream.time_base) == pytest.approx(10)
    assert not has_sound(shown)
