"""Scripts and pictures: the same everywhere, with the cuts and deeds that the script says."""

from pathlib import Path

import av
import numpy as np
import pytest
from reprise.core.errors import UserError
from reprise.core.files import value_digest
from synthetic.toyworld.generate import Dice, evaluation_sources, make_script
from synthetic.toyworld.render import render_frame, render_source, render_source_frame, write_video
from synthetic.toyworld.script import FPS, SIZE, is_held_out, to_json
from synthetic.toyworld.sources import load_source_script

GOLDEN_SOURCES = "4d2a76072330f4ebe10c46edc554812e65ea4114c2a39f5283925a8d2a8be988"
GOLDEN_TRAINING = "2351cedab9d4e3e78cfcfb0f3a3dfe0eddc4fbed3b13e923afc08f09ff5c4c37"
GOLDEN_FRAMES = "f6cf86124af128653310d08aba4c98f50788467fc63618277a5c5373e69027e2"


def test_evaluation_scripts_are_the_known_ones() -> None:
    sources = evaluation_sources()
    assert len(sources) == 24 and value_digest([to_json(source) for source in sources]) == GOLDEN_SOURCES
    events = [event for source in sources for script in source.clips().values() for event in script.events]
    assert sum(is_held_out(event.agent, event.action) for event in events) >= 15
    assert value_digest(to_json(make_script(Dice(3, 1), training=True))) == GOLDEN_TRAINING


def test_an_unknown_source_is_a_users_mistake() -> None:
    with pytest.raises(UserError, match="no source 'abc'"):
        load_source_script("abc")


def test_frames_are_the_known_ones() -> None:
    clip = next(iter(evaluation_sources()[0].clips().values()))
    frames = [render_frame(clip, t) for t in (0.5, 3.5, 9.5)]
    assert [frame.shape for frame in frames] == [(SIZE, SIZE, 3)] * 3
    # OpenCV may draw an edge pixel otherwise in another release: the golden picture is a coarse one.
    coarse = [frame.reshape(8, 16, 8, 16, 3).mean((1, 3)).round(-1).astype(int).tolist() for frame in frames]
    assert value_digest(coarse) == GOLDEN_FRAMES


def test_a_video_is_byte_identical_and_shows_the_frames(tmp_path: Path) -> None:
    source = evaluation_sources()[0]
    render_source(source.source_id, tmp_path / "a.mp4")
    write_video(source, tmp_path / "b.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    with av.open(str(tmp_path / "a.mp4")) as container:
        frames = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    assert frames.shape == (40 * FPS, SIZE, SIZE, 3)
    for number in (0, 333, 801):
        ideal = render_source_frame(source, number / FPS).astype(float)
        assert np.abs(frames[number] - ideal).mean() < 4.5
