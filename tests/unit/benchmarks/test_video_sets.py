"""Other sets of videos by manifest: their questions, numbers and statistics never mix with MMBench-Video's own."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.mmbench_video.release import COLUMNS
from reprise.benchmarks.rows import chosen_items
from reprise.core.errors import UserError
from reprise.core.schemas import FACTS, VERDICTS

from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import verdict_row

mmbench_video = Whole("mmbench_video")

LEVEL = 0.95
MANIFEST = """video,question,answer,capability,scoring
one.avi,Who acts?,a man,Who,0 to 3
one.avi,What does he do?,he runs away,What,0 to 3
two.avi,Who acts?,a dog,Who,0 to 3
"""


@pytest.fixture
def release(tmp_path: Path) -> list[Path]:
    columns = "\t".join(COLUMNS)
    row = "\t".join(["0", "v", "News", "What is it?", "It is that.", "['OCR']", "v.mp4"])
    (tmp_path / "MMBench-Video.tsv").write_text(f"{columns}\n{row}\n")
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "msvd.csv").write_text(MANIFEST)
    return [tmp_path / "MMBench-Video.tsv", tmp_path / "sets" / "msvd.csv"]


def test_a_manifest_gives_clips_and_questions(release: list[Path]) -> None:
    clips, items = mmbench_video.annotations(release, "release", {})
    assert clips.filter(pl.col("unit") != "v").select("clip_id", "kind", "source_id").rows() == [
        ("msvd-one.avi.whole", "whole", "release:sets/msvd.csv#one.avi"),
        ("msvd-two.avi.whole", "whole", "release:sets/msvd.csv#two.avi"),
    ]
    assert chosen_items(items, "sets")["item_id"].to_list() == ["msvd/1", "msvd/2", "msvd/3"]
    assert chosen_items(items, "mmbench_video")["item_id"].to_list() == ["0"]


def test_statistics_of_each_set_apart(release: list[Path]) -> None:
    """Questions of 2, 4 and 2 words: mean 8/3, deviation sqrt(24/3 - (8/3)^2); videos of 4 and 8 s."""
    clips, items = mmbench_video.annotations(release, "release", {})
    facts = pl.DataFrame(
        {"clip_id": ["v.whole", "msvd-one.avi.whole", "msvd-two.avi.whole"], "duration_s": [60.0, 4.0, 8.0], "shots": [9, 1, 2]}
    )  # fmt: skip
    missing = [pl.lit(None).cast(dtype).alias(name) for name, dtype in FACTS.items() if name not in facts.columns]
    numbers = mmbench_video.statistics(items, clips)
    numbers += mmbench_video.video_statistics(items, facts.with_columns(missing))
    found = {(metric, group): value for metric, group, value in numbers}
    assert found["question_words_mean", "msvd"] == pytest.approx(8 / 3)
    assert found["question_words_std", "msvd"] == pytest.approx((24 / 3 - (8 / 3) ** 2) ** 0.5)
    assert (found["videos", "msvd"], found["questions", "msvd"], found["capabilities", "msvd"]) == (2, 3, 2)
    assert (found["duration_s_mean", "msvd"], found["shots_mean", "msvd"]) == (6, 1.5)
    assert (found["videos", "all"], found["questions", "all"], found["duration_s_mean", "all"]) == (1, 1, 60)


def test_ratings_by_set(release: list[Path]) -> None:
    """Ratings 3, 0 and 1 are 4/3 of 3, or 44.4 of 100; no ability's mean is given."""
    items = chosen_items(mmbench_video.annotations(release, "release", {})[1], "sets")
    rows = [
        verdict_row("", item_id=f"msvd/{i}", role="unpacked", score=score)
        for i, score in enumerate((3.0, 0.0, 1.0), start=1)
    ]
    verdicts = pl.DataFrame(rows, schema=VERDICTS)
    found = mmbench_video.measures("unpacked", items, verdicts, LEVEL)
    assert [(one.metric, one.group, one.value) for one in found] == [
        ("original_score", "msvd", pytest.approx(4 / 3)),
        ("normalized_score", "msvd", pytest.approx(400 / 9)),
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("overall", MANIFEST, "'overall' cannot be the name of a set of videos"),
        ("My Set", MANIFEST, "'My Set' cannot be the name of a set of videos"),
        ("ok", "video,question\na.mp4,Who?\n", "ok.csv: column 'answer' is missing. Found: video, question"),
        ("ok", "video,question,answer\na.mp4,,him\n", "ok.csv: row 1: 'question' is empty"),
    ],
)
def test_a_broken_manifest_is_refused(release: list[Path], name: str, text: str, message: str) -> None:
    path = release[1].with_name(f"{name}.csv")
    path.write_text(text)
    with pytest.raises(UserError, match="sets") as error:
        mmbench_video.annotations([release[0], path], "release", {})
    assert message in str(error.value)
