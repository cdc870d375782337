"""Every rule against its reference's own arithmetic, and the stated behaviour at the edges."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reprise.core.errors import UserError
from reprise.media import sampling
from reprise.media.decoder import as_grid
from reprise.media.sampling import RULES, Clip, Plan, plan

from tests.unit.videos import barcode_frame, read_barcode

LENGTHS = [1, 2, 3, 5, 7, 24, 48, 100, 237, 240, 250, 299, 528, 1999]
COUNTS = [1, 2, 3, 4, 7, 8, 16, 31, 32, 64]


def planned(rule: dict[str, Any], frames: int, fps: float = 24.0, **more: Any) -> Plan:
    return plan(rule, frames, [n / fps for n in range(frames)], **more)


@pytest.mark.parametrize("frames", LENGTHS)
@pytest.mark.parametrize("count", COUNTS)
def test_uniform_rules_equal_numpy(frames: int, count: int) -> None:
    clip = Clip(frames, 24.0)
    assert sampling.linspace(clip, count) == np.linspace(0, frames - 1, count, dtype=int).tolist()
    assert sampling.linspace_round(clip, count) == np.rint(np.linspace(0, frames - 1, count)).astype(int).tolist()
    capped = np.unique(np.linspace(0, frames - 1, min(count, frames), dtype=int))
    assert sampling.linspace_capped(clip, count) == capped.tolist()
    reference = np.arange(0, frames, frames / count).astype(int).clip(max=frames - 1)
    assert sampling.spaced(clip, count) == reference.tolist()
    size = float(frames - 1) / count
    assert sampling.segment(clip, count) == [int(size / 2 + np.round(size * i)) for i in range(count)]
    step = frames / (count + 1)
    assert sampling.interior(clip, count) == [int(i * step) for i in range(1, count + 1)]
    assert sampling.stride_head(clip, count) == list(range(0, frames, max(1, frames // count)))[:count]


@pytest.mark.parametrize(
    ("frames", "fps"), [(240, 24.0), (237, 23.976), (250, 25.0), (299, 29.97), (10, 24.0), (252, 24.0)]
)
def test_velociti_rule(frames: int, fps: float) -> None:
    rate = round(fps)
    reference = [int(moment * rate) for moment in np.arange(0.5, frames / rate, 1.0)]
    assert list(planned({"rule": "fps_mid", "fps": 1}, frames, fps).indices) == reference


SECOND = tuple(range(0, 240, 24))
EXAMPLES = [
    # rule, frames of the clip at 24 a second, indices or how many, note
    ({"rule": "fps_mid", "fps": 8}, 24, (1, 4, 7, 10, 13, 16, 19, 22), ""),
    ({"rule": "fps_mid", "fps": 0.5}, 96, (24, 72), ""),
    ({"rule": "fps_mid", "fps": 48}, 2, (0, 0, 1, 1), "repeats frames: the clip has 2"),
    ({"rule": "velociti_clip"}, 58, (5, 17, 29, 41, 53), ""),  # one lower than the counter
    ({"rule": "velociti_clip"}, 240, 20, ""),
    ({"rule": "stride_thinned", "frames": 32}, 100, tuple(range(0, 100, 3)), "34 frames for 32 asked"),
    ({"rule": "stride_thinned", "frames": 64}, 127, 64, ""),
    ({"rule": "stride_thinned", "frames": 32}, 20, (), "the reference's step is 0 for a clip this short: it loses the sample; 0 frames for 32 asked"),
    ({"rule": "qwen", "frames": 4}, 10, (0, 3, 6, 9), ""),
    ({"rule": "qwen", "frames": 32}, 25, 24, "qwen_vl_utils itself refuses 32 of 25 frames; 24 frames for 32 asked"),
    ({"rule": "qwen", "frames": 8}, 1, (), "the reference needs at least two frames: it loses the sample; 0 frames for 8 asked"),
    ({"rule": "qwen_fps", "fps": 2}, 240, 20, ""),
    ({"rule": "qwen_fps", "fps": 1}, 24, 4, ""),
    ({"rule": "qwen_capped", "frames": 8}, 240, 8, ""),
    ({"rule": "qwen_capped", "frames": 64}, 240, 20, "20 frames for 64 asked"),
    ({"rule": "second_capped", "frames": 32}, 240, SECOND, "10 frames for 32 asked"),  # a cap and not a count
    ({"rule": "second_capped", "frames": 4}, 240, (0, 79, 159, 239), ""),
    ({"rule": "linspace_and_last", "frames": 1}, 10, (0, 9), "2 frames for 1 asked"),
    ({"rule": "linspace_and_last", "frames": 3}, 10, (0, 4, 9), ""),
    ({"rule": "midpoint", "frames": 8}, 3, (0, 0, 0, 1, 1, 2, 2, 2), "repeats frames: the clip has 3"),
    ({"rule": "all"}, 5, (0, 1, 2, 3, 4), ""),
    ({"rule": "none"}, 5, (), ""),
    ({"rule": "linspace", "frames": 4}, 0, (), "the clip has no frames"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "frames", "indices", "note"), EXAMPLES)
def test_examples_by_hand(rule: dict[str, Any], frames: int, indices: tuple[int, ...] | int, note: str) -> None:
    found = planned(rule, frames)
    assert found.note == note
    assert len(found.indices) == indices if isinstance(indices, int) else found.indices == indices


@pytest.mark.parametrize("count", [3, 4, 7, 8, 31, 32, 63, 64])
@pytest.mark.parametrize("black", [(240, 288), (72, 120), (24, 72)])
def test_black_aware_shows_both_parts_and_black(count: int, black: tuple[int, int]) -> None:
    start, end = black
    found = planned({"rule": "black_aware", "frames": count}, 528, black=black)
    parts = [sum(n < start for n in found.indices), sum(start <= n < end for n in found.indices)]
    assert parts == [(count - 1) // 2, 1 if count % 2 else 2]
    assert len(found.indices) == count
    assert list(found.indices) == sorted(found.indices)


def test_black_aware_below_three_frames_or_without_black_is_linspace() -> None:
    found = planned({"rule": "black_aware", "frames": 2}, 528, black=(240, 288))
    assert (
        found.indices == planned({"rule": "linspace", "frames": 2}, 528).indices and "undefined below 3" in found.note
    )
    assert planned({"rule": "black_aware", "frames": 8}, 240) == planned({"rule": "linspace", "frames": 8}, 240)
    for count in (2, 4, 8):  # where the paper wants a black frame, and its authors' code shows none
        assert not any(240 <= n < 288 for n in planned({"rule": "linspace", "frames": count}, 528).indices)


def test_random_one_is_the_same_everywhere_and_differs_between_clips() -> None:
    rule = {"rule": "random_one", "of": {"rule": "fps_mid", "fps": 1}, "seed": 0}
    drawn = [planned(rule, 240, clip_id=f"clip{n}").indices for n in range(200)]
    pool = planned(rule["of"], 240).indices  # type: ignore[arg-type]
    assert drawn == [planned(rule, 240, clip_id=f"clip{n}").indices for n in range(200)]
    assert {index for (index,) in drawn} == set(pool)
    assert drawn[:3] != [planned(rule | {"seed": 1}, 240, clip_id=f"clip{n}").indices for n in range(3)]


def test_times_are_the_clips_own() -> None:
    times = [0.0, 0.1, 0.5, 2.0]
    assert plan({"rule": "linspace", "frames": 3}, 4, times, "c", None).times_s == (0.0, 0.1, 2.0)


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("frames", [1, 2, 25, 240])
def test_no_rule_leaves_the_clip(name: str, frames: int) -> None:
    values: dict[str, Any] = {"frames": 8, "fps": 1, "of": {"rule": "all"}, "seed": 0}
    rule = {"rule": name} | {key: values[key] for key in RULES[name]}
    found = planned(rule, frames, black=None)
    assert all(0 <= index < frames for index in found.indices)
    assert len(found.indices) == len(found.times_s)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "linspce", "frames": 4}, "Did you mean 'linspace'"),
        ({"rule": "linspace", "frame": 4}, "Did you mean 'frames'"),
        ({"rule": "linspace"}, "'frames' is missing"),
        ({"rule": "linspace", "frames": 0}, "use rule 'none'"),
        ({"rule": "linspace", "frames": True}, "whole number"),
        ({"rule": "fps_mid", "fps": -1}, "above 0"),
        ({"rule": "random_one", "of": {"rule": "nothing"}}, "unknown sampling rule"),
    ],
)
def test_mistakes_in_a_rule(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        planned(rule, 10)


def test_configuration_can_check_rules_without_media_libraries() -> None:
    tree = ast.parse(Path(str(sampling.__file__)).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not modules & {"av", "cv2", "numpy"}
    assert all(map(sampling.description, RULES))


GRID = {"show": "grid", "rows": 4, "columns": 4}


def test_a_grid_shows_the_same_frames_and_the_plan_says_how() -> None:
    rule = {"rule": "interior", "frames": 16}
    alone, viewed = planned(rule, 240), planned(sampling.with_view(rule, GRID), 240)
    assert alone.grid is None and alone.note == ""
    assert viewed == alone._replace(grid=(4, 4), note="all in one picture, 4 x 4")
    short = planned(sampling.with_view({"rule": "linspace_capped", "frames": 16}, GRID), 10)
    assert len(short.indices) == 10 and short.note == "10 frames for 16 asked; all in one picture, 4 x 4"
    assert sampling.frames_shown(sampling.with_view(rule, GRID)) == 16
    assert sampling.pictures_shown(sampling.with_view(rule, GRID)) == 1 and sampling.pictures_shown(rule) == 16


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ({"rule": "interior", "frames": 8}, "'interior' shows 8."),
        ({"rule": "fps_mid", "fps": 1}, "'fps_mid' shows a number that depends on the clip."),
        ({"rule": "none"}, "'none' shows 0."),
    ],
)
def test_a_grid_that_does_not_hold_the_frames_is_refused(rule: dict[str, Any], shown: str) -> None:
    with pytest.raises(UserError) as error:
        sampling.with_view(rule, GRID)
    assert str(error.value) == f"a grid of 4 x 4 holds 16 frames, rule {shown}"


def test_a_rule_that_shows_more_frames_than_it_names_has_no_grid_of_them() -> None:
    rule = sampling.with_view({"rule": "stride_thinned", "frames": 16}, GRID)
    with pytest.raises(UserError, match="clip 'a.b': 20 frames do not fit into a grid of 4 x 4"):
        planned(rule, 20, clip_id="a.b")


def test_frames_are_in_reading_order_with_nothing_between_them() -> None:
    frames = np.stack([barcode_frame(number, 24, 16) for number in range(1, 6)])
    picture = as_grid(frames, 2, 3)
    assert picture.shape == (32, 72, 3) and picture.dtype == np.uint8
    cells = [picture[row : row + 16, column : column + 24] for row in (0, 16) for column in (0, 24, 48)]
    assert [read_barcode(cell) for cell in cells[:5]] == [1, 2, 3, 4, 5]
    assert all(np.array_equal(cell, frame) for cell, frame in zip(cells, frames, strict=False))
    assert (cells[5] == 255).all(), "a cell without a frame is white"
