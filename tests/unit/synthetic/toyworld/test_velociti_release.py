"""The release: the authors' layout, true and false captions, and nothing in the words that tells them apart."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.pairs import TESTS
from synthetic.toyworld.script import Script
from synthetic.toyworld.velociti import ReleaseRow, evaluation_rows, write_release

from tests.unit.synthetic.toyworld.claims import is_true


@pytest.fixture(scope="module")
def rows() -> list[ReleaseRow]:
    return evaluation_rows()


def test_every_test_has_enough_pairs(rows: list[ReleaseRow]) -> None:
    counts = Counter(row.test_name for row in rows)
    assert set(counts) == set(TESTS)
    assert min(counts.values()) >= 120
    assert len({row.video_id for row in rows}) == 72
    assert len(set(rows)) == len(rows)


def test_captions_are_true_or_false_in_the_way_of_their_test(
    rows: list[ReleaseRow], evaluation_scripts: dict[str, Script]
) -> None:
    for row in rows:
        script = evaluation_scripts[row.video_id]
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


def test_the_controls_captions_are_as_often_true_as_false(rows: list[ReleaseRow]) -> None:
    control = [row for row in rows if row.test_name == "control"]
    assert Counter(row.pos for row in control) == Counter(row.neg for row in control)


def terms(caption: str) -> Counter[str]:
    """Words and pairs of neighbouring words."""
    words = caption.lower().replace(".", " .").split()
    return Counter([*words, *map(" ".join, itertools.pairwise(words))])


def test_words_alone_are_at_chance(rows: list[ReleaseRow]) -> None:
    """A linear model on words and word pairs, and 400 pairs that it was not fitted to."""
    pairs = [(terms(rows[at].pos), terms(rows[at].neg)) for at in Dice(1).shuffled(range(len(rows)))]
    vocabulary = sorted({term for pair in pairs for caption in pair for term in caption})
    gap = np.array([[pos[term] - neg[term] for term in vocabulary] for pos, neg in pairs], float)
    new, seen = gap[:400], gap[400:]
    margin = new @ np.linalg.solve(seen.T @ seen + 3.0 * np.eye(len(vocabulary)), seen.sum(0))
    assert abs(np.mean(margin > 0) + 0.5 * np.mean(margin == 0) - 0.5) < 0.1


def test_two_releases_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_release(tmp_path / name)
    for file in sorted((tmp_path / "a").rglob("*.*")):
        assert file.read_bytes() == (tmp_path / "b" / file.relative_to(tmp_path / "a")).read_bytes()
