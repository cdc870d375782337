"""Test the pictures of frames that the report contains, and the filmstrips on its first page."""

import subprocess
from base64 import b64decode
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image
from reprise.report.filmstrips import describe_answers, read_strip

from tests.unit.report.world import RUN, World, make_run_tables

SHUFFLED_RUN = "velociti/entail/fps1.shuffled/one"
CORRECT, WRONG = (0.9, 0.1), (0.1, 0.9)


@pytest.fixture
def clip(world: World) -> Path:
    """Write two seconds of H.264 that get brighter."""
    path = world.store / "clips/aa/aa.mp4"
    path.parent.mkdir(parents=True)
    source = ("-f", "lavfi", "-i", "color=size=128x96:rate=24:duration=2,geq=lum=4*N:cb=128:cr=128")
    subprocess.run([get_ffmpeg_exe(), "-v", "error", *source, "-pix_fmt", "yuv420p", str(path)], check=True)
    return path


def test_a_strip_has_the_frames_side_by_side(clip: Path) -> None:
    strip = read_strip(clip, [40, 4, 22, 4])
    assert strip is not None and (strip.indices, strip.width, strip.height) == ([4, 22, 40], 160, 120)
    with Image.open(BytesIO(strip.jpeg)) as picture:
        columns = np.asarray(picture.convert("L")).reshape(120, 3, 160).mean(axis=(0, 2))
    assert picture.size == (480, 120)
    assert list(columns) == sorted(columns) and columns[2] - columns[0] > 100
    assert read_strip(clip.with_name("lost.mp4"), [0]) is None


def test_the_first_page_shows_the_planned_frames_above_the_shuffled_ones(world: World, clip: Path) -> None:
    world.runs = {
        RUN: make_run_tables(CORRECT, CORRECT, CORRECT),
        SHUFFLED_RUN: make_run_tables(WRONG, CORRECT, CORRECT),
    }
    world.ablations = {RUN: {"shuffled": SHUFFLED_RUN}}
    times = {"times_s": [0.25, 0.75, 1.25], "note": ""}
    world.plans = [{"clip_id": "c1", "indices": [6, 18, 30], **times}]
    world.plans_by_sampling["fps1.shuffled"] = [{"clip_id": "c1", "indices": [18, 30, 6], **times}]
    world.items[0]["texts"].append({"name": "negative", "text": "A man sleeps."})
    world.build()
    page = world.files()["index.html"].decode()
    assert page.count('<figure class="filmstrip"') == 1
    assert "A man <mark>runs</mark>." in page and "A man <mark>sleeps</mark>." in page
    assert "<strong>Shuffled</strong>: answers <q>pos: No, neg: Yes</q>" in page
    assert "Frames as planned, by number in the planned order: 1, 2, 3" in page
    assert "Frames as shuffled, by number in the planned order: 2, 3, 1" in page
    strip = world.data("velociti/strips/0")
    assert world.data("catalog")["benchmarks"][0]["strips"] == [0] and strip["sampling"] == "fps1"
    with Image.open(BytesIO(b64decode(strip["picture"].partition(",")[2]))) as picture:
        assert picture.size == (3 * strip["width"], strip["height"])
    clip.unlink()
    world.build()
    assert world.data("catalog")["benchmarks"][0]["strips"] == [], "a lost clip has no pictures"


def test_answers_are_on_one_line() -> None:
    right = '{"role":"short","text":"B.","extractions":{"robust":{"value":"B","right":true}}}'
    failed = '{"role":"neg","error":"Timeout"}'
    assert describe_answers(f"[{right}]") == ("B", True)
    assert describe_answers(f"[{right},{failed}]") == ("short: B, neg: Timeout", False)
