"""Test every sampling rule against the arithmetic of its reference, the temporal ablations, and edge cases."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from reprise.core.errors import UserError
from reprise.media import sampling
from reprise.media.ablations import DESCRIPTIONS, PlannedClip, Span, assign_mismatched_clips
from reprise.media.decoder import arrange_grid
from reprise.media.sampling import (
    PARAMETERS_BY_RULE,
    FramePlan,
    SampledClip,
    add_transform,
    count_pictures,
    plan_frames,
)

FRAME_COUNTS = [1, 2, 3, 5, 7, 24, 48, 100, 237, 240, 250, 299, 528, 1999]
SELECTED_COUNTS = [1, 2, 3, 4, 7, 8, 16, 31, 32, 64]


def plan_at_constant_rate(rule: dict[str, Any], frame_count: int, fps: float = 24.0, **options: Any) -> FramePlan:
    return plan_frames(rule, frame_count, [number / fps for number in range(frame_count)], **options)


@pytest.mark.parametrize("frame_count", FRAME_COUNTS)
@pytest.mark.parametrize("count", SELECTED_COUNTS)
def test_uniform_rules_equal_numpy(frame_count: int, count: int) -> None:
    clip = SampledClip(frame_count, 24.0)
    assert sampling.linspace(clip, count) == np.linspace(0, frame_count - 1, count, dtype=int).tolist()
    assert sampling.linspace_round(clip, count) == np.rint(np.linspace(0, frame_count - 1, count)).astype(int).tolist()
    capped = np.unique(np.linspace(0, frame_count - 1, min(count, frame_count), dtype=int))
    assert sampling.linspace_capped(clip, count) == capped.tolist()
    reference = np.arange(0, frame_count, frame_count / count).astype(int).clip(max=frame_count - 1)
    assert sampling.spaced(clip, count) == reference.tolist()
    size = float(frame_count - 1) / count
    assert sampling.segment(clip, count) == [int(size / 2 + np.round(size * i)) for i in range(count)]
    step = frame_count / (count + 1)
    assert sampling.interior(clip, count) == [int(i * step) for i in range(1, count + 1)]
    assert sampling.stride_head(clip, count) == list(range(0, frame_count, max(1, frame_count // count)))[:count]


@pytest.mark.parametrize(
    ("frame_count", "fps"), [(240, 24.0), (237, 23.976), (250, 25.0), (299, 29.97), (10, 24.0), (252, 24.0)]
)
def test_velociti_rule(frame_count: int, fps: float) -> None:
    rate = round(fps)
    reference = [int(moment * rate) for moment in np.arange(0.5, frame_count / rate, 1.0)]
    assert list(plan_at_constant_rate({"rule": "fps_mid", "fps": 1}, frame_count, fps).indices) == reference


def chat_univi(frame_count: int, fps: float, max_frames: int) -> list[int]:
    """Return the frames of `_get_rawvideo_dec` in ChatUniVi/eval/model_video_general.py."""
    frames_per_second = list(range(0, frame_count, round(float(fps) / 1)))
    if len(frames_per_second) <= max_frames:
        return frames_per_second
    return [
        frames_per_second[position]
        for position in np.linspace(0, len(frames_per_second) - 1, num=max_frames, dtype=int)
    ]


def video_chatgpt(frame_count: int, max_frames: int) -> list[int]:
    """Return the frames of `load_video` and `get_seq_frames` in video_chatgpt/eval/model_utils.py."""
    count = min(frame_count, max_frames)
    size = float(frame_count - 1) / count
    return [(int(np.round(size * i)) + int(np.round(size * (i + 1)))) // 2 for i in range(count)]


def llava_next_video(frame_count: int, fps: float, max_frames: int) -> list[int]:
    """Return the frames of `load_video` in playground/demo/video_demo.py of LLaVA-NeXT."""
    frames_per_second = list(range(0, frame_count, round(fps)))
    return (
        frames_per_second
        if len(frames_per_second) <= max_frames
        else np.linspace(0, frame_count - 1, max_frames, dtype=int).tolist()
    )


@pytest.mark.parametrize("fps", [12.5, 23.976, 25.0, 29.97, 60.0])
@pytest.mark.parametrize("frame_count", [1, 16, 99, 100, 101, 750, 1999, 9000])
def test_rules_equal_the_loaders_of_the_models(frame_count: int, fps: float) -> None:
    clip = SampledClip(frame_count, fps)
    assert sampling.second_thinned(clip, 64) == chat_univi(frame_count, fps, 64)
    assert sampling.fps_stride(clip, 1) == list(range(0, frame_count, round(fps)))  # LLaMA-VID, MovieLLM
    assert sampling.segment_mid(clip, 100) == video_chatgpt(frame_count, 100)
    assert sampling.second_capped(clip, 32) == llava_next_video(frame_count, fps, 32)
    parts = [((frame_count - 1) / 8 * i + (frame_count - 1) / 8 * (i + 1)) / 2 for i in range(8)]  # VideoLLaMA2
    assert sampling.segment_center(clip, 8) == np.round(np.array(parts) + 1e-6).astype(int).tolist()
    start, size = int((frame_count - 1) / 16 / 2), (frame_count - 1) / 16  # PLLaVA, VideoChat2, ShareGPT4Video
    assert sampling.segment(clip, 16) == [start + int(np.round(size * i)) for i in range(16)]
    interval = max(1, int(frame_count / 90))  # MiniGPT4-Video
    assert sampling.stride_head(clip, 90) == [n for n in range(frame_count) if n % interval == 0][:90]


EVERY_SECOND = tuple(range(0, 240, 24))
EXAMPLES = [
    # rule, frame count of the clip at 24 fps, indices or their count, note
    ({"rule": "fps_mid", "fps": 8}, 24, (1, 4, 7, 10, 13, 16, 19, 22), ""),
    ({"rule": "fps_mid", "fps": 0.5}, 96, (24, 72), ""),
    ({"rule": "fps_mid", "fps": 48}, 2, (0, 0, 1, 1), "repeats frames: the clip has 2"),
    ({"rule": "velociti_clip"}, 58, (5, 17, 29, 41, 53), ""),  # one lower than the counter of the authors' script
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
    ({"rule": "second_capped", "frames": 32}, 240, EVERY_SECOND, "10 frames instead of 32"),  # the number is a maximum
    ({"rule": "second_capped", "frames": 4}, 240, (0, 79, 159, 239), ""),
    ({"rule": "linspace_and_last", "frames": 1}, 10, (0, 9), "2 frames instead of 1"),
    ({"rule": "linspace_and_last", "frames": 3}, 10, (0, 4, 9), ""),
    ({"rule": "midpoint", "frames": 8}, 3, (0, 0, 0, 1, 1, 2, 2, 2), "repeats frames: the clip has 3"),
    ({"rule": "all"}, 5, (0, 1, 2, 3, 4), ""),
    ({"rule": "none"}, 5, (), ""),
    ({"rule": "linspace", "frames": 4}, 0, (), "the clip has no frames"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "frame_count", "indices", "note"), EXAMPLES)
def test_plans_equal_examples_by_hand(
    rule: dict[str, Any], frame_count: int, indices: tuple[int, ...] | int, note: str
) -> None:
    plan = plan_at_constant_rate(rule, frame_count)
    assert plan.note == note
    assert len(plan.indices) == indices if isinstance(indices, int) else plan.indices == indices


@pytest.mark.parametrize("name", sorted(PARAMETERS_BY_RULE))
def test_every_rule_selects_frames_within_the_clip(name: str) -> None:
    values: dict[str, Any] = {"frames": 8, "fps": 1, "of": {"rule": "all"}, "seed": 0}
    rule = {"rule": name} | {parameter: values[parameter] for parameter in PARAMETERS_BY_RULE[name]}
    for frame_count in (1, 2, 25, 240):
        plan = plan_at_constant_rate(rule, frame_count, black=None)
        assert all(0 <= index < frame_count for index in plan.indices) and len(plan.indices) == len(plan.times_s)


@pytest.mark.parametrize("count", [3, 4, 7, 8, 31, 32, 63, 64])
@pytest.mark.parametrize("black", [(240, 288), (72, 120), (24, 72)])
def test_black_aware_shows_both_parts_and_black(count: int, black: tuple[int, int]) -> None:
    start, end = black
    plan = plan_at_constant_rate({"rule": "black_aware", "frames": count}, 528, black=black)
    parts = [sum(n < start for n in plan.indices), sum(start <= n < end for n in plan.indices)]
    assert parts == [(count - 1) // 2, 1 if count % 2 else 2]
    assert len(plan.indices) == count
    assert list(plan.indices) == sorted(plan.indices)


def test_black_aware_below_three_frames_or_without_black_is_linspace() -> None:
    plan, linspace = (
        plan_at_constant_rate({"rule": "black_aware", "frames": 2}, 528, black=BLACK),
        {"rule": "linspace", "frames": 2},
    )
    assert plan.indices == plan_at_constant_rate(linspace, 528).indices and "undefined below 3" in plan.note
    assert plan_at_constant_rate({"rule": "black_aware", "frames": 8}, 240) == plan_at_constant_rate(
        {"rule": "linspace", "frames": 8}, 240
    )
    for count in (2, 4, 8):  # the paper describes a black frame, but the authors' code selects none
        assert not any(
            240 <= n < 288 for n in plan_at_constant_rate({"rule": "linspace", "frames": count}, 528).indices
        )


def test_random_one_is_deterministic_and_differs_between_clips() -> None:
    rule = {"rule": "random_one", "of": {"rule": "fps_mid", "fps": 1}, "seed": 0}
    indices_by_clip = [plan_at_constant_rate(rule, 240, clip_id=f"clip{n}").indices for n in range(200)]
    candidates = plan_at_constant_rate(rule["of"], 240).indices  # type: ignore[arg-type]
    assert indices_by_clip == [plan_at_constant_rate(rule, 240, clip_id=f"clip{n}").indices for n in range(200)]
    assert {index for (index,) in indices_by_clip} == set(candidates)
    assert indices_by_clip[:3] != [
        plan_at_constant_rate(rule | {"seed": 1}, 240, clip_id=f"clip{n}").indices for n in range(3)
    ]


@pytest.mark.parametrize(("rule", "message"), [
    ({"rule": "linspce", "frame_count": 4}, "Did you mean 'linspace'"),
    ({"rule": "linspace", "frame": 4}, "Did you mean 'frames'"),
    ({"rule": "linspace"}, "'frames' is missing"),
    ({"rule": "linspace", "frames": 0}, "use rule 'none'"),
    ({"rule": "fps_mid", "fps": -1}, "above 0"),
])  # fmt: skip
def test_mistakes_in_a_rule_are_named(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_at_constant_rate(rule, 10)


GRID = {"show": "grid", "rows": 4, "columns": 4}


def test_a_grid_keeps_the_frames_and_the_plan_notes_it() -> None:
    rule = {"rule": "interior", "frames": 16}
    plain_plan, grid_plan = plan_at_constant_rate(rule, 240), plan_at_constant_rate(add_transform(rule, GRID), 240)
    assert plain_plan.grid is None and plain_plan.note == ""
    assert grid_plan == plain_plan._replace(grid=(4, 4), note="all in one picture, 4 x 4")
    short_plan = plan_at_constant_rate(add_transform({"rule": "linspace_capped", "frames": 16}, GRID), 10)
    assert len(short_plan.indices) == 10 and short_plan.note == "10 frames instead of 16; all in one picture, 4 x 4"
    assert (count_pictures(add_transform(rule, GRID)), count_pictures(rule)) == (1, 16)
    with pytest.raises(UserError, match="clip 'a.b': 20 frames do not fit into a grid of 4 x 4"):
        plan_at_constant_rate(add_transform({"rule": "stride_thinned", "frames": 16}, GRID), 20, clip_id="a.b")


def test_the_frames_of_a_grid_are_in_reading_order_without_gaps() -> None:
    picture = arrange_grid(np.stack([np.full((16, 24, 3), number, np.uint8) for number in range(5)]), 2, 3)
    cells = [picture[row : row + 16, column : column + 24] for row in (0, 16) for column in (0, 24, 48)]
    assert picture.shape == (32, 72, 3)
    assert [set(cell.flat) for cell in cells] == [{0}, {1}, {2}, {3}, {4}, {255}], "a cell without a frame is white"


FPS = 24
BLACK = (240, 288)
TRANSFORM_BY_NAME: dict[str, dict[str, Any]] = {transform: {"show": transform, "seed": 0} for transform in DESCRIPTIONS}


def plan_with_transform(
    rule: dict[str, Any], transform: str, frame_count: int, black: Span | None, clip_id: str = "u.c"
) -> FramePlan:
    return plan_at_constant_rate(
        add_transform(rule, TRANSFORM_BY_NAME[transform]) if transform else rule,
        frame_count,
        black=black,
        clip_id=clip_id,
    )


LINSPACE_4 = {"rule": "linspace", "frames": 4}
BLACK_AWARE_8 = {"rule": "black_aware", "frames": 8}
EACH_SIDE_NOTE = ", each side of the black span separately"
ABLATION_EXAMPLES = [
    # The plan for a clip of 10 frames is 0, 3, 6, 9.
    (LINSPACE_4, 10, None, "middle", [(6, 6)], "the middle frame only"),
    (LINSPACE_4, 10, None, "first_repeated", [(0, 0), (3, 0), (6, 0), (9, 0)], "the first frame at every timestamp"),
    (LINSPACE_4, 10, None, "reversed", [(0, 9), (3, 6), (6, 3), (9, 0)], "in reverse order"),
    (LINSPACE_4, 10, None, "mismatched", [(0, 0), (3, 3), (6, 6), (9, 9)], ""),  # the stage replaces the frames with those of another clip
    # The plan for 528 frames with black from 240 to 287 is 40, 120, 200 | 252, 276 | 328, 408, 488.
    (BLACK_AWARE_8, 528, BLACK, "middle", [(120, 120), (252, 252), (276, 276), (408, 408)], f"the middle frame only{EACH_SIDE_NOTE}"),
    (BLACK_AWARE_8, 528, BLACK, "first_repeated", [(40, 40), (120, 40), (200, 40), (252, 252), (276, 276), (328, 328), (408, 328), (488, 328)], f"the first frame at every timestamp{EACH_SIDE_NOTE}"),
    (BLACK_AWARE_8, 528, BLACK, "reversed", [(40, 200), (120, 120), (200, 40), (252, 252), (276, 276), (328, 488), (408, 408), (488, 328)], f"in reverse order{EACH_SIDE_NOTE}"),
    # The plan is 0, 175 | no black frame | 351, 527.
    (LINSPACE_4, 528, BLACK, "reversed", [(0, 175), (175, 0), (351, 527), (527, 351)], f"in reverse order{EACH_SIDE_NOTE}"),
    (LINSPACE_4, 528, BLACK, "shuffled", [(0, 175), (175, 0), (351, 527), (527, 351)], f"in shuffled order, drawn per clip{EACH_SIDE_NOTE}"),
    # The plan has one frame on each side.
    ({"rule": "linspace", "frames": 2}, 528, BLACK, "reversed", [(0, 0), (527, 527)], f"in reverse order{EACH_SIDE_NOTE}: same frames as planned"),
    # One clip repeats its only frame four times, and another has no planned frames.
    (LINSPACE_4, 1, None, "shuffled", [(0, 0)] * 4, "repeats frames: the clip has 1; in shuffled order, drawn per clip: same frames as planned"),
    (LINSPACE_4, 0, None, "reversed", [], "the clip has no frames"),
    ({"rule": "qwen", "frames": 4}, 1, None, "first", [], "the reference needs at least two frames: it loses the sample; 0 frames instead of 4"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "frame_count", "black", "transform", "expected_frames", "note"), ABLATION_EXAMPLES)
def test_frames_and_timestamps_of_ablations(
    rule: dict[str, Any],
    frame_count: int,
    black: Span | None,
    transform: str,
    expected_frames: list[tuple[int, int]],
    note: str,
) -> None:
    plan = plan_with_transform(rule, transform, frame_count, black)
    assert [
        (round(moment * FPS), index) for moment, index in zip(plan.times_s, plan.indices, strict=True)
    ] == expected_frames
    assert plan.note == note


def find_side(index: int, black: Span | None) -> int:
    return 0 if black is None else (index >= black[1]) - (index < black[0])


SHUFFLED_RULES = [
    {"rule": "linspace", "frames": 2},
    {"rule": "linspace", "frames": 8},
    {"rule": "fps_mid", "fps": 4},
    BLACK_AWARE_8,
]


@pytest.mark.parametrize("rule", SHUFFLED_RULES, ids=str)
@pytest.mark.parametrize(("frame_count", "black"), [(2, None), (3, None), (25, None), (528, BLACK), (300, (24, 72))])
def test_a_shuffle_keeps_frames_sides_and_moments(rule: dict[str, Any], frame_count: int, black: Span | None) -> None:
    """For every rule, length and clip, the order differs from the planned one if another order exists."""
    planned = plan_with_transform(rule, "", frame_count, black)
    for number in range(8):
        shuffled = plan_with_transform(rule, "shuffled", frame_count, black, f"unit{number}.clip")
        assert shuffled.times_s == planned.times_s and Counter(shuffled.indices) == Counter(planned.indices)
        assert [find_side(index, black) for index in shuffled.indices] == [
            find_side(index, black) for index in planned.indices
        ]
        for part in (-1, 0, 1):
            planned_part, shuffled_part = (
                [index for index in plan.indices if find_side(index, black) == part] for plan in (planned, shuffled)
            )
            is_black = black is not None and part == 0
            has_one_order = is_black or len(set(planned_part)) < 2
            assert (planned_part == shuffled_part) == has_one_order, "each side is shuffled separately"


def test_a_shuffle_depends_only_on_its_seed_and_the_clip() -> None:
    rule, times = {"rule": "linspace", "frames": 8}, [number / FPS for number in range(80)]
    first_plan, second_plan = (
        plan_frames(add_transform(rule, {"show": "shuffled", "seed": seed}), 80, times, "u.c") for seed in (0, 1)
    )
    assert first_plan.indices == (33, 45, 79, 11, 0, 56, 22, 67) != second_plan.indices


@pytest.mark.parametrize(("rule", "transform", "message"), [
    ({"rule": "none"}, "shuffled", "it selects no frames, so 'shuffled' does not apply."),
    ({"rule": "linspace", "frames": 1}, "first", "rule 'linspace' selects one frame, which 'first' does not change"),
    (add_transform(LINSPACE_4, TRANSFORM_BY_NAME["first"]), "reversed", "it already has the transform 'first', and a sampling can have one only."),
    ({"rule": "interior", "frames": 8}, "grid", "a grid of 4 x 4 holds 16 frames, but rule 'interior' selects 8."),
    ({"rule": "fps_mid", "fps": 1}, "grid", "holds 16 frames, but rule 'fps_mid' selects a number that depends on the clip."),
    ({"rule": "none"}, "grid", "a grid of 4 x 4 holds 16 frames, but rule 'none' selects 0."),
])  # fmt: skip
def test_incompatible_transforms_are_rejected(rule: dict[str, Any], transform: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        add_transform(rule, TRANSFORM_BY_NAME.get(transform, GRID))


def make_clips(cluster_count: int, clips_per_cluster: int = 2) -> list[PlannedClip]:
    positions = [(cluster, part) for cluster in range(cluster_count) for part in range(clips_per_cluster)]
    return [
        PlannedClip(f"u{cluster}.{part}", f"u{cluster}", f"sha {cluster} {part}", False, (0, 1, 2, 3))
        for cluster, part in positions
    ]


def test_mismatched_clips_are_of_other_clusters_and_used_evenly() -> None:
    replacements = assign_mismatched_clips(make_clips(50), 0)
    assert len(replacements) == 100
    assert all(replacement.cluster != name.partition(".")[0] for name, replacement in replacements.items())
    assert max(Counter(replacement.clip_id for replacement in replacements.values()).values()) <= 3
    assert (
        replacements
        == assign_mismatched_clips(reversed(make_clips(50)), 0)
        != assign_mismatched_clips(make_clips(50), 1)
    )


def test_a_missing_clip_changes_only_the_clips_that_it_replaced() -> None:
    replacements, missing_id = assign_mismatched_clips(make_clips(50), 0), "u7.0"
    replacements_without_clip = assign_mismatched_clips(
        [clip for clip in make_clips(50) if clip.clip_id != missing_id], 0
    )
    changed = {name for name, replacement in replacements_without_clip.items() if replacement != replacements[name]}
    assert changed == {
        name
        for name, replacement in replacements.items()
        if replacement.clip_id == missing_id and name in replacements_without_clip
    }


def test_unsuitable_clips_are_never_mismatched_clips() -> None:
    """Clips with equal bytes, concatenations for plain clips, and clips of the same cluster are unsuitable."""
    concatenations = [
        PlannedClip(f"{name}.j", name, name, is_concatenation=True, indices=(1, 2, 3, 4)) for name in "ab"
    ]
    duplicate = PlannedClip("x.y", "x", "sha 0 0", is_concatenation=False, indices=(0, 1, 2, 3))
    clip_without_frames = PlannedClip("lost.all", "lost", "lost", is_concatenation=False, indices=())
    replacements = assign_mismatched_clips(
        [*concatenations, *make_clips(1, 1), duplicate, clip_without_frames, *make_clips(3)[4:]], 0
    )
    assert (replacements["a.j"].clip_id, replacements["b.j"].clip_id) == ("b.j", "a.j")
    assert replacements["x.y"].cluster == replacements["u0.0"].cluster == "u2"
    assert "lost.all" not in replacements, "a clip without planned frames has no replacement"
    with pytest.raises(UserError, match=r"clip 'u0\.\d': no clip of another cluster can replace its frames"):
        assign_mismatched_clips(make_clips(1), 0)
