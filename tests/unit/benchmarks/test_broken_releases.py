"""A release that cannot be read is refused, by its file and row, entry or column."""

from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError

from tests.unit.benchmarks import releases as r
from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import QUESTION_COLUMNS

PAIR, LINK = r.pair_row(0), r.clip_name(0)
SAMPLE = ["control", "v_abcdefghi01_seg_10_20", "Ev1", "p", "n"]
WITHOUT = {"idx": "1", "video_name": "v.mp4", "question": "q", "GT": "A"}
FIRST, COLUMNS = r.question_row("0", "a", "['OCR']"), list(QUESTION_COLUMNS)
RELEASES = {
    "vinoground": r.vinoground_release, "temporalbench": r.temporalbench_release, "velociti": r.velociti_release,
    "mmbench_video": r.mmbench_release,
}  # fmt: skip


@pytest.mark.parametrize(("benchmark", "made", "clips", "message"), [
    ("vinoground", {"rows": [PAIR, PAIR]}, "ids", "vinoground.csv: row 2: index '0' is that of row 1 already"),
    ("vinoground", {"rows": [[" ", *PAIR[1:]]]}, "ids", "row 1: 'index' is empty"),
    ("vinoground", {"rows": [r.pair_row(0, pos_vid="short")]}, "ids", "expected a YouTube id of 11 characters"),
    ("vinoground", {"rows": [r.pair_row(0, neg_end="1:x")]}, "ids", "video 'bbbbbbbbbbb': '1:x' is not a time; expected seconds or [h:]m:s."),
    ("vinoground", {"rows": [r.pair_row(0, pos_start="11")]}, "ids", "its start 11 s is not before its end 10 s"),
    ("vinoground", {"rows": [PAIR], "text": [r.pair_entry("9_pos", "A")]}, "ids", "entry 1: idx '9_pos' is not <index>_pos or <index>_neg of the table's pairs"),
    ("vinoground", {"rows": [PAIR], "text": [r.pair_entry("0_pos", one) for one in "AB"]}, "ids", "entry 2: idx '0_pos' is that of entry 1 already"),
    ("vinoground", {"rows": [PAIR], "text": [{"idx": "0_pos", "GT": "A"}]}, "ids", "column 'video_name' is missing. Found: idx, GT."),
    ("temporalbench", {"short": [WITHOUT | {"category": "Others"}]}, "release", "short_qa.json: column 'dataset' is missing"),
    ("temporalbench", {"short": [WITHOUT | {"dataset": "Oops"}]}, "release", "short_qa.json: column 'category' is missing"),
    ("temporalbench", {"short": [r.question(LINK, 0), r.question(LINK, 0, "B")]}, "release", f"short_qa.json: entry 2: idx '{LINK}_0' is that of entry 1"),
    ("temporalbench", {"short": [r.question("short_video/Oops/", 1)]}, "release", "entry 1: video_name 'short_video/Oops/' names no video"),
    ("temporalbench", {"short": [r.question("short_video/Oops/fall.mp4", 0)]}, "ids", "does not end in _start_<s>_end_<s>"),
    ("velociti", {"rows": [["control", " ", "Ev1", "p", "n"]]}, "ids", "rows.csv: row 1: 'video_id' is empty"),
    ("velociti", {"rows": [SAMPLE, SAMPLE]}, "ids", "rows.csv: row 2: the same as row 1"),
    ("velociti", {"rows": [SAMPLE[:-1]], "columns": r.SAMPLE_COLUMNS[:-1]}, "ids", "rows.csv: column 'neg' is missing. Found: test_name"),
    ("velociti", {"rows": [["control", "tt0111161", "Ev1", "p", "n"]]}, "ids", "VELOCITI release: video_id 'tt0111161' is not a VidSitu id"),
    ("mmbench_video", {"rows": [FIRST, FIRST]}, "release", "MMBench-Video.tsv: row 2: index '0' is that of row 1 already"),
    ("mmbench_video", {"rows": [r.question_row("0", " ", "['OCR']")]}, "release", "MMBench-Video.tsv: row 1: 'video' is empty"),
    ("mmbench_video", {"rows": [FIRST], "columns": [*COLUMNS[:5], "dims", "path"]}, "release", "column 'dimensions' is missing. Found: index"),
    ("mmbench_video", {"rows": [FIRST]}, "ids", "Use `clips: release`"),
])  # fmt: skip
def test_a_broken_release_is_refused_by_its_place(
    tmp_path: Path, benchmark: str, made: Any, clips: str, message: str
) -> None:
    files = RELEASES[benchmark](tmp_path, **made)
    with pytest.raises(UserError) as error:
        Whole(benchmark).annotations(files, clips)
    assert message in str(error.value)


def test_what_a_release_lacks_or_has_twice_by_choice(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected one file named \*short_caption\*, found 0"):
        Whole("temporalbench").annotations(r.temporalbench_release(tmp_path)[:2])
    with pytest.raises(UserError, match="Vinoground has no subset"):
        Whole("vinoground").annotations(r.vinoground_release(tmp_path, [PAIR]), "ids", {"subset": {"file": "x.csv"}})
    files = r.velociti_release(tmp_path, [SAMPLE, SAMPLE])
    _, items = Whole("velociti").annotations(files, "ids", {"duplicate_rows": "keep"})
    assert items["item_id"].to_list() == [f"control/{SAMPLE[1]}/Ev1/{n}" for n in (1, 2)]
