"""Test MMBench-Video: release, prompts, packed answers, and means by hand."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.mmbench_video.answers import split_as_authors, split_robustly
from reprise.benchmarks.prompts import FRAME_COUNT_MARKER
from reprise.benchmarks.registry import load_answers
from reprise.core.errors import UserError
from reprise.core.schemas import VERDICTS
from reprise.media.subtitles import read_vtt

from tests.unit.benchmarks.releases import mmbench_release, question_row
from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.rows import verdict_row

mmbench_video = BenchmarkPipeline("mmbench_video")


def read_items(folder: Path, *rows: Sequence[str]) -> pl.DataFrame:
    return mmbench_video.annotations(mmbench_release(folder, rows))[1]


FIVE_ROWS = (
    question_row("0", "a", "['OCR']"),
    question_row("1", "a", "['Object Recognition', 'Counting']"),
    question_row("2", "b", "['Event Recognition', 'Causal Reasoning']"),
    question_row("3", "b", "['Hallucination']"),
    question_row("4", "b", '["Mathematical Calculation"]'),
)


VTT = """WEBVTT
Kind: captions

00:00:01.000 --> 00:00:02.500 align:start
<c>hello</c> there

00:00:02.500 --> 00:00:04.000
hello there
general

01:00:04.000 --> 01:00:05.000

