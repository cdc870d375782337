"""MMBench-Video: its reader, prompts, packed answers and means, against numbers worked out by hand and closed forms."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.flaws import flaws_of
from reprise.benchmarks.mmbench_video.packed import PACKED_READERS
from reprise.benchmarks.mmbench_video.release import COLUMNS
from reprise.benchmarks.mmbench_video.taxonomy import L2_OF
from reprise.benchmarks.prompts import FRAME_COUNT, load_prompts
from reprise.config.benchmark import Benchmark
from reprise.core.errors import UserError
from reprise.core.files import matching_files
from reprise.core.schemas import FACTS, VERDICTS
from reprise.core.yaml_files import load_yaml
from reprise.models.local.stand_ins.wordmatch import overlap
from reprise.stats.measures import Measure
from synthetic.toyworld import mmbench_video as toy

from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import verdict_row

mmbench_video = Whole("mmbench_video")

COLUMNS = COLUMNS
LEVEL = 0.95
PROMPTS = load_prompts(Path("resources/prompts/mmbench_video.yaml"))
READERS = PACKED_READERS


def load_spec() -> Benchmark:
    return Benchmark.model_validate(load_yaml(Path("config/benchmarks/mmbench_video.yaml")))


def release(folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = COLUMNS) -> list[Path]:
    path = folder / "MMBench-Video.tsv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows([columns, *rows])
    return [path]


def row(index: str, video: str, dimensions: str, question: str = "What?", answer: str = "That.") -> list[str]:
    return [index, video, "News", question, answer, dimensions, f"./video/{video}.mp4"]


def read(folder: Path, *rows: Sequence[str]) -> pl.DataFrame:
    return mmbench_video.annotations(release(folder, rows), "release", {})[1]


FIVE = (
    row("0", "a", "['OCR']"),
    row("1", "a", "['Object Recognition', 'Counting']"),
    row("2", "b", "['Event Recognition', 'Causal Reasoning']"),
    row("3", "b", "['Hallucination']"),
    row("4", "b", '["Mathematical Calculation"]'),
)

# --- reading a release -------------------------------------------------------------------------------------------


def test_a_question_belongs_to_each_of_its_abilities_once(tmp_path: Path) -> None:
    items = read(tmp_path, *FIVE)
    sizes = {group: mmbench_video.in_group(items, group).height for group in ("fp_s", "tr", "hl", "lr", "cp")}
    assert sizes == {"fp_s": 3, "tr": 1, "hl": 1, "lr": 1, "cp": 0}
    halves = [mmbench_video.in_group(items, half).height for half in ("perception", "reasoning", "overall")]
    assert halves == [4, 2, 5], "question 2 is in both halves and once in the whole"


def test_videos_are_the_released_files(tmp_path: Path) -> None:
    clips, _ = mmbench_video.annotations(release(tmp_path, FIVE), "release", {})
    assert clips.select("clip_id", "kind", "source_id").rows() == [("a.whole", "whole", "a"), ("b.whole", "whole", "b")]


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([row("0", "a", "['OCR']"), row("0", "b", "['OCR']")], COLUMNS, "row 2: index '0' is that of row 1 already"),
        ([row("0", " ", "['OCR']")], COLUMNS, "row 1: 'video' is empty"),
        (
            [row("0", "a", "['OCR']")],
            [*COLUMNS[:5], "dims", "video_path"],
            "column 'dimensions' is missing. Found: index",
        ),
    ],
)
def test_a_broken_release_is_refused_by_file_and_row(
    tmp_path: Path, rows: list[list[str]], columns: Sequence[str], message: str
) -> None:
    with pytest.raises(UserError, match=r"MMBench-Video\.tsv") as error:
        mmbench_video.annotations(release(tmp_path, rows, columns), "release", {})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("dimensions", "flaw", "in_group"),
    [
        ("['OCRR']", "dimension 'OCRR' is unknown and counts nowhere. Did you mean 'OCR'?", False),
        ("['OCR', 'Telepathy']", "dimension 'Telepathy' is unknown and counts nowhere.", True),
        ("[1]", "dimension '1' is unknown and counts nowhere.", False),
        ("OCR", "dimensions: found 'OCR', expected a list such as ['OCR']; it counts in no group", False),
        ("[]", "dimensions: found '[]', expected a list", False),
        ("[x for x in ().__class__]", "dimensions: found '[x for x in ().__class__]', expected a list", False),
        ("__import__('os').getcwd()", "dimensions: found \"__import__('os').getcwd()\", expected a list", False),
    ],
)
def test_a_question_of_no_known_ability_counts_in_the_whole_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, dimensions: str, flaw: str, in_group: bool
) -> None:
    items = read(tmp_path, row("0", "a", dimensions), row("1", "a", "['OCR']"))
    assert f"MMBench-Video.tsv: row 1: {flaw}" in caplog.text
    assert len(flaws_of(items)) == 1 and flaws_of(items)[0].startswith("question 0: ") and flaw in flaws_of(items)[0]
    found = numbers(items, verdicts([0, 3]))
    assert found["mean", "overall"].value == 1.5
    assert found["mean", "fp_s"].value == (1.5 if in_group else 3)
    assert found["mean", "perception"].asked == (2 if in_group else 1)


@pytest.mark.parametrize(("column", "change"), [("question", {"question": " "}), ("answer", {"answer": ""})])
def test_a_question_without_its_other_half_is_not_asked_and_is_missing(
    tmp_path: Path, column: str, change: dict[str, str]
) -> None:
    items = read(
        tmp_path, row("0", "a", "['OCR']", **change), row("1", "a", "['OCR']"), row("2", "b", "['OCR']", **change)
    )
    text = f"question 0: '{column}' is empty, so it is not asked and counts as missing"
    assert flaws_of(items) == [text, text.replace("0", "2", 1)]
    (packed,) = mmbench_video.requests(items, "packed", PROMPTS["packed"])
    assert json.loads(str(packed["prompt"]).removeprefix("Question Set: ")) == {"1": "What?"}
    assert [one["item_id"] for one in mmbench_video.requests(items, "unpacked", PROMPTS["unpacked"])] == ["1"]
    said = pl.DataFrame({"clip_id": ["a.whole"], "text": ['{"1": "That."}'], "error": [""]})
    assert [one.item_id for one in mmbench_video.answers("packed", items, said, "robust")] == ["1"]
    rated = verdicts([3]).with_columns(item_id=pl.lit("1"))
    rows = mmbench_video.measured("packed", items, rated, LEVEL, "fixed")
    (whole,) = [one for one in rows if (one.metric, one.group) == ("mean", "overall")]
    assert (whole.asked, whole.missing, whole.value) == (1, 2, 3)


def test_clips_cannot_be_cut_by_ids(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Use `clips: release`"):
        mmbench_video.annotations(release(tmp_path, FIVE), "ids", {})


# --- subtitles ---------------------------------------------------------------------------------------------------

VTT = """WEBVTT
Kind: captions

