"""The release: the authors' layout, true and false captions, and nothing in the words that tells them apart."""

import csv
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from synthetic.toyworld.generate import Dice, evaluation_sources, make_script
from synthetic.toyworld.pairs import PAIR_MAKERS, TESTS, Setting
from synthetic.toyworld.script import Script, source_from_json
from synthetic.toyworld.velociti import COLUMNS, ReleaseRow, evaluation_rows, vidsitu_annotations, write_release

from tests.unit.synthetic.toyworld.claims import is_true

SINGLE = [test for test in TESTS if test not in ("coref", "chrono")]


@pytest.fixture(scope="module")
def rows() -> list[ReleaseRow]:
    return evaluation_rows()


def test_every_test_has_enough_pairs(rows: list[ReleaseRow]) -> None:
    counts = Counter(row.test_name for row in rows)
    assert set(counts) == set(TESTS)
    assert min(counts.values()) >= 120
    assert len({row.video_id for row in rows}) == 72
    assert len(set(rows)) == len(rows)


def test_true_captions_are_true_and_false_ones_false(
    rows: list[ReleaseRow], evaluation_scripts: dict[str, Script]
) -> None:
    for row in rows:
        assert is_true(row.pos, evaluation_scripts[row.video_id]), row
        assert not is_true(row.neg, evaluation_scripts[row.video_id]), row


def test_negatives_are_of_the_papers_kinds(rows: list[ReleaseRow], evaluation_scripts: dict[str, Script]) -> None:
    for row in rows:
        names = [agent.name for agent in evaluation_scripts[row.video_id].agents]
        pos, neg = row.pos.split(), row.neg.split()
        match row.test_name:
            case "agent_bind" | "agent_random":
                is_here = " ".join(neg[1:3]) in names
                assert pos[3:] == neg[3:] and is_here == (row.test_name == "agent_bind")
            case "action_adv" | "action_bind":
                assert pos[1:3] == neg[1:3]
            case "action_manner":
                assert pos[:-1] == neg[:-1]
            case "chrono":
                first, then = row.pos.removeprefix("First, ").split(" Then, ")
                assert row.neg == f"First, {then} Then, {first}"


def test_the_controls_captions_are_as_often_true_as_false(rows: list[ReleaseRow]) -> None:
    control = [row for row in rows if row.test_name == "control"]
    assert Counter(row.pos for row in control) == Counter(row.neg for row in control)


def _terms(caption: str) -> list[str]:
    """Words and pairs of neighbouring words."""
    words = caption.lower().replace(".", " .").split()
    return [*words, *map(" ".join, itertools.pairwise(words))]


def _blind_accuracy(pairs: list[tuple[str, str]], held: int) -> float:
    """Share of unseen pairs that a linear model on words and word pairs gets right."""
    found = sorted({term for pair in pairs for caption in pair for term in _terms(caption)})
    vocabulary = {term: number for number, term in enumerate(found)}
    gap = np.zeros((len(pairs), len(vocabulary)))
    for number, pair in enumerate(pairs):
        for sign, caption in zip((1, -1), pair, strict=True):
            for term in _terms(caption):
                gap[number, vocabulary[term]] += sign
    seen, new = gap[held:], gap[:held]
    weights = np.linalg.solve(seen.T @ seen + 3.0 * np.eye(len(vocabulary)), seen.sum(0))
    margin = new @ weights
    return float(np.mean(margin > 0) + 0.5 * np.mean(margin == 0))


def test_words_alone_are_at_chance_in_training() -> None:
    dice = Dice(17)
    scripts = [make_script(dice, True) for _ in range(1700)]
    for test in TESTS:
        settings = [Setting(script, other, True) for script, other in itertools.pairwise(scripts)]
        found = [PAIR_MAKERS[test](setting, dice) for setting in settings]
        pairs = [(pair.pos, pair.neg) for pair in found if pair][:1500]
        assert len(pairs) == 1500
        # 500 unseen pairs: four standard errors are 9 points.
        assert abs(_blind_accuracy(pairs, 500) - 0.5) < 0.09, test


def test_words_alone_are_at_chance_on_the_release(rows: list[ReleaseRow]) -> None:
    pairs = [(row.pos, row.neg) for row in rows]
    order = Dice(1).shuffled(range(len(pairs)))
    assert abs(_blind_accuracy([pairs[i] for i in order], 400) - 0.5) < 0.1


def test_release_layout(tmp_path: Path) -> None:
    write_release(tmp_path)
    table = list(csv.reader((tmp_path / "velociti.csv").open(encoding="utf-8", newline="")))
    assert tuple(table[0]) == COLUMNS == ("test_name", "video_id", "event", "pos", "neg")
    vidsitu = tmp_path / "vidsitu_annotations"
    ids = json.loads((vidsitu / "split_files" / "vseg_split_valid_lb.json").read_text(encoding="utf-8"))
    annotations = json.loads((vidsitu / "vseg_ann_files" / "vsann_valid_lb.json").read_text(encoding="utf-8"))
    assert len(ids) == 72 and {row[1] for row in table[1:]} == set(ids)
    assert {entry["Ev1"]["vid_uid"] for entry in annotations} == set(ids)
    sources = json.loads((tmp_path / "velociti_sources.json").read_text(encoding="utf-8"))
    assert tuple(source_from_json(source) for source in sources) == evaluation_sources()


def test_two_releases_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_release(tmp_path / name)
    for file in sorted((tmp_path / "a").rglob("*.*")):
        assert file.read_bytes() == (tmp_path / "b" / file.relative_to(tmp_path / "a")).read_bytes()


def test_annotations_name_what_happens(evaluation_scripts: dict[str, Script]) -> None:
    for clip, script in evaluation_scripts.items():
        layers = vidsitu_annotations(clip, script)
        named = {
            (event["Args"]["Arg0 (agent)"], event["Args"]["AMnr (manner)"], name)
            for layer in layers
            for name, event in layer.items()
            if "Arg0 (agent)" in event["Args"]
        }
        assert len(named) == len(script.events)
        for layer in layers:
            assert list(layer) == [f"Ev{number}" for number in range(1, 6)]
            for event in layer.values():
                assert {"Verb", "VerbID", "Arg_List", "Args", "EvRel", "vid_uid", "vid_seg_int"} == set(event)
                assert set(event["Arg_List"]) == set(event["Args"])
