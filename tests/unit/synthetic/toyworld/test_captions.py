"""Captions of the toy releases: true or false of their clips as they should be, and the words alone tell nothing."""

import csv
import itertools
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
from reprise.benchmarks.vinoground import taxonomy
from synthetic.reviewer import is_true, scripts
from synthetic.toyworld import vinoground
from synthetic.toyworld.generate import Dice, evaluation_stories
from synthetic.toyworld.pairs import TESTS
from synthetic.toyworld.velociti import evaluation_rows

ROWS = evaluation_rows()


def test_captions_of_velociti_are_true_or_false_in_the_way_of_their_test() -> None:
    counts = Counter(row.test_name for row in ROWS)
    assert set(counts) == set(TESTS) and min(counts.values()) >= 120 and len(set(ROWS)) == len(ROWS)
    for row in ROWS:
        script = scripts()[row.video_id]
        assert is_true(row.pos, script) and not is_true(row.neg, script), row
        names = [agent.name for agent in script.agents]
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
    control = [row for row in ROWS if row.test_name == "control"]
    assert Counter(row.pos for row in control) == Counter(row.neg for row in control)


def terms(caption: str) -> Counter[str]:
    """Words and pairs of neighbouring words."""
    words = caption.lower().replace(".", " .").split()
    return Counter([*words, *map(" ".join, itertools.pairwise(words))])


def test_words_alone_are_at_chance() -> None:
    """A linear model on words and word pairs, and 400 pairs that it was not fitted to."""
    pairs = [(terms(ROWS[at].pos), terms(ROWS[at].neg)) for at in Dice(1).shuffled(range(len(ROWS)))]
    vocabulary = sorted({term for pair in pairs for caption in pair for term in caption})
    gap = np.array([[pos[term] - neg[term] for term in vocabulary] for pos, neg in pairs], float)
    new, seen = gap[:400], gap[400:]
    margin = new @ np.linalg.solve(seen.T @ seen + 3.0 * np.eye(len(vocabulary)), seen.sum(0))
    assert abs(np.mean(margin > 0) + 0.5 * np.mean(margin == 0) - 0.5) < 0.1


def test_a_pair_of_vinoground_is_true_of_its_own_videos_in_the_words_of_each_other(tmp_path: Path) -> None:
    """Every category is there, training shows neither video, and both letters are equally often right."""
    vinoground.write_release(tmp_path)
    with (tmp_path / "vinoground.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    counts = Counter(name for row in rows for name in (row["major"], *row["minor"].rstrip(";").split(";")) if name)
    assert set(counts) == {*taxonomy.MAJOR, *taxonomy.MINOR} and min(counts.values()) >= 5
    for row in rows:
        pos, neg = (
            scripts()[f"v_{row[f'{half}_vid']}_seg_{row[f'{half}_start']}_{row[f'{half}_end']}"]
            for half in ("pos", "neg")
        )
        assert is_true(row["pos_cap"], pos) and not is_true(row["pos_cap"], neg), row
        assert is_true(row["neg_cap"], neg) and not is_true(row["neg_cap"], pos), row
        words = [sorted(re.findall(r"\w+", row[f"{half}_cap"].lower())) for half in ("pos", "neg")]
        assert words[0] == words[1] and pos.deeds == neg.deeds
        assert {pos.story_digest(), neg.story_digest()} <= evaluation_stories()
    for kind in ("textscore", "videoscore"):
        found = [one["GT"] for one in json.loads((tmp_path / f"vinoground_{kind}.json").read_text())]
        assert [Counter(half) for half in (found[::2], found[1::2])] == [{"A": 24, "B": 24}] * 2
        assert all(one != other for one, other in zip(found[::2], found[1::2], strict=True))