00:00:01.000 --> 00:00:02.500 align:start
<c>hello</c> there

00:00:02.500 --> 00:00:04.000
hello there
general

01:00:04.000 --> 01:00:05.000

"""


def test_subtitles_reach_the_prompt_where_a_video_has_them(tmp_path: Path) -> None:
    (tmp_path / "a.vtt").write_text(VTT)
    _, items = mmbench_video.annotations([*release(tmp_path, FIVE), tmp_path / "a.vtt"], "release", {})
    with_them, without = (
        mmbench_video.requests(items, "packed", PROMPTS[name]) for name in ("packed.subtitles", "packed")
    )
    assert "Subtitle: {\n    '1.0' - '2.5': hello there" in with_them[0]["system"]
    assert "Subtitle" not in with_them[1]["system"] and "Subtitle" not in without[0]["system"]
    assert with_them[1]["system"] == without[1]["system"]
    subtitled = items.filter(pl.col("clip_id") == "a.whole")["groups"].to_list()
    assert all("subtitled" in groups for groups in subtitled)


# --- prompts and packed answers ----------------------------------------------------------------------------------


def test_the_harness_escapes_what_is_beyond_ascii_and_the_paper_does_not(tmp_path: Path) -> None:
    items = read(tmp_path, row("7", "a", "['OCR']", "Où est l’horloge?"))
    (paper,) = mmbench_video.requests(items, "packed", PROMPTS["packed"])
    assert paper["prompt"] == 'Question Set: {"7": "Où est l’horloge?"}'
    (authors,) = mmbench_video.requests(items, "packed", PROMPTS["packed.authors"])
    assert authors["prompt"] == 'Questions: \n{"7": "O\\u00f9 est l\\u2019horloge?"}\nAnswers: \n'


def test_packed_asks_once_a_video_and_unpacked_once_a_question(tmp_path: Path) -> None:
    items = read(tmp_path, *FIVE)
    packed = mmbench_video.requests(items, "packed", PROMPTS["packed"])
    assert [request["clip_id"] for request in packed] == ["a.whole", "b.whole"]
    assert json.loads(str(packed[1]["prompt"]).removeprefix("Question Set: ")) == {
        "2": "What?",
        "3": "What?",
        "4": "What?",
    }
    assert f"provided with {FRAME_COUNT} separate frames" in packed[0]["system"]
    unpacked = mmbench_video.requests(items, "unpacked", PROMPTS["unpacked.authors"])
    assert len(unpacked) == 5 and unpacked[0]["prompt"] == "Question: What?\nAnswer: "
    assert unpacked[0]["expected"] == "That."


@pytest.mark.parametrize(
    ("text", "authors", "robust"),
    [
        ('{"7": "red", "8": "two"}', {"7": "red", "8": "two"}, {"7": "red", "8": "two"}),
        ('```json\n{"7": "red", "8": "two"}\n```', {"7": "red", "8": "two"}, {"7": "red", "8": "two"}),
        ('{"7": "red"}', {"7": "red"}, {"7": "red"}),
        ('{"7": null, "8": "two"}', {"8": "two"}, {"8": "two"}),
        ('{"7": 3, "8": ["a", "b"]}', {"7": "3", "8": '["a", "b"]'}, {"7": "3", "8": '["a", "b"]'}),
        ("{'7': 'red', '8': 'it: two'}", {"7": "red', '8"}, {"7": "red", "8": "it: two"}),  # the harness reads by lines
        ("{\n'7': 'red',\n'8': 'it: two',\n}", {"7": "red", "8": "it"}, {"7": "red", "8": "it: two"}),
        ('{"I1": "red", "I2": "two"}', {}, {"7": "red", "8": "two"}),
        ('{"7": "red"} and {"8": "two"}', {}, {"7": "red", "8": "two"}),
        ("red and two", {}, {}),
        ("", {}, {}),
        ('{"7": "red", "8": "tw', {"7": 'red", "8'}, {"7": "red"}),
    ],
)
def test_packed_answers_by_both_readers(text: str, authors: dict[str, str], robust: dict[str, str]) -> None:
    assert READERS["authors"](text, ["7", "8"]) == authors
    assert READERS["robust"](text, ["7", "8"]) == robust


def test_an_unreadable_packed_answer_fails_all_its_questions(tmp_path: Path) -> None:
    items = read(tmp_path, *FIVE)
    responses = pl.DataFrame(
        {"clip_id": ["a.whole", "b.whole"], "text": ["no json", ""], "error": ["", "timeout"]}
    )  # fmt: skip
    answers = mmbench_video.answers("packed", items, responses, "robust")
    assert [answer.error for answer in answers] == ["unreadable"] * 2 + ["timeout"] * 3


def test_packed_answers_beside_questions_about_images(tmp_path: Path) -> None:
    """What was not put to the model in a pack, such as an image's question, has other texts and no answer here."""
    items = read(tmp_path, *FIVE)
    image = items.head(1).with_columns(
        item_id=pl.lit("mmbench/1"),
        clip_id=pl.lit("mmbench-1.still"),
        texts=pl.lit([{"name": "question", "text": "?"}]),
    )
    responses = pl.DataFrame({"clip_id": ["a.whole"], "text": ['{"0": "So.", "1": "Yes."}'], "error": [""]})
    answers = mmbench_video.answers("packed", pl.concat([items, image]), responses, "robust")
    assert {answer.item_id: answer.text for answer in answers} == {"0": "So.", "1": "Yes."}


