"""Every rule against its reference's own arithmetic, temporal ablations, and the stated behaviour at the edges."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from reprise.core.errors import UserError
from reprise.media import sampling
from reprise.media.ablations import DESCRIPTIONS, PlannedClip, Span, assign_mismatched_clips
from reprise.media.decoder import arrange_grid
from reprise.media.sampling import RULES, FramePlan, SampledClip, count_pictures, plan, with_transform

LENGTHS = [1, 2, 3, 5, 7, 24, 48, 100, 237, 240, 250, 299, 528, 1999]
COUNTS = [1, 2, 3, 4, 7, 8, 16, 31, 32, 64]


def planned(rule: dict[str, Any], frames: int, fps: float = 24.0, **more: Any) -> FramePlan:
    return plan(rule, frames, [n / fps for n in range(frames)], **more)


@pytest.mark.parametrize("frames", LENGTHS)
@pytest.mark.parametrize("count", COUNTS)
def test_uniform_rules_equal_numpy(frames: int, count: int) -> None:
    clip = SampledClip(frames, 24.0)
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


def chat_univi(frames: int, fps: float, most: int) -> list[int]:
    """Return the frames of `_get_rawvideo_dec` in ChatUniVi/eval/model_video_general.py."""
    every = list(range(0, frames, round(float(fps) / 1)))
    if len(every) <= most:
        return every
    return [every[place] for place in np.linspace(0, len(every) - 1, num=most, dtype=int)]


def video_chatgpt(frames: int, most: int) -> list[int]:
    """Return the frames of `load_video` and `get_seq_frames` in video_chatgpt/eval/model_utils.py."""
    count = min(frames, most)
    size = float(frames - 1) / count
    return [(int(np.round(size * i)) + int(np.round(size * (i + 1)))) // 2 for i in range(count)]


def llava_next_video(frames: int, fps: float, most: int) -> list[int]:
    """Return the frames of `load_video` in playground/demo/video_demo.py of LLaVA-NeXT."""
    every = list(range(0, frames, round(fps)))
    return every if len(every) <= most else np.linspace(0, frames - 1, most, dtype=int).tolist()


@pytest.mark.parametrize("fps", [12.5, 23.976, 25.0, 29.97, 60.0])
@pytest.mark.parametrize("frames", [1, 16, 99, 100, 101, 750, 1999, 9000])
def test_rules_equal_the_loaders_of_their_models(frames: int, fps: float) -> None:
    clip = SampledClip(frames, fps)
    assert sampling.second_thinned(clip, 64) == chat_univi(frames, fps, 64)
    assert sampling.fps_stride(clip, 1) == list(range(0, frames, round(fps)))  # LLaMA-VID, MovieLLM
    assert sampling.segment_mid(clip, 100) == video_chatgpt(frames, 100)
    assert sampling.second_capped(clip, 32) == llava_next_video(frames, fps, 32)
    parts = [((frames - 1) / 8 * i + (frames - 1) / 8 * (i + 1)) / 2 for i in range(8)]  # VideoLLaMA2
    assert sampling.segment_center(clip, 8) == np.round(np.array(parts) + 1e-6).astype(int).tolist()
    start, size = int((frames - 1) / 16 / 2), (frames - 1) / 16  # PLLaVA, VideoChat2, ShareGPT4Video
    assert sampling.segment(clip, 16) == [start + int(np.round(size * i)) for i in range(16)]
    interval = max(1, int(frames / 90))  # MiniGPT4-Video
    assert sampling.stride_head(clip, 90) == [n for n in range(frames) if n % interval == 0][:90]


SECOND = tuple(range(0, 240, 24))
EXAMPLES = [
    # rule, frames of the clip at 24 a second, indices or how many, note
    ({"rule": "fps_mid", "fps": 8}, 24, (1, 4, 7, 10, 13, 16, 19, 22), ""),
    ({"rule": "fps_mid", "fps": 0.5}, 96, (24, 72), ""),
    ({"rule": "fps_mid", "fps": 48}, 2, (0, 0, 1, 1), "repeats frames: the clip has 2"),
    ({"rule": "velociti_clip"}, 58, (5, 17, 29, 41, 53), ""),  # one lower than the counter
    ({"rule": "velociti_clip"}, 240, 20, ""),
    ({"rule": "stride_thinned", "frames": 32}, 100, tuple(range(0, 100, 3)), "34 frames instead of 32"),
    ({"rule": "stride_thinned", "frames": 64}, 127, 64, ""),
    ({"rule": "stride_thinned", "frames": 32}, 20, (), "the reference's step is 0 for a clip this short: it loses the sample; 0 frames instead of 32"),
    ({"rule": "qwen", "frames": 4}, 10, (0, 3, 6, 9), ""),
    ({"rule": "qwen", "frames": 32}, 25, 24, "qwen_vl_utils itself refuses 32 of 25 frames; 24 frames instead of 32"),
    ({"rule": "qwen", "frames": 8}, 1, (), "the reference needs at least two frames: it loses the sample; 0 frames instead of 8"),
    ({"rule": "qwen_fps", "fps": 2}, 240, 20, ""),
    ({"rule": "qwen_fps", "fps": 1}, 24, 4, ""),
    ({"rule": "qwen_capped", "frames": 8}, 240, 8, ""),
    ({"rule": "qwen_capped", "frames": 64}, 240, 20, "20 frames instead of 64"),
    ({"rule": "second_capped", "frames": 32}, 240, SECOND, "10 frames instead of 32"),  # a cap and not a count
    ({"rule": "second_capped", "frames": 4}, 240, (0, 79, 159, 239), ""),
    ({"rule": "linspace_and_last", "frames": 1}, 10, (0, 9), "2 frames instead of 1"),
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


@pytest.mark.parametrize("name", sorted(RULES))
def test_no_rule_leaves_the_clip(name: str) -> None:
    values: dict[str, Any] = {"frames": 8, "fps": 1, "of": {"rule": "all"}, "seed": 0}
    rule = {"rule": name} | {key: values[key] for key in RULES[name]}
    for frames in (1, 2, 25, 240):
        found = planned(rule, frames, black=None)
        assert all(0 <= index < frames for index in found.indices) and len(found.indices) == len(found.times_s)


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
    found, plain = planned({"rule": "black_aware", "frames": 2}, 528, black=BLACK), {"rule": "linspace", "frames": 2}
    assert found.indices == planned(plain, 528).indices and "undefined below 3" in found.note
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


@pytest.mark.parametrize(("rule", "message"), [
    ({"rule": "linspce", "frames": 4}, "Did you mean 'linspace'"),
    ({"rule": "linspace", "frame": 4}, "Did you mean 'frames'"),
    ({"rule": "linspace"}, "'frames' is missing"),
    ({"rule": "linspace", "frames": 0}, "use rule 'none'"),
    ({"rule": "fps_mid", "fps": -1}, "above 0"),
])  # fmt: skip
def test_mistakes_in_a_rule(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        planned(rule, 10)


GRID = {"show": "grid", "rows": 4, "columns": 4}


def test_a_grid_shows_the_same_frames_and_the_plan_says_how() -> None:
    rule = {"rule": "interior", "frames": 16}
    alone, transformed = planned(rule, 240), planned(with_transform(rule, GRID), 240)
    assert alone.grid is None and alone.note == ""
    assert transformed == alone._replace(grid=(4, 4), note="all in one picture, 4 x 4")
    short = planned(with_transform({"rule": "linspace_capped", "frames": 16}, GRID), 10)
    assert len(short.indices) == 10 and short.note == "10 frames instead of 16; all in one picture, 4 x 4"
    assert (count_pictures(with_transform(rule, GRID)), count_pictures(rule)) == (1, 16)
    with pytest.raises(UserError, match="clip 'a.b': 20 frames do not fit into a grid of 4 x 4"):
        planned(with_transform({"rule": "stride_thinned", "frames": 16}, GRID), 20, clip_id="a.b")


def test_the_frames_of_a_grid_are_in_reading_order_with_nothing_between_them() -> None:
    picture = arrange_grid(np.stack([np.full((16, 24, 3), number, np.uint8) for number in range(5)]), 2, 3)
    cells = [picture[row : row + 16, column : column + 24] for row in (0, 16) for column in (0, 24, 48)]
    assert picture.shape == (32, 72, 3)
    assert [set(cell.flat) for cell in cells] == [{0}, {1}, {2}, {3}, {4}, {255}], "a cell without a frame is white"


FPS = 24
BLACK = (240, 288)
TRANSFORMS: dict[str, dict[str, Any]] = {show: {"show": show, "seed": 0} for show in DESCRIPTIONS}


def transformed(rule: dict[str, Any], show: str, frames: int, black: Span | None, clip_id: str = "u.c") -> FramePlan:
    return planned(with_transform(rule, TRANSFORMS[show]) if show else rule, frames, black=black, clip_id=clip_id)


FOUR = {"rule": "linspace", "frames": 4}
JOINED = {"rule": "black_aware", "frames": 8}
BY_ITSELF = ", each side of the black span separately"
CASES = [
    # of a clip of 10 frames: 0, 3, 6, 9
    (FOUR, 10, None, "middle", [(6, 6)], "the middle frame only"),
    (FOUR, 10, None, "first", [(0, 0), (3, 0), (6, 0), (9, 0)], "the first frame at every timestamp"),
    (FOUR, 10, None, "reversed", [(0, 9), (3, 6), (6, 3), (9, 0)], "in reverse order"),
    (FOUR, 10, None, "mismatched", [(0, 0), (3, 3), (6, 6), (9, 9)], ""),  # the stage shows the other clip's
    # of 528 frames with black from 240 to 287: 40, 120, 200 | 252, 276 | 328, 408, 488
    (JOINED, 528, BLACK, "middle", [(120, 120), (252, 252), (276, 276), (408, 408)], f"the middle frame only{BY_ITSELF}"),
    (JOINED, 528, BLACK, "first", [(40, 40), (120, 40), (200, 40), (252, 252), (276, 276), (328, 328), (408, 328), (488, 328)], f"the first frame at every timestamp{BY_ITSELF}"),
    (JOINED, 528, BLACK, "reversed", [(40, 200), (120, 120), (200, 40), (252, 252), (276, 276), (328, 488), (408, 408), (488, 328)], f"in reverse order{BY_ITSELF}"),
    # 0, 175 | none in the black | 351, 527
    (FOUR, 528, BLACK, "reversed", [(0, 175), (175, 0), (351, 527), (527, 351)], f"in reverse order{BY_ITSELF}"),
    (FOUR, 528, BLACK, "shuffled", [(0, 175), (175, 0), (351, 527), (527, 351)], f"in shuffled order, drawn per clip{BY_ITSELF}"),
    # one frame on each side
    ({"rule": "linspace", "frames": 2}, 528, BLACK, "reversed", [(0, 0), (527, 527)], f"in reverse order{BY_ITSELF}: same frames as planned"),
    # a clip of one frame, shown four times, and one that loses all its frames
    (FOUR, 1, None, "shuffled", [(0, 0)] * 4, "repeats frames: the clip has 1; in shuffled order, drawn per clip: same frames as planned"),
    (FOUR, 0, None, "reversed", [], "the clip has no frames"),
    ({"rule": "qwen", "frames": 4}, 1, None, "first", [], "the reference needs at least two frames: it loses the sample; 0 frames instead of 4"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "frames", "black", "show", "shown", "note"), CASES)
def test_frames_and_timestamps_of_ablations(
    rule: dict[str, Any], frames: int, black: Span | None, show: str, shown: list[tuple[int, int]], note: str
) -> None:
    found = transformed(rule, show, frames, black)
    assert [(round(moment * FPS), index) for moment, index in zip(found.times_s, found.indices, strict=True)] == shown
    assert found.note == note


def side(index: int, black: Span | None) -> int:
    return 0 if black is None else (index >= black[1]) - (index < black[0])


SHUFFLED = [{"rule": "linspace", "frames": 2}, {"rule": "linspace", "frames": 8}, {"rule": "fps_mid", "fps": 4}, JOINED]


@pytest.mark.parametrize("rule", SHUFFLED, ids=str)
@pytest.mark.parametrize(("frames", "black"), [(2, None), (3, None), (25, None), (528, BLACK), (300, (24, 72))])
def test_a_shuffle_keeps_frames_sides_and_moments(rule: dict[str, Any], frames: int, black: Span | None) -> None:
    """Of every rule, length and clip: never the planned order where there is another one."""
    before = transformed(rule, "", frames, black)
    for number in range(8):
        after = transformed(rule, "shuffled", frames, black, f"unit{number}.clip")
        assert after.times_s == before.times_s and Counter(after.indices) == Counter(before.indices)
        assert [side(index, black) for index in after.indices] == [side(index, black) for index in before.indices]
        for part in (-1, 0, 1):
            one, other = ([n for n in found.indices if side(n, black) == part] for found in (before, after))
            is_black = black is not None and part == 0
            assert (one == other) == (is_black or len(set(one)) < 2), "the order is another on each side by itself"


def test_a_shuffle_is_drawn_by_its_seed_and_the_same_everywhere() -> None:
    rule, times = {"rule": "linspace", "frames": 8}, [number / FPS for number in range(80)]
    one, other = (plan(with_transform(rule, {"show": "shuffled", "seed": seed}), 80, times, "u.c") for seed in (0, 1))
    assert one.indices == (33, 45, 79, 11, 0, 56, 22, 67) != other.indices


@pytest.mark.parametrize(("rule", "show", "message"), [
    ({"rule": "none"}, "shuffled", "it selects no frames, so 'shuffled' does not apply."),
    ({"rule": "linspace", "frames": 1}, "first", "rule 'linspace' selects one frame, which 'first' does not change"),
    (with_transform(FOUR, TRANSFORMS["first"]), "reversed", "it already has the transform 'first', and a sampling can have one only."),
    ({"rule": "interior", "frames": 8}, "grid", "a grid of 4 x 4 holds 16 frames, but rule 'interior' selects 8."),
    ({"rule": "fps_mid", "fps": 1}, "grid", "holds 16 frames, but rule 'fps_mid' selects a number that depends on the clip."),
    ({"rule": "none"}, "grid", "a grid of 4 x 4 holds 16 frames, but rule 'none' selects 0."),
])  # fmt: skip
def test_incompatible_transforms_are_refused(rule: dict[str, Any], show: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        with_transform(rule, TRANSFORMS.get(show, GRID))


def clips(clusters: int, per_cluster: int = 2) -> list[PlannedClip]:
    parts = [(cluster, part) for cluster in range(clusters) for part in range(per_cluster)]
    return [PlannedClip(f"u{name}.{n}", f"u{name}", f"sha {name} {n}", False, (0, 1, 2, 3)) for name, n in parts]


def test_mismatched_clips_are_of_other_clusters_and_used_evenly() -> None:
    found = assign_mismatched_clips(clips(50), 0)
    assert len(found) == 100
    assert all(other.cluster != name.partition(".")[0] for name, other in found.items())
    assert max(Counter(other.clip_id for other in found.values()).values()) <= 3
    assert found == assign_mismatched_clips(reversed(clips(50)), 0) != assign_mismatched_clips(clips(50), 1)


def test_a_missing_clip_changes_only_its_own_replacements() -> None:
    before, gone = assign_mismatched_clips(clips(50), 0), "u7.0"
    after = assign_mismatched_clips([one for one in clips(50) if one.clip_id != gone], 0)
    changed = {name for name, other in after.items() if other != before[name]}
    assert changed == {name for name, other in before.items() if other.clip_id == gone and name in after}


def test_clips_that_cannot_be_mismatched_clips() -> None:
    """Equal bytes, a concatenation for a plain one, and those of the same cluster."""
    joined = [PlannedClip(f"{name}.j", name, name, is_joined=True, indices=(1, 2, 3, 4)) for name in "ab"]
    twin = PlannedClip("x.y", "x", "sha 0 0", is_joined=False, indices=(0, 1, 2, 3))
    lost = PlannedClip("lost.all", "lost", "lost", is_joined=False, indices=())
    found = assign_mismatched_clips([*joined, *clips(1, 1), twin, lost, *clips(3)[4:]], 0)
    assert (found["a.j"].clip_id, found["b.j"].clip_id) == ("b.j", "a.j")
    assert found["x.y"].cluster == found["u0.0"].cluster == "u2"
    assert "lost.all" not in found, "a clip that the rule shows nothing of stays so"
    with pytest.raises(UserError, match=r"clip 'u0\.\d': no clip of another cluster can replace its frames"):
        assign_mismatched_clips(clips(1), 0)