"""


def test_each_line_of_rolling_subtitles_is_in_the_prompt_once(tmp_path: Path) -> None:
    path = tmp_path / "a.vtt"
    path.write_text(VTT)
    assert [tuple(cue) for cue in read_vtt(path)] == [(1.0, 2.5, "hello there"), (2.5, 4.0, "general")]
    _, items = mmbench_video.annotations([*mmbench_release(tmp_path, FIVE_ROWS), path])
    with_subtitles, without_subtitles = (
        [request["system"] for request in mmbench_video.requests(items, "packed", name)]
        for name in ("packed.subtitles", "packed")
    )
    assert "Subtitle: {\n    '1.0' - '2.5': hello there,\n    '2.5' - '4.0': general\n}" in with_subtitles[0]
    assert "Subtitle" not in without_subtitles[0] and with_subtitles[1] == without_subtitles[1]
    assert ["subtitled" in groups for groups in items["groups"].to_list()] == [True, True, False, False, False]
    path.write_text("WEBVTT\n\n00:00.000 --> 00:01.000\n<c>said</c> " + "<" * 2_000_000)
    assert read_vtt(path)[0].text.startswith("said"), (
        "the search for tags is linear; a quadratic one would take minutes"
    )
    path.write_text("1\n00:01,000 --> 00:02,000\nsrt\n")
    with pytest.raises(UserError, match="does not begin with WEBVTT"):
        read_vtt(path)
    path.write_bytes(b"WEBVTT\n\n\xff\n")
    with pytest.raises(UserError, match="not readable as subtitles"):
        read_vtt(path)


def test_packed_has_one_request_per_video_and_unpacked_one_per_question(tmp_path: Path) -> None:
    """The harness escapes non-ASCII characters, and the paper does not."""
    items = read_items(tmp_path, *FIVE_ROWS[:4], question_row("7", "b", "['OCR']", "Où est l’horloge?"))
    packed, authors = (mmbench_video.requests(items, "packed", prompt) for prompt in ("packed", "packed.authors"))
    assert [request["clip_id"] for request in packed] == ["a.whole", "b.whole"]
    assert packed[1]["prompt"] == 'Question Set: {"2": "What?", "3": "What?", "7": "Où est l’horloge?"}'
    assert authors[1]["prompt"].endswith('"7": "O\\u00f9 est l\\u2019horloge?"}\nAnswers: \n')
    assert f"provided with {FRAME_COUNT_MARKER} separate frames" in packed[0]["system"]
    unpacked = mmbench_video.requests(items, "unpacked", "unpacked.authors")
    assert len(unpacked) == 5
    assert (unpacked[0]["prompt"], unpacked[0]["expected"]) == ("Question: What?\nAnswer: ", "That.")


BOTH_ANSWERS = {"7": "red", "8": "two"}


@pytest.mark.parametrize(("text", "authors", "robust"), [
    ('{"7": "red", "8": "two"}', BOTH_ANSWERS, BOTH_ANSWERS),
    ('```json\n{"7": "red", "8": "two"}\n```', BOTH_ANSWERS, BOTH_ANSWERS),
    ('{"7": "red"}', {"7": "red"}, {"7": "red"}),
    ('{"7": null, "8": "two"}', {"8": "two"}, {"8": "two"}),
    ('{"7": 3, "8": ["a", "b"]}', {"7": "3", "8": '["a", "b"]'}, {"7": "3", "8": '["a", "b"]'}),
    ("{'7': 'red', '8': 'it: two'}", {"7": "red', '8"}, {"7": "red", "8": "it: two"}),  # the harness splits by lines
    ("{\n'7': 'red',\n'8': 'it: two',\n}", {"7": "red", "8": "it"}, {"7": "red", "8": "it: two"}),
    ('{"I1": "red", "I2": "two"}', {}, BOTH_ANSWERS),
    ('{"7": "red"} and {"8": "two"}', {}, BOTH_ANSWERS),
    ('{"9": "red"}', {}, {}),
    ("red and two", {}, {}),
    ("", {}, {}),
    ('{"7": "red", "8": "tw', {"7": 'red", "8'}, {"7": "red"}),
])  # fmt: skip
def test_packed_answers_are_split_by_both_extractors(
    text: str, authors: dict[str, str], robust: dict[str, str]
) -> None:
    assert split_as_authors(text, ["7", "8"]) == authors
    assert split_robustly(text, ["7", "8"]) == robust


def test_a_packed_answer_is_split_and_an_unreadable_one_fails_all_questions(tmp_path: Path) -> None:
    """A question that is never packed, such as one about an image, has other texts and gets no answer."""
    items = read_items(tmp_path, *FIVE_ROWS, question_row("5", "c", "['OCR']"))
    texts = pl.lit([{"name": "question", "text": "?"}])
    image_question = items.head(1).with_columns(
        item_id=pl.lit("mmbench/1"), clip_id=pl.lit("mmbench-1.still"), texts=texts
    )
    response_by_clip = {"a.whole": ("no json", ""), "b.whole": ("", "timeout"), "c.whole": ('{"5": "So."}', "")}
    responses = pl.DataFrame(
        [{"clip_id": clip, "text": text, "error": error} for clip, (text, error) in response_by_clip.items()]
    )
    answers = load_answers("mmbench_video")["packed"](pl.concat([items, image_question]), responses, "robust")
    assert [answer.error for answer in answers] == ["unreadable"] * 2 + ["timeout"] * 3 + [""]
    assert (answers[-1].item_id, answers[-1].text) == ("5", "So.")


def make_verdicts(scores: Sequence[float | None], failed: Sequence[int] = ()) -> pl.DataFrame:
    states = [{"unparsed": score is None and i not in failed, "failed": i in failed} for i, score in enumerate(scores)]
    rows = [verdict_row(f"{i}#", score=score, **states[i]) for i, score in enumerate(scores)]
    return pl.DataFrame(rows, schema=VERDICTS)


def test_mean_ratings_by_hand(tmp_path: Path) -> None:
    """The ratings are 3, 1, 2, unparsed, 0; question 2 counts in FP-S and TR, in both halves, and once overall."""
    items = read_items(tmp_path, *FIVE_ROWS)
    measures = mmbench_video.numbers("unpacked", items, make_verdicts([3, 1, 2, None, 0]))
    expected = {
        ("mean", "fp_s"): 2.0, ("mean", "tr"): 2.0, ("mean", "hl"): 0.0, ("mean", "lr"): 0.0, ("mean", "cp"): None,
        ("mean", "perception"): 6 / 4, ("mean", "reasoning"): 1.0, ("mean", "overall"): 6 / 5,
        ("valid", "fp_s"): 2.0, ("valid", "hl"): None, ("valid", "perception"): 2.0, ("valid", "overall"): 6 / 4,
        ("original_score", "mmbench_video"): 6 / 5, ("normalized_score", "mmbench_video"): 40.0,
    }  # fmt: skip
    assert {key: measures[key].value for key in expected} == pytest.approx(expected, abs=1e-9)
    overall = measures["mean", "overall"]
    assert (overall.requested, overall.scored, overall.failed, overall.unparsed) == (5, 4, 0, 1)
    for rating in (3, 0, 2):
        measures = mmbench_video.numbers("unpacked", items, make_verdicts([rating] * 5))
        assert {
            measure.value for (metric, _), measure in measures.items() if metric == "mean" and measure.requested
        } == {float(rating)}


@pytest.mark.parametrize(("form", "fixed", "authors"), [("unpacked", 2.0, 6 / 4), ("packed", 2.0, 2.0)])
def test_only_failed_answers_to_unpacked_questions_count_in_valid(
    tmp_path: Path, form: str, fixed: float, authors: float
) -> None:
    """The harness judges the failure message of an unpacked answer, so it stays in VALID; packed answers are excluded."""
    items, verdicts = read_items(tmp_path, *FIVE_ROWS), make_verdicts([3, 1, 2, None, None], failed=[3])
    fixed_measures, authors_measures = (
        mmbench_video.numbers(form, items, verdicts, convention) for convention in ("fixed", "authors")
    )
    assert (fixed_measures["valid", "overall"].value, authors_measures["valid", "overall"].value) == pytest.approx(
        (fixed, authors), abs=1e-9
    )
    overall = fixed_measures["mean", "overall"]
    assert (overall.value, overall.failed, overall.unparsed) == (pytest.approx(6 / 5, abs=1e-9), 1, 1)
