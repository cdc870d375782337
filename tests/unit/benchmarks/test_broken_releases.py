"""Test broken releases: an unreadable one is rejected by file and row; a flawed entry is kept and counted."""

from pathlib import Path
from typing import Any

import pytest
from reprise.benchmarks.annotations import list_flaws
from reprise.core.errors import UserError

from tests.unit.benchmarks import releases
from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.rows import QUESTION_COLUMNS, verdict_row

FIRST_PAIR, CLIP_NAME = releases.pair_row(0), releases.clip_name(0)
SAMPLE = ["control", "v_abcdefghi01_seg_10_20", "Ev1", "p", "n"]
INCOMPLETE_ENTRY = {"idx": "1", "video_name": "v.mp4", "question": "q", "GT": "A"}
FIRST_QUESTION, COLUMNS = releases.question_row("0", "a", "['OCR']"), list(QUESTION_COLUMNS)
WRITER_BY_BENCHMARK: dict[str, Any] = {
    "vinoground": releases.vinoground_release, "temporalbench": releases.temporalbench_release, "velociti": releases.velociti_release,
    "mmbench_video": releases.mmbench_release,
}  # fmt: skip


@pytest.mark.parametrize(("benchmark", "contents", "clips", "message"), [
    ("vinoground", {"rows": [FIRST_PAIR, FIRST_PAIR]}, "ids", "vinoground.csv: row 2: index '0' is also that of row 1"),
    ("vinoground", {"rows": [[" ", *FIRST_PAIR[1:]]]}, "ids", "row 1: 'index' is empty"),
    ("vinoground", {"rows": [releases.pair_row(0, pos_vid="short")]}, "ids", "expected a YouTube id of 11 characters"),
    ("vinoground", {"rows": [releases.pair_row(0, neg_end="1:x")]}, "ids", "video 'bbbbbbbbbbb': '1:x' is not a time; expected seconds or [h:]m:s."),
    ("vinoground", {"rows": [releases.pair_row(0, pos_start="11")]}, "ids", "start 11 s is not before end 10 s"),
    ("vinoground", {"rows": [FIRST_PAIR], "text": [releases.pair_entry("9_pos", "A")]}, "ids", "entry 1: idx '9_pos' is not <index>_pos or <index>_neg of the table's pairs"),
    ("vinoground", {"rows": [FIRST_PAIR], "text": [releases.pair_entry("0_pos", letter) for letter in "AB"]}, "ids", "entry 2: idx '0_pos' is also that of entry 1"),
    ("vinoground", {"rows": [FIRST_PAIR], "text": [{"idx": "0_pos", "GT": "A"}]}, "ids", "column 'video_name' is missing. Found: idx, GT."),
    ("vinoground", {"rows": [releases.pair_row(0, neg_end="inf")]}, "ids", "'inf' is not a time"),
    ("vinoground", {"rows": [releases.pair_row(0, pos_start="x")]}, "files", "video 'aaaaaaaaaaa': 'x' is not a time"),
    ("temporalbench", {"short": [INCOMPLETE_ENTRY | {"category": "Others"}]}, "release", "short_qa.json: column 'dataset' is missing"),
    ("temporalbench", {"short": [INCOMPLETE_ENTRY | {"dataset": "Oops"}]}, "release", "short_qa.json: column 'category' is missing"),
    ("temporalbench", {"short": [releases.question(CLIP_NAME, 0), releases.question(CLIP_NAME, 0, "B")]}, "release", f"short_qa.json: entry 2: idx '{CLIP_NAME}_0' is also that of entry 1"),
    ("temporalbench", {"short": [releases.question("short_video/Oops/", 1)]}, "release", "entry 1: video_name 'short_video/Oops/' is not the name of a video"),
    ("temporalbench", {"short": [releases.question("short_video/Oops/fall.mp4", 0)]}, "ids", "does not end in _start_<s>_end_<s>"),
    ("velociti", {"rows": [["control", " ", "Ev1", "p", "n"]]}, "ids", "rows.csv: row 1: 'video_id' is empty"),
    ("velociti", {"rows": [SAMPLE, SAMPLE]}, "ids", "rows.csv: row 2: duplicate of row 1"),
    ("velociti", {"rows": [SAMPLE[:-1]], "columns": releases.SAMPLE_COLUMNS[:-1]}, "ids", "rows.csv: column 'neg' is missing. Found: test_name"),
    ("velociti", {"rows": [["control", "tt0111161", "Ev1", "p", "n"]]}, "ids", "VELOCITI release: video_id 'tt0111161' is not a VidSitu id"),
    ("mmbench_video", {"rows": [FIRST_QUESTION, FIRST_QUESTION]}, "release", "MMBench-Video.tsv: row 2: index '0' is also that of row 1"),
    ("mmbench_video", {"rows": [releases.question_row("0", " ", "['OCR']")]}, "release", "MMBench-Video.tsv: row 1: 'video' is empty"),
    ("mmbench_video", {"rows": [FIRST_QUESTION], "columns": [*COLUMNS[:5], "dims", "path"]}, "release", "column 'dimensions' is missing. Found: index"),
    ("mmbench_video", {"rows": [FIRST_QUESTION]}, "ids", "Use `clips: release`"),
])  # fmt: skip
def test_a_broken_release_is_rejected_by_file_and_row(
    tmp_path: Path, benchmark: str, contents: Any, clips: str, message: str
) -> None:
    files = WRITER_BY_BENCHMARK[benchmark](tmp_path, **contents)
    with pytest.raises(UserError) as error:
        BenchmarkPipeline(benchmark).annotations(files, clips)
    assert message in str(error.value)


