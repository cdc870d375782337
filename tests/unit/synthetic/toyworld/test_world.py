"""Test the toy world: deterministic scripts and pictures, true and false captions, and captions without cues."""

import csv
import itertools
import json
import re
from collections import Counter
from pathlib import Path

import av
import numpy as np
import pytest
from reprise.benchmarks.vinoground import taxonomy
from reprise.core.errors import UserError
from reprise.core.files import value_digest
from synthetic.reviewer import is_true, scripts
from synthetic.toyworld import vinoground
from synthetic.toyworld.generate import Dice, evaluation_sources, evaluation_stories, make_script
from synthetic.toyworld.pairs import TESTS
from synthetic.toyworld.render import render_frame, render_source, render_source_frame, write_video
from synthetic.toyworld.script import FPS, SIZE, is_held_out, to_json
from synthetic.toyworld.sources import find_source
from synthetic.toyworld.velociti import evaluation_rows

SOURCES_DIGEST = "39ac5771bd216379bf7ee4ab7006499b29d4bd7bce83a0a2db6f2c65522ce59d"
TRAINING_DIGEST = "2351cedab9d4e3e78cfcfb0f3a3dfe0eddc4fbed3b13e923afc08f09ff5c4c37"
FRAMES_DIGEST = "f6cf86124af128653310d08aba4c98f50788467fc63618277a5c5373e69027e2"


def test_evaluation_scripts_have_the_recorded_digest() -> None:
    sources = evaluation_sources()
    assert len(sources) == 16 and value_digest([to_json(source) for source in sources]) == SOURCES_DIGEST
    events = [event for source in sources for script in source.clips().values() for event in script.events]
    assert sum(is_held_out(event.agent, event.action) for event in events) >= 15
    assert value_digest(to_json(make_script(Dice(3, 1), training=True))) == TRAINING_DIGEST


def test_an_unknown_source_is_a_user_error() -> None:
    with pytest.raises(UserError, match="no source 'abc'"):
        find_source("abc")


def test_frames_have_the_recorded_digest() -> None:
    clip = next(iter(evaluation_sources()[0].clips().values()))
    frames = [render_frame(clip, t) for t in (0.5, 3.5, 9.5)]
    assert [frame.shape for frame in frames] == [(SIZE, SIZE, 3)] * 3
    # Another release of OpenCV may draw an edge pixel differently, so the digest is that of coarse pictures.
    coarse = [frame.reshape(8, 16, 8, 16, 3).mean((1, 3)).round(-1).astype(int).tolist() for frame in frames]
    assert value_digest(coarse) == FRAMES_DIGEST


def test_a_video_is_byte_identical_and_shows_the_frames(tmp_path: Path) -> None:
    source = evaluation_sources()[0]
    render_source(source.source_id, tmp_path / "a.mp4")
    write_video(source, tmp_path / "b.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    with av.open(str(tmp_path / "a.mp4")) as container:
        frames = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    assert frames.shape == (40 * FPS, SIZE, SIZE, 3)
    for number in (0, 333, 801):
        expected = render_source_frame(source, number / FPS).astype(float)
        assert np.abs(frames[number] - expected).mean() < 4.5


# --- captions of the releases ------------------------------------------------------------------------------------------

ROWS = evaluation_rows()


def test_captions_of_velociti_are_true_or_false_in_the_way_of_their_test() -> None:
    counts = Counter(row.test_name for row in ROWS)
    assert set(counts) == set(TESTS) and min(counts.values()) >= 90 and len(set(ROWS)) == len(ROWS)
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
                first, second = row.pos.removeprefix("First, ").split(" Then, ")
                assert row.neg == f"First, {second} Then, {first}"
    control = [row for row in ROWS if row.test_name == "control"]
    assert Counter(row.pos for row in control) == Counter(row.neg for row in control)


def count_terms(caption: str) -> Counter[str]:
    """Count words and pairs of neighbouring words."""
    words = caption.lower().replace(".", " .").split()
    return Counter([*words, *map(" ".join, itertools.pairwise(words))])


def test_captions_alone_are_at_chance() -> None:
    """Fit a linear model on words and word pairs, and test it on 400 other pairs."""
    pairs = [
        (count_terms(ROWS[index].pos), count_terms(ROWS[index].neg)) for index in Dice(1).shuffled(range(len(ROWS)))
    ]
    vocabulary = sorted({term for pair in pairs for caption in pair for term in caption})
    test_rows, training_rows = np.split(
        np.array([[pos[term] - neg[term] for term in vocabulary] for pos, neg in pairs], float), [400]
    )
    weights = np.linalg.solve(training_rows.T @ training_rows + 3.0 * np.eye(len(vocabulary)), training_rows.sum(0))
    margin = test_rows @ weights
    assert abs(np.mean(margin > 0) + 0.5 * np.mean(margin == 0) - 0.5) < 0.1


def test_captions_of_a_vinoground_pair_fit_their_own_videos_and_have_the_same_words(tmp_path: Path) -> None:
    """Every category occurs, training shows neither video, and both letters are equally often the answer."""
    vinoground.write_release(tmp_path)
    rows = list(csv.DictReader((tmp_path / "vinoground.csv").read_text().splitlines()))
    counts = Counter(name for row in rows for name in (row["major"], *row["minor"].rstrip(";").split(";")) if name)
    assert set(counts) == {*taxonomy.MAJOR_CATEGORIES, *taxonomy.MINOR_CATEGORIES} and min(counts.values()) >= 5
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
        answers = [entry["GT"] for entry in json.loads((tmp_path / f"vinoground_{kind}.json").read_text())]
        assert [Counter(half) for half in (answers[::2], answers[1::2])] == [{"A": 12, "B": 12}] * 2
        assert all(first != second for first, second in zip(answers[::2], answers[1::2], strict=True))
