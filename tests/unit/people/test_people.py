"""People's answers: surveys, whose answers count, the mode, and how far they agree; each by hand."""

from collections.abc import Collection, Sequence
from pathlib import Path

import av
import polars as pl
import pytest
from reprise.construction.label_studio import exported_rows, is_export
from reprise.construction.review import COLUMNS, Task, Verdict, as_csv, as_json, as_sheet, read_verdicts
from reprise.core.errors import UserError
from reprise.core.schemas import REQUESTS
from reprise.media.settings import Encode
from reprise.media.slides import has_sound, slides
from reprise.people.answers import TIE, TOO_FEW, Counted, counting, modes, people_named, replies
from reprise.people.settings import AnswerDesign, Qualification
from reprise.people.statistics import BY_DESIGN, agreement, numbers, worker_rows
from reprise.people.surveys import COLUMNS as SEEN
from reprise.people.surveys import Shown, address, label_studio_tasks, survey_rows
from reprise.people.tasks import NOT_TESTED, Qualifying, qualification_tasks, question_tasks, task_id
from reprise.stats.reliability import alpha

from tests.unit.rows import request_row
from tests.unit.videos import barcode_video

AB = ("A", "B")


def task(name: str, clip: str = "", question: str = "") -> Task:
    return Task(name, AB, {"clip": clip, "question": question, "choices": "A | B"})


TASKS = [task(name, f"{name}.mp4", f"{name}?") for name in ("q1", "q2", "q3")]
TEST = Qualifying([task(f"t{n}", "", n) for n in "12"], {f"t{n}": "A" for n in "12"}, {})
RECORDED = Path(__file__).parents[2] / "data/people"
HEAD = "question_id,video,question,options,answer"


def design(**settings: object) -> AnswerDesign:
    return AnswerDesign.model_validate({"run": "paper/all/humans", "answers": "*.csv", **settings})


def said(person: str, task: Task, answer: str) -> Verdict:
    return Verdict(task.task_id, task.digest, person, answer, f"file: {person} {task.task_id}")


def by_ten(answers: str) -> list[Verdict]:
    return [said(f"p{n}", TASKS[0], answer) for n, answer in enumerate(answers)]


def counted_of(
    verdicts: Sequence[Verdict], asked: AnswerDesign, tested: Qualifying = NOT_TESTED, out: Collection[str] = ()
) -> Counted:
    return counting(TASKS, verdicts, asked, tested, out)


@pytest.mark.parametrize(
    ("answers", "ties", "option", "error"),
    [
        ("AAAAAABBBB", "wrong", "A", ""),
        ("BBBBBBBBBA", "wrong", "B", ""),
        ("AAAAABBBBB", "wrong", "", TIE),
        ("BBBBBAAAAA", "first_option", "A", ""),
        ("AAAAABBBBA", "draw", "A", ""),
        ("AAAAABBBB", "wrong", "", TOO_FEW),
        ("", "wrong", "", TOO_FEW),
        ("AAAAAABBBBB", "wrong", "A", ""),
    ],
)
def test_the_mode_of_ten(answers: str, ties: str, option: str, error: str) -> None:
    asked = design(workers=10, ties=ties)
    reply = replies(TASKS, counted_of(by_ten(answers), asked).votes, asked)["q1"]
    assert (reply.option, reply.error, reply.people) == (option, error, len(answers))


def test_a_drawn_tie_is_the_same_each_time_and_falls_both_ways() -> None:
    drawn = {}
    for seed in range(20):
        asked = design(workers=10, ties="draw", seed=seed)
        votes = counted_of(by_ten("AAAAABBBBB"), asked).votes
        drawn[seed] = replies(TASKS, votes, asked)["q1"].option
        assert drawn[seed] == replies(TASKS, counted_of(by_ten("BBBBBAAAAA"), asked).votes, asked)["q1"].option
    assert set(drawn.values()) == {"A", "B"}


def test_of_three_options_those_that_are_equal_stand_as_offered() -> None:
    assert modes(list("CCBBA"), "ABC") == ["B", "C"] and modes(list("CCBBB"), "ABC") == ["B"]


BAD = {
    "foreign_task": said("ann", Task("x", AB, {}), "A"),
    "other_text": said("ann", TASKS[0], "A")._replace(digest="0"),
    "no_reviewer": said("", TASKS[0], "A"),
    "unknown_verdict": said("ann", TASKS[0], "C"),
}


@pytest.mark.parametrize(("problem", "bad"), BAD.items(), ids=BAD)
def test_a_row_that_does_not_count_is_named_without_a_name(problem: str, bad: Verdict) -> None:
    found = counted_of([said("bob", TASKS[1], "A"), bad], design())
    assert [(one.where, one.problem) for one in found.votes.problems] == [(bad.where, problem)]
    assert "ann" not in found.votes.problems[0].found and found.votes.by_task.keys() == {"q2"}


