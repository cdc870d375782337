"""The toy world's Vinoground: pairs in the authors' layout, each caption true of its own video only."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from reprise.benchmarks.vinoground import taxonomy
from synthetic.toyworld.generate import evaluation_sources, evaluation_stories
from synthetic.toyworld.script import Script, scenes_are_cut
from synthetic.toyworld.sources import load_source_script
from synthetic.toyworld.vinoground import COLUMNS, write_release

from tests.unit.benchmarks.whole import Whole
from tests.unit.synthetic.toyworld.claims import is_true


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vinoground")
    write_release(folder)
    return folder


@pytest.fixture(scope="module")
def rows(release: Path) -> list[dict[str, str]]:
    with (release / "vinoground.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def script_of(row: dict[str, str], half: str) -> Script:
    source = load_source_script(row[f"{half}_vid"])
    return source.clips()[f"v_{source.source_id}_seg_{row[f'{half}_start']}_{row[f'{half}_end']}"]


def scenery_is_true(caption: str, script: Script) -> bool:
    said = {"stripes": "striped", "checker": "checkered", "gradient": "shaded"}
    looks = [f"{said.get(scene.pattern, scene.pattern)} {scene.tone}" for scene in script.scenes]
    first, then = (part.split("background is ")[1].rstrip(".") for part in caption.split(". Then"))
    return looks.index(first) < looks.index(then)


def test_the_real_reader_reads_it(release: Path) -> None:
    clips, items = Whole("vinoground").annotations(sorted(release.iterdir()), "ids", {})
    assert items.height == 4 * 48 and clips.height == 3 * 48
    assert Counter(items["answer"]) == {"A": 96, "B": 96}


def test_every_category_is_there(rows: list[dict[str, str]]) -> None:
    assert tuple(rows[0]) == COLUMNS and len(rows) == 48
    counts = Counter(name for row in rows for name in (row["major"], *row["minor"].rstrip(";").split(";")) if name)
    assert set(counts) == {*taxonomy.MAJOR, *taxonomy.MINOR} and min(counts.values()) >= 5


def test_a_caption_is_true_of_its_own_video_only_and_has_the_words_of_the_other(rows: list[dict[str, str]]) -> None:
    for row in rows:
        holds = scenery_is_true if row["major"] == "viewpoint" else is_true
        for half, other in (("pos", "neg"), ("neg", "pos")):
            assert holds(row[f"{half}_cap"], script_of(row, half)), row
            assert not holds(row[f"{half}_cap"], script_of(row, other)), row
        pos, neg = (sorted(re.findall(r"\w+", row[f"{half}_cap"].lower())) for half in ("pos", "neg"))
        assert pos == neg


def test_the_negative_video_is_an_evaluation_clip_in_another_order(rows: list[dict[str, str]]) -> None:
    known = {source.source_id for source in evaluation_sources()}
    for row in rows:
        assert row["pos_vid"] in known and row["neg_vid"] not in known
        pos, neg = script_of(row, "pos"), script_of(row, "neg")
        assert pos.deeds == neg.deeds and pos != neg and scenes_are_cut(neg.scenes)
        assert {pos.story_digest(), neg.story_digest()} <= evaluation_stories(), "training never shows it"


def test_both_answers_are_equally_often_right_and_positions_say_nothing(release: Path) -> None:
    for kind in ("textscore", "videoscore"):
        found = json.loads((release / f"vinoground_{kind}.json").read_text())
        assert [one["idx"] for one in found] == [f"{index}_{half}" for index in range(48) for half in ("pos", "neg")]
        for half in (found[::2], found[1::2]):
            assert Counter(one["GT"] for one in half) == {"A": 24, "B": 24}
        assert all(one["GT"] != other["GT"] for one, other in zip(found[::2], found[1::2], strict=True))