def test_missing_files_unknown_options_and_permitted_duplicates_are_handled(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected one file named \*short_caption\*, found 0"):
        BenchmarkPipeline("temporalbench").annotations(releases.temporalbench_release(tmp_path)[:2])
    with pytest.raises(UserError, match="Vinoground has no subset"):
        BenchmarkPipeline("vinoground").annotations(
            releases.vinoground_release(tmp_path, [FIRST_PAIR]), "ids", {"subset": {"file": "x.csv"}}
        )
    files = releases.velociti_release(tmp_path, [SAMPLE, SAMPLE])
    _, items = BenchmarkPipeline("velociti").annotations(files, "ids", {"duplicate_rows": "keep"})
    assert items["item_id"].to_list() == [f"control/{SAMPLE[1]}/Ev1/{n}" for n in (1, 2)]


FORM_AND_PROMPT = {
    "vinoground": ("questions", "paper"), "temporalbench": ("short", "released"), "velociti": ("entail", "entail"),
    "mmbench_video": ("unpacked", "unpacked"),
}  # fmt: skip
OTHER_PAIR, OTHER_SAMPLE, OTHER_QUESTION = (
    releases.pair_row(1),
    [*SAMPLE[:3], "p2", "n2"],
    releases.question_row("1", "a", "['OCR']"),
)
SECOND_QUESTION = releases.question(CLIP_NAME, 1)
Counts = dict[tuple[str, str], tuple[int, int, float]]


def make_pair_entries(answers: str) -> list[releases.Entry]:
    """Return the released questions about two pairs, with these answers."""
    ids = ("0_pos", "0_neg", "1_pos", "1_neg")
    return [releases.pair_entry(idx, answer) for idx, answer in zip(ids, answers, strict=False)]


@pytest.mark.parametrize(("benchmark", "contents", "flaw", "expected"), [
    ("vinoground", {"rows": [releases.pair_row(0, "acton"), OTHER_PAIR]}, "pair 0: major category 'acton' is not one of object, action, viewpoint; the pair counts in none", {("group", "all"): (2, 0, 100), ("group", "action"): (1, 0, 100)}),
    ("vinoground", {"rows": [releases.pair_row(0, minor="cyclic;"), OTHER_PAIR]}, "pair 0: minor category 'cyclic' is not one of interaction", {("group", "all"): (2, 0, 100)}),
    ("vinoground", {"rows": [releases.pair_row(0, neg_cap=" "), OTHER_PAIR]}, "pair 0: 'neg_cap' is empty: half of the pair is missing", {("text", "all"): (1, 1, 100), ("video", "all"): (1, 1, 100)}),
    ("vinoground", {"rows": [releases.pair_row(0, neg_vid=""), OTHER_PAIR]}, "pair 0: 'neg_vid' is empty: half of the pair is missing", {("group", "all"): (2, 0, 100)}),
    ("vinoground", {"rows": [FIRST_PAIR, OTHER_PAIR], "text": make_pair_entries("ABA")}, "pair 1: textscore: no question '1_neg'; its pair counts as missing", {("text", "all"): (1, 1, 100), ("video", "all"): (2, 0, 100), ("group", "all"): (1, 1, 100)}),
    ("vinoground", {"rows": [FIRST_PAIR, OTHER_PAIR], "text": make_pair_entries("CBAB")}, "pair 0: textscore: ground truth 'C' is neither A nor B, so every response counts as wrong", {("text", "all"): (2, 0, 50), ("video", "all"): (2, 0, 100), ("group", "all"): (2, 0, 50)}),
    ("vinoground", {"rows": [FIRST_PAIR, OTHER_PAIR], "video": make_pair_entries("AABA")}, "pair 0: videoscore: both captions have the ground truth 'A', but only one of them fits that segment", {("video", "all"): (2, 0, 100)}),
    ("temporalbench", {"captions": [releases.caption(CLIP_NAME, " ")]}, f"{CLIP_NAME}: the reference caption is empty", {("ba", "overall"): (1, 0, 100)}),
    ("velociti", {"rows": [["contrl", *SAMPLE[1:]], OTHER_SAMPLE]}, "row 1: unknown test 'contrl'; it counts in no test. Did you mean 'control'?", {("strict", "control"): (1, 0, 100)}),
    ("velociti", {"rows": [[*SAMPLE[:4], " "], OTHER_SAMPLE]}, "row 1: 'neg' is empty, so no request is sent and the item counts as missing", {("strict", "control"): (1, 1, 100)}),
    ("temporalbench", {"short": [SECOND_QUESTION, releases.question(CLIP_NAME, 0, "C")]}, f"{CLIP_NAME}_0: ground truth 'C' is neither A nor B", {("ba", "overall"): (2, 0, 50)}),
    ("temporalbench", {"short": [SECOND_QUESTION, releases.question(CLIP_NAME, 0, category="Telepathy")]}, f"{CLIP_NAME}_0: category 'Telepathy' is not one of Action Order", {("ba", "overall"): (2, 0, 100), ("ba", "action_type"): (1, 0, 100)}),
    ("temporalbench", {"short": [SECOND_QUESTION, releases.question(CLIP_NAME, 0) | {"dataset": "Vimeo"}]}, f"{CLIP_NAME}_0: data set 'Vimeo' is not one of activitynet", {("ba", "overall"): (2, 0, 100), ("ba", "charades"): (1, 0, 100)}),
    ("mmbench_video", {"rows": [releases.question_row("0", "a", "['OCRR']"), OTHER_QUESTION]}, "question 0: dimension 'OCRR' is unknown and counts in no group. Did you mean 'OCR'?", {("mean", "overall"): (2, 0, 3), ("mean", "fp_s"): (1, 0, 3)}),
    ("mmbench_video", {"rows": [releases.question_row("0", "a", "['OCR', 'Telepathy']"), OTHER_QUESTION]}, "question 0: dimension 'Telepathy' is unknown and counts in no group.", {("mean", "fp_s"): (2, 0, 3)}),
    ("mmbench_video", {"rows": [releases.question_row("0", "a", "__import__('os').getcwd()"), OTHER_QUESTION]}, "question 0: dimensions: found \"__import__('os').getcwd()\", expected a list such as ['OCR']; the question counts only in Overall", {("mean", "overall"): (2, 0, 3), ("mean", "perception"): (1, 0, 3)}),
    ("mmbench_video", {"rows": [releases.question_row("0", "a", "['OCR']", question=" "), OTHER_QUESTION]}, "question 0: 'question' is empty, so no request is sent and the item counts as missing", {("mean", "overall"): (1, 1, 3)}),
])  # fmt: skip
def test_a_flawed_entry_is_kept_named_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, benchmark: str, contents: Any, flaw: str, expected: Counts
) -> None:
    """`expected` has requested and missing samples and the value if every answer is correct."""
    pipeline, (form, prompt) = BenchmarkPipeline(benchmark), FORM_AND_PROMPT[benchmark]
    clips, items = pipeline.annotations(
        WRITER_BY_BENCHMARK[benchmark](tmp_path, **contents), "release" if benchmark == "mmbench_video" else "ids"
    )
    assert [line.startswith(flaw) for line in list_flaws(items)] == [True] and flaw.split(": ", 1)[1] in caplog.text
    assert {part for parts in clips["parts"] for part in parts} <= set(clips["clip_id"]), "no clip uses a missing video"
    if benchmark == "temporalbench":
        items = items.filter(task="short")
    requests = pipeline.requests(items, form, prompt)
    verdicts = [verdict_row(request["request_id"], right=request["expected"] != "", score=3.0) for request in requests]
    measures = pipeline.numbers(form, items, verdicts)
    counts = {key: (measures[key].requested, measures[key].missing, measures[key].value) for key in expected}
    assert counts == expected