def test_two_answers_of_one_person_count_for_nothing() -> None:
    found = counted_of([said("ann", TASKS[0], "A"), said("ann", TASKS[0], "B"), said("ann", TASKS[1], "B")], design())
    assert [one.problem for one in found.votes.problems] == ["two_verdicts"]
    assert "'1' said 'A' and 'B' of q1" in found.votes.problems[0].found and found.votes.by_task == {"q2": {"1": "B"}}


def test_who_fails_the_test_or_wrote_captions_does_not_count() -> None:
    asked = design(qualification=Qualification(questions="q.csv", right=2))
    right = [said(who, task, "A") for who in ("ann", "bob") for task in TEST.tasks]
    wrong = [said("cy", TEST.tasks[0], "A"), said("cy", TEST.tasks[1], "B")]
    answers = [said(who, TASKS[0], "A") for who in ("ann", "bob", "cy", "dan")]
    found = counted_of([*right, *wrong, *answers], asked, TEST, {"bob"})
    problems = {one.where: (one.problem, one.found.split(" ", 2)[2]) for one in found.votes.problems}
    why = "of 2 answers of the qualification right, needed: 2"
    assert problems == {
        "file: bob q1": ("wrote_captions", "wrote captions"),
        "file: cy q1": ("not_qualified", f"has 1 {why}"),
        "file: dan q1": ("not_qualified", f"has 0 {why}"),
    }
    assert list(found.votes.by_task) == ["q1"] and len(found.votes.by_task["q1"]) == 1
    rows = worker_rows(found, replies(TASKS, found.votes, asked), {"q1": "B", "q2": "A", "q3": "A"})
    assert sorted(row["counts"] for row in rows) == ["not_qualified", "not_qualified", "wrote_captions", "yes"]
    assert [(row["with_most"], row["right"]) for row in rows if row["counts"] == "yes"] == [(1, 0)]
    assert [row["worker"] for row in rows] == [1, 2, 3, 4]


def test_only_who_answered_a_known_task_has_a_number() -> None:
    elsewhere = [said(who, task("x"), "A") for who in ("cy", "bob")]
    found = counted_of([said("ann", TASKS[0], "A"), *elsewhere, said("bob", TASKS[1], "A")], design(), out={"bob"})
    assert sorted(worker.number for worker in found.workers) == [1, 2] and [w.given for w in found.workers] == [1, 1]
    problems = [(one.where, one.problem) for one in found.votes.problems]
    foreign = [(f"file: {who} x", "foreign_task") for who in ("cy", "bob")]
    assert problems == [*foreign, ("file: bob q2", "wrote_captions")]


def test_a_half_finished_file_and_the_whole_one_add_up(tmp_path: Path) -> None:
    def saved(name: str, verdicts: list[Verdict]) -> Path:
        (tmp_path / name).write_text(as_csv([{c: one._asdict()[c] for c in COLUMNS} for one in verdicts], COLUMNS))
        return tmp_path / name

    half = saved("1.csv", [said("ann", TASKS[0], "A"), said("ann", TASKS[1], "")])
    whole = saved("2.csv", [said("ann", TASKS[0], "A"), said("ann", TASKS[1], "B")])
    found = counted_of(read_verdicts([half, whole]), design())
    assert found.votes.by_task == {"q1": {"1": "A"}, "q2": {"1": "B"}} and found.votes.problems == []


def test_people_left_out_are_those_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text("clip,reviewer\na,ann\nb,bob\n")
    assert people_named([path]) == {"ann", "bob"}
    path.write_text("clip,who\na,ann\n")
    with pytest.raises(UserError, match=r"captions.csv: column 'reviewer' is missing. Found: clip, who."):
        people_named([path])


# Surveys


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
        ("1,,Which?,A | B,C", "line 2: found 'C' of 'A | B'; needed: two options or more, and the answer among them."),
        ("1,,Which?,A,A", "line 2: found 'A' of 'A'; needed: two options or more"),
        ("1,a.mp4,Which?,A | B,A", "line 2: no video 'a.mp4' in "),
        ("1,../a.mp4,Which?,A | B,A", "line 2: no video '../a.mp4' in "),
        ("1,,Which?,A | B,A\n1,,Which?,A | B,A", "line 3: question '1' stands there twice."),
    ],
)
def test_a_mistake_in_a_qualification_is_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "test.csv"
    path.write_text(f"{HEAD}\n{row}\n")
    with pytest.raises(UserError) as caught:
        qualification_tasks("b/g/all", path)
    assert message in str(caught.value) and str(path) in str(caught.value)


def test_a_qualification_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file, which should hold the questions of a qualification"):
        qualification_tasks("b/g/all", tmp_path / "none.csv")