# --- means -------------------------------------------------------------------------------------------------------


def verdicts(scores: Sequence[float | None], failed: Sequence[int] = ()) -> pl.DataFrame:
    rows = [
        verdict_row("", item_id=str(i), score=score, unparsed=score is None and i not in failed, failed=i in failed)
        for i, score in enumerate(scores)
    ]
    return pl.DataFrame(rows, schema=VERDICTS)


def numbers(
    items: pl.DataFrame, read: pl.DataFrame, form: str = "unpacked", authors: bool = False
) -> dict[Any, Measure]:
    found = mmbench_video.measures(form, items, read, LEVEL, convention="authors" if authors else "fixed")
    return {(one.metric, one.group): one for one in found}


def test_means_by_hand(tmp_path: Path) -> None:
    """Ratings 3, 1, 2, no judgement, 0: question 2 is in FP-S and TR, in both halves, and once in the whole."""
    found = numbers(read(tmp_path, *FIVE), verdicts([3, 1, 2, None, 0]))
    expected = {
        ("mean", "fp_s"): 2.0, ("mean", "tr"): 2.0, ("mean", "hl"): 0.0, ("mean", "lr"): 0.0, ("mean", "cp"): None,
        ("mean", "perception"): 6 / 4, ("mean", "reasoning"): 1.0, ("mean", "overall"): 6 / 5,
        ("valid", "fp_s"): 2.0, ("valid", "hl"): None, ("valid", "perception"): 2.0, ("valid", "overall"): 6 / 4,
        ("original_score", "mmbench_video"): 6 / 5, ("normalized_score", "mmbench_video"): 40.0,
    }  # fmt: skip
    assert {place: found[place].value for place in expected} == pytest.approx(expected, abs=1e-9)
    whole = found["mean", "overall"]
    assert (whole.asked, whole.scored, whole.failed, whole.unparsed) == (5, 4, 0, 1)


@pytest.mark.parametrize(
    ("form", "authors", "valid"),
    [("unpacked", False, 2.0), ("unpacked", True, 6 / 4), ("packed", False, 2.0), ("packed", True, 2.0)],
)
def test_a_failed_answer_in_valid(tmp_path: Path, form: str, authors: bool, valid: float) -> None:
    """The harness judges the failure message of an unpacked answer, so that it stays in VALID; a packed one leaves."""
    found = numbers(read(tmp_path, *FIVE), verdicts([3, 1, 2, None, None], failed=[3]), form, authors)
    assert found["valid", "overall"].value == pytest.approx(valid, abs=1e-9)
    assert found["mean", "overall"].value == pytest.approx(6 / 5, abs=1e-9)
    assert (found["mean", "overall"].failed, found["mean", "overall"].unparsed) == (1, 1)


# --- the data, and the toy release -------------------------------------------------------------------------------


def test_statistics(tmp_path: Path) -> None:
    clips, items = mmbench_video.annotations(release(tmp_path, FIVE), "release", {})
    found = {metric: value for metric, group, value in mmbench_video.statistics(items, clips) if group == "all"}
    assert (found["videos"], found["questions"], found["capabilities"], found["answer_words_mean"]) == (2, 5, 7, 1)
    facts = pl.DataFrame(
        {"clip_id": ["a.whole", "b.whole", "other"], "duration_s": [10.0, 14.0, 99.0], "shots": [1, 4, 9]}
    )  # fmt: skip
    missing = [pl.lit(None).cast(dtype).alias(name) for name, dtype in FACTS.items() if name not in facts.columns]
    of_videos = {m: v for m, _, v in mmbench_video.video_statistics(items, facts.with_columns(missing))}
    assert of_videos == {"duration_s_mean": 12, "duration_s_std": 2, "shots_mean": 2.5, "shots_std": 1.5}


def test_the_toy_release_has_every_ability_and_subtitles(tmp_path: Path) -> None:
    toy.write_release(tmp_path)
    files = list(matching_files(tmp_path, load_spec().release_files).values())
    everything = mmbench_video.annotations(files, "release", {})[1]
    assert set(everything["task"]) == {"Animation", "mmbench", "mmstar", "toy-clips"}
    files = [file for file in files if file.suffix == ".vtt" or file.name == "MMBench-Video.tsv"]
    clips, items = mmbench_video.annotations(files, "release", {})
    leaves = {tag["text"] for tags in items["tags"].to_list() for tag in tags if tag["name"] == "leaf"}
    assert leaves == set(L2_OF) and len(leaves) == 26
    assert clips.height == 24 and len(files) == 13
    assert items["answer"].str.len_chars().min() > 0


def test_the_toy_ratings_are_the_scripts(tmp_path: Path) -> None:
    with Path("resources/demo/mmbench_video_ratings.csv").open(newline="") as stream:
        rows = [(entry["run"], entry["item_id"], int(entry["rating"])) for entry in csv.DictReader(stream)]
    assert rows == toy.known_ratings()
    assert all(overlap(row[4], row[4], "f1") == 1 for row in toy.rows())