def test_frames_are_shown_as_a_silent_video_of_ten_seconds(tmp_path: Path) -> None:
    source, shown = barcode_video(tmp_path / "v.mp4", frames=48), tmp_path / "shown.mp4"
    slides(source, [round(n * 47 / 31) for n in range(32)], 10, shown, Encode())
    with av.open(str(shown)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264" and stream.frames == 32 and not container.streams.audio
        assert float(stream.duration * stream.time_base) == pytest.approx(10)
    assert not has_sound(shown)


# Agreement


def test_alpha_by_hand() -> None:
    """Three questions, two people: AA, AB, BB. Of 6 values 3 are A; 2 of 6 pairs differ; 2*3*3/(6-1) = 3.6 would by chance."""
    answers = [{"A": 2}, {"A": 1, "B": 1}, {"B": 2}]
    assert alpha(answers, AB) == pytest.approx(1 - 2 / 3.6)


@pytest.mark.parametrize(
    "counts", [[(3, 1), (0, 4), (4, 0), (2, 2)], [(10, 0), (5, 5), (1, 9)], [(1, 1), (2, 0), (0, 1)]]
)
def test_alpha_is_its_closed_form(counts: list[tuple[int, int]]) -> None:
    """Of two values: 1 - (n - 1) * sum(a*b / (m - 1)) / (A * B), over questions with m = a + b answers or more than one."""
    paired = [(a, b) for a, b in counts if a + b > 1]
    of_a, of_b = (sum(column) for column in zip(*paired, strict=True))
    differing = sum(a * b / (a + b - 1) for a, b in paired)
    assert alpha([{"A": a, "B": b} for a, b in counts], AB) == pytest.approx(
        1 - (of_a + of_b - 1) * differing / (of_a * of_b)
    )


@pytest.mark.parametrize("answers", [[], [{"A": 1}, {"B": 1}], [{"A": 3}, {"A": 2}]])
def test_alpha_is_undefined_where_nothing_can_be_compared(answers: list[dict[str, int]]) -> None:
    assert alpha(answers, AB) is None


def test_agreement_of_one_person_a_question_is_undefined_by_design() -> None:
    found = counted_of([said("ann", TASKS[0], "A")], design())
    assert agreement(TASKS, found.votes, design()) == (None, BY_DESIGN)
    lines = {
        one.what: one for one in numbers("velociti", TASKS, found, replies(TASKS, found.votes, design()), design())
    }
    assert lines["questions"].paper == 2100 and lines["questions"].ours == 3
    assert lines["questions that too few people answered"].ours == 2 and lines["Krippendorff's alpha"].note == BY_DESIGN


# Label Studio


def exported(*annotations: dict[str, object], **data: str) -> dict[str, object]:
    return {"data": {"task_id": "q1", "digest": TASKS[0].digest} | data, "annotations": list(annotations)}


def annotation(choices: object, by: object = 3, **more: object) -> dict[str, object]:
    return {"completed_by": by, "result": [{"from_name": "verdict", "value": {"choices": choices}}], **more}


@pytest.mark.parametrize(
    ("task", "rows"),
    [
        (exported(annotation(["A"])), [("q1", "label-studio 3", "A")]),
        (exported(annotation(["A"], {"id": 4, "email": "x@example.org"})), [("q1", "label-studio 4", "A")]),
        (
            exported(annotation(["A"]), annotation(["B"])),
            [("q1", "label-studio 3", "A"), ("q1", "label-studio 3", "B")],
        ),
        (exported(annotation(["A"], was_cancelled=True)), []),
        (exported(), []),
        (exported(annotation(["A", "B"])), [("q1", "label-studio 3", "A, B")]),
        (exported({"completed_by": None, "result": []}), [("q1", "", "")]),
        (exported({"completed_by": 3, "result": "damaged"}), [("q1", "label-studio 3", "")]),
    ],
)
def test_an_export_is_rows(task: dict[str, object], rows: list[tuple[str, str, str]]) -> None:
    assert is_export([task])
    assert [(one["task_id"], one["reviewer"], one["verdict"]) for one in exported_rows([task])] == rows


def test_a_recorded_export_of_label_studio_is_read() -> None:
    """One answer before, and all after: one skipped task, and one that the same person answered twice."""
    half, whole = (RECORDED / f"label-studio-{name}.json" for name in ("half", "whole"))
    tasks = [
        task(task_id("toy/script/all", f"{n}_pos/text#text_pos"), f"{n}.pos", f"Toy question {n}? A. one, B. two")
        for n in range(4)
    ]
    assert [(one.task_id, one.verdict) for one in read_verdicts([half])] == [(tasks[0].task_id, "A")]
    found = counting(tasks, read_verdicts([half, whole]), design(), NOT_TESTED, ())
    assert found.votes.by_task == {tasks[0].task_id: {"1": "A"}, tasks[1].task_id: {"1": "B"}}
    assert [one.problem for one in found.votes.problems] == ["two_verdicts"]
    assert counted_of(read_verdicts([whole]), design()).votes.problems[0].problem == "foreign_task"


@pytest.mark.parametrize("content", [[], {}, "x", [{"task_id": "q1"}], [{"data": {}, "annotations": 3}], [3]])
def test_other_json_is_no_export(content: object) -> None:
    assert not is_export(content)
