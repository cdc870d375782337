"""Select the frames that a model receives, by the sampling rules of reference implementations.

A rule follows its reference even if the reference repeats frames, or selects fewer or more frames than requested. The
plan's note reports such deviations. Frame counts and times come from the clip's packet index. A rule may have a
transform: an image grid, or a temporal ablation of its frames.

A rule's docstring begins with its formula, and names the code that it reproduces. N is the number of frames of the
clip, f its frame rate, and n the parameter `frames`; frames are numbered from 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from inspect import signature
from itertools import pairwise
from typing import Any, NamedTuple

from reprise.core.errors import UserError, unknown_name_error
from reprise.media.ablations import (
    FIRST,
    FRAME,
    LAST,
    MIDDLE,
    MISMATCHED,
    MISMATCHED_FRAME,
    NONE,
    PROBE_ABLATIONS,
    Span,
    place_frames,
)

GRID = "grid"
NO_FRAMES_RULE = {"rule": "none"}
# Transforms that keep one frame, or one frame of each part of a concatenation.
SINGLE_FRAME_KINDS = (FIRST, MIDDLE, LAST, FRAME, MISMATCHED_FRAME)


class FramePlan(NamedTuple):
    """The frames of a clip that a model receives, and their timestamps."""

    indices: tuple[int, ...]  # the frames in the order in which the model receives them
    times_s: tuple[float, ...]  # timestamps of the rule's frames, which the model also receives in an ablation
    note: str
    grid: tuple[int, int] | None = None  # rows and columns, if the frames are combined into one image grid


class SampledClip(NamedTuple):
    """The properties of a clip on which sampling rules depend."""

    frame_count: int
    fps: float
    clip_id: str = ""
    black: Span | None = None  # frame numbers [start, end) of the black span between the parts of a concatenation


class Selection(NamedTuple):
    """The frames that a rule selects, with a note on deviations from the request."""

    indices: list[int]
    note: str = ""


def linspace(clip: SampledClip, frames: int) -> list[int]:
    """floor of numpy.linspace(0, N-1, n): Vinoground's and TemporalBench's LLaVA-OneVision runners; n=1 is frame 0."""
    if frames == 1:
        return [0]
    step = (clip.frame_count - 1) / (frames - 1)
    return [int(i * step) for i in range(frames - 1)] + [clip.frame_count - 1]


def linspace_round(clip: SampledClip, frames: int) -> list[int]:
    """rint of numpy.linspace(0, N-1, n): Vinoground's MA-LMM runner."""
    if frames == 1:
        return [0]
    step = (clip.frame_count - 1) / (frames - 1)
    return [round(i * step) for i in range(frames - 1)] + [clip.frame_count - 1]


def linspace_capped(clip: SampledClip, frames: int) -> list[int]:
    """linspace of min(n, N) frames: TemporalBench's GPT-4o runner, lmms-eval's read_video."""
    return linspace(clip, min(frames, clip.frame_count))


def linspace_and_last(clip: SampledClip, frames: int) -> list[int]:
    """linspace with the last frame appended if it is missing (n=1): lmms-eval's vllm and gpt4v models."""
    indices = linspace(clip, frames)
    return indices if clip.frame_count - 1 in indices else [*indices, clip.frame_count - 1]


def midpoint(clip: SampledClip, frames: int) -> list[int]:
    """int((i + 0.5) * N / n): the middle of each of n equal parts."""
    return [int((i + 0.5) * clip.frame_count / frames) for i in range(frames)]


def segment(clip: SampledClip, frames: int) -> list[int]:
    """int(s/2 + round(s*i)) with s = (N-1)/n: InternVL's, PLLaVA's, VideoChat2's and ShareGPT4Video's segments."""
    size = (clip.frame_count - 1) / frames
    return [int(size / 2 + round(size * i)) for i in range(frames)]


def segment_center(clip: SampledClip, frames: int) -> list[int]:
    """round(s*(i+1/2) + 0.000001) with s = (N-1)/n: VideoLLaMA2's processor since August 2024."""
    size = (clip.frame_count - 1) / frames
    return [round((size * i + size * (i + 1)) / 2 + 1e-6) for i in range(frames)]


def segment_mid(clip: SampledClip, frames: int) -> list[int]:
    """(round(s*i) + round(s*(i+1))) // 2 with s = (N-1)/n and n at most N: Video-ChatGPT's loader."""
    count = min(frames, clip.frame_count)
    size = (clip.frame_count - 1) / count
    return [(round(size * i) + round(size * (i + 1))) // 2 for i in range(count)]


def interior(clip: SampledClip, frames: int) -> list[int]:
    """int(i*N/(n+1)) for i = 1..n, never an end: VLMEvalKit's frame lists, MMBench-Video's reference harness."""
    step = clip.frame_count / (frames + 1)
    return [int(i * step) for i in range(1, frames + 1)]


def spaced(clip: SampledClip, frames: int) -> list[int]:
    """int of arange(0, N, N/n), which rounding can make n+1 long: VLMEvalKit's Video-LLaVA, transformers' Qwen2-VL.

    The extra frame can be number N, on which the references fail; here the last frame is repeated instead.
    """
    step = clip.frame_count / frames
    return [min(int(i * step), clip.frame_count - 1) for i in range(math.ceil(clip.frame_count / step))]


def stride_head(clip: SampledClip, frames: int) -> list[int]:
    """range(0, N, max(1, N//n))[:n], which drops the tail: Vinoground's VideoCLIP runner, MiniGPT4-Video's loader."""
    return list(range(0, clip.frame_count, max(1, clip.frame_count // frames)))[:frames]


def stride_thinned(clip: SampledClip, frames: int) -> Selection:
    """range(0, N, N//n), reduced to 64 midpoints if longer: Vinoground's MiniCPM and Phi (up to 2n-1 frames)."""
    if clip.frame_count < frames:
        return Selection([], "the reference's step is 0 for a clip this short: it loses the sample")
    indices = list(range(0, clip.frame_count, clip.frame_count // frames))
    if len(indices) > 64:
        gap = len(indices) / 64
        indices = [indices[int(i * gap + gap / 2)] for i in range(64)]
    return Selection(indices)


def fps_mid(clip: SampledClip, fps: float) -> list[int]:
    """int(t*round(f)) at the middle t of each 1/fps interval below N/round(f): VELOCITI's runner at fps=1."""
    rate = _rounded_rate(clip)
    indices: list[int] = []
    while (time := (len(indices) + 0.5) / fps) < clip.frame_count / rate:
        indices.append(min(int(time * rate), clip.frame_count - 1))
    return indices


def fps_floor(clip: SampledClip, fps: float) -> list[int]:
    """int(i*f/fps) for i < int(N/f*fps): VLMEvalKit's frames by fps."""
    return [int(i * (clip.fps / fps)) for i in range(int(clip.frame_count / clip.fps * fps))]


def fps_stride(clip: SampledClip, fps: float) -> list[int]:
    """range(0, N, round(f)/fps): LLaMA-VID's loader, also used for MovieLLM."""
    return list(range(0, clip.frame_count, max(1, int(_rounded_rate(clip) / fps))))


def velociti_clip(clip: SampledClip) -> list[int]:
    """round((s+0.25)*f)-1 and round((s+0.75)*f)-1 for s = 0..9: VELOCITI's CLIP frames, first 10 s only."""
    candidates = {round((second + quarter) * clip.fps) - 1 for second in range(10) for quarter in (0.25, 0.75)}
    return sorted(index for index in candidates if 0 <= index < clip.frame_count)


def second_capped(clip: SampledClip, frames: int) -> list[int]:
    """range(0, N, round(f)), or linspace if longer than n: LLaVA-NeXT's video demo, VLMEvalKit's LLaVA-OneVision."""
    indices = fps_stride(clip, 1)
    return indices if len(indices) <= frames else linspace(clip, frames)


def second_thinned(clip: SampledClip, frames: int) -> list[int]:
    """range(0, N, round(f)), reduced by linspace if longer than n: Chat-UniVi's loader."""
    indices = fps_stride(clip, 1)
    if len(indices) <= frames:
        return indices
    return [indices[position] for position in linspace(SampledClip(len(indices), 1.0), frames)]


def qwen(clip: SampledClip, frames: int) -> Selection:
    """round(linspace(0, N-1, n)), n even and at most N: qwen_vl_utils `nframes`, capped by VLMEvalKit."""
    count = min(round(frames / 2) * 2, clip.frame_count // 2 * 2)
    if count < 2:
        return Selection([], "the reference needs at least two frames: it loses the sample")
    note = f"qwen_vl_utils itself refuses {frames} of {clip.frame_count} frames" if frames > clip.frame_count else ""
    return Selection(linspace_round(clip, count), note)


def qwen_fps(clip: SampledClip, fps: float) -> Selection:
    """round(linspace(0, N-1, n)) with n = N/f*fps, even, 4 to 768: qwen_vl_utils `fps`."""
    max_count = min(768, clip.frame_count) // 2 * 2
    count = int(min(max(clip.frame_count / clip.fps * fps, 4), max_count, clip.frame_count)) // 2 * 2
    if count < 2:
        return Selection([], "the reference needs at least two frames: it loses the sample")
    return Selection(linspace_round(clip, count))


def qwen_capped(clip: SampledClip, frames: int) -> Selection:
    """linspace over qwen_vl_utils' 2 fps frames, with the last: lmms-eval's simple qwen2_vl and qwen2_5_vl."""
    sampled = qwen_fps(clip, 2)
    if not sampled.indices:
        return sampled
    positions = sorted(set(linspace_and_last(SampledClip(len(sampled.indices), 2.0), frames)))
    return Selection([sampled.indices[position] for position in positions])


def black_aware(clip: SampledClip, frames: int) -> Selection:
    """(n-1)//2 midpoints of each part, and the remaining frames from the black span: Vinoground section 4.2.

    The paper's (n-1)/2 is whole for odd n only: even n gets a second black frame. Below 3 frames the rule is undefined
    (the paper greys these scores out) and linspace replaces it. A clip without a black span is sampled by linspace.
    """
    if clip.black is None:
        return Selection(linspace(clip, frames))
    if frames < 3:
        return Selection(linspace(clip, frames), "the black-aware rule is undefined below 3 frames: linspace")
    black_start, black_end = clip.black
    part_frames = (frames - 1) // 2
    spans = (
        (0, black_start, part_frames),
        (black_start, black_end, frames - 2 * part_frames),
        (black_end, clip.frame_count, part_frames),
    )
    indices: list[int] = []
    for start, end, count in spans:
        indices += [start + int((i + 0.5) * (end - start) / count) for i in range(count)]
    return Selection(indices)


def all_frames(clip: SampledClip) -> list[int]:
    """Every frame."""
    return list(range(clip.frame_count))


def no_frames(clip: SampledClip) -> list[int]:
    """No frames: the model receives the text only."""
    return []


def random_one(clip: SampledClip, of: dict[str, Any], seed: int = 0) -> Selection:
    """One of another rule's frames, drawn per clip id with a hash that is the same on every machine."""
    candidates = _select(of, clip)
    if not candidates.indices:
        return candidates
    random_number = int(sha256(f"{seed}:{clip.clip_id}".encode()).hexdigest()[:15], 16)
    return Selection([candidates.indices[random_number % len(candidates.indices)]])


_FUNCTION_BY_RULE: dict[str, Callable[..., list[int] | Selection]] = {
    "linspace": linspace,
    "linspace_round": linspace_round,
    "linspace_capped": linspace_capped,
    "linspace_and_last": linspace_and_last,
    "midpoint": midpoint,
    "segment": segment,
    "segment_center": segment_center,
    "segment_mid": segment_mid,
    "interior": interior,
    "spaced": spaced,
    "stride_head": stride_head,
    "stride_thinned": stride_thinned,
    "second_capped": second_capped,
    "second_thinned": second_thinned,
    "qwen": qwen,
    "qwen_capped": qwen_capped,
    "qwen_fps": qwen_fps,
    "fps_mid": fps_mid,
    "fps_floor": fps_floor,
    "fps_stride": fps_stride,
    "velociti_clip": velociti_clip,
    "black_aware": black_aware,
    "all": all_frames,
    "none": no_frames,
    "random_one": random_one,
}
PARAMETERS_BY_RULE = {
    name: frozenset(signature(function).parameters) - {"clip"} for name, function in _FUNCTION_BY_RULE.items()
}
"""rule -> names of its parameters; all are required except `seed`"""


def describe_rule(rule: str) -> str:
    """Return the first line of a rule's docstring."""
    return str(_FUNCTION_BY_RULE[rule].__doc__).partition("\n")[0]


def plan_frames(
    rule: Mapping[str, Any], frame_count: int, times: Sequence[float], clip_id: str = "", black: Span | None = None
) -> FramePlan:
    """Return the frames and timestamps that a rule selects for a clip.

    Args:
        rule: The rule with its parameters, and its transform if it has one.
        frame_count: The number of frames of the clip.
        times: The time of each frame in seconds.
        clip_id: The clip's id, which seeds random choices.
        black: Frame numbers [start, end) of the black span of a concatenation.

    Raises:
        UserError: the rule is invalid, or selects more frames than its grid holds.
    """
    if len(times) != frame_count:
        raise ValueError(f"{frame_count} frames but {len(times)} times")
    validate_rule(rule)
    if rule["rule"] == "none":
        return FramePlan((), (), "")
    if frame_count == 0:
        return FramePlan((), (), "the clip has no frames")
    span_s = times[-1] - times[0]
    # The frame rate follows from the clip's times. A single frame lasts one second.
    fps = (frame_count - 1) / span_s if span_s > 0 else 1.0
    selection = _select(rule, SampledClip(frame_count, fps, clip_id, black))
    grid = get_grid_shape(rule)
    placement, ablation_note = place_frames(rule.get("transform", {"show": ""}), selection.indices, clip_id, black)
    notes = [selection.note]
    requested = rule.get("frames", len(selection.indices))
    if len(selection.indices) != requested:
        notes.append(f"{len(selection.indices)} frames instead of {requested}")
    if any(earlier == later for earlier, later in pairwise(selection.indices)):
        notes.append(f"repeats frames: the clip has {frame_count}")
    notes += [_grid_note(clip_id, selection, grid), ablation_note]
    return FramePlan(
        tuple(selection.indices[frame_position] for _, frame_position in placement),
        tuple(times[selection.indices[time_position]] for time_position, _ in placement),
        "; ".join(filter(None, notes)),
        grid,
    )


def count_frames(rule: Mapping[str, Any]) -> int | None:
    """Return the number of frames that a rule selects for every clip, or None if it depends on the clip."""
    if get_transform_kind(rule) in SINGLE_FRAME_KINDS:
        return None  # A concatenation keeps one frame of each part, and the black frames.
    if "frames" in rule:
        return int(rule["frames"])
    return {"none": 0, "random_one": 1}.get(str(rule["rule"]))


def count_pictures(rule: Mapping[str, Any]) -> int | None:
    """Return the approximate number of pictures of every clip; an image grid is one picture."""
    return 1 if get_transform_kind(rule) in (GRID, *SINGLE_FRAME_KINDS) else count_frames(rule)


def add_transform(rule: Mapping[str, Any], transform: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule with a transform.

    Raises:
        UserError: the rule and the transform are incompatible.
    """
    show, frames = transform["show"], count_frames(rule)
    if "transform" in rule:
        raise UserError(
            f"it already has the transform '{get_transform_kind(rule)}', and a sampling can have one only. Remove one."
        )
    if show == GRID:
        cells = transform["rows"] * transform["columns"]
        if frames != cells:
            frame_count = "a number that depends on the clip" if frames is None else str(frames)
            raise UserError(
                f"a grid of {transform['rows']} x {transform['columns']} holds {cells} frames, but rule "
                f"'{rule['rule']}' selects {frame_count}."
            )
        return {**rule, "transform": dict(transform)}
    if frames == 0:
        raise UserError(f"it selects no frames, so '{show}' does not apply.")
    if show == NONE:
        return dict(NO_FRAMES_RULE)
    if frames == 1 and show != MISMATCHED:
        raise UserError(f"rule '{rule['rule']}' selects one frame, which '{show}' does not change.")
    if show in PROBE_ABLATIONS and (frames is None or transform["position"] > frames):
        number = "a number that depends on the clip" if frames is None else frames
        raise UserError(
            f"rule '{rule['rule']}' selects {number} frames, and '{show}' shows frame {transform['position']}."
        )
    return {**rule, "transform": dict(transform)}


def get_transform_kind(rule: Mapping[str, Any]) -> str:
    """Return the name of a rule's transform, or an empty string if it has none."""
    return str(rule["transform"]["show"]) if "transform" in rule else ""


def get_grid_shape(rule: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return rows and columns of a rule's image grid, or None if each frame is a separate picture."""
    return (rule["transform"]["rows"], rule["transform"]["columns"]) if get_transform_kind(rule) == GRID else None


def validate_rule(rule: Any) -> None:
    """Raise a UserError if a rule is invalid."""
    if not isinstance(rule, Mapping):
        raise UserError(f"a sampling should be a group of keys, such as {{rule: all}}, found {rule!r}.")
    name = str(rule.get("rule"))
    if name not in PARAMETERS_BY_RULE:
        raise unknown_name_error("sampling rule", name, PARAMETERS_BY_RULE, "rule")
    parameters = set(rule) - {"rule", "transform"}
    for parameter in sorted(parameters - PARAMETERS_BY_RULE[name]):
        raise unknown_name_error("parameter", parameter, PARAMETERS_BY_RULE[name], f"rule '{name}'")
    for parameter in sorted(PARAMETERS_BY_RULE[name] - parameters - {"seed"}):
        raise UserError(f"rule '{name}': '{parameter}' is missing.")
    if "frames" in rule and not (type(rule["frames"]) is int and rule["frames"] >= 1):
        raise UserError(
            f"rule '{name}': frames must be a whole number of at least 1, found {rule['frames']!r}; for a "
            "text-only run use rule 'none'."
        )
    if "fps" in rule and not (type(rule["fps"]) in (int, float) and 0 < rule["fps"] < math.inf):
        raise UserError(f"rule '{name}': fps must be a number above 0, found {rule['fps']!r}.")
    if "seed" in rule and type(rule["seed"]) is not int:
        raise UserError(f"rule '{name}': seed must be a whole number, found {rule['seed']!r}.")
    if "of" in rule:
        try:
            validate_rule(rule["of"])
        except UserError as error:
            raise UserError(f"rule '{name}': of: {error}") from None
        if "transform" in rule["of"]:
            raise UserError(f"rule '{name}': of: transforms are declared in `transforms:`. Remove it here.")


def _select(rule: Mapping[str, Any], clip: SampledClip) -> Selection:
    """Return the frames that a rule selects, without its transform."""
    selection = _FUNCTION_BY_RULE[rule["rule"]](
        clip, **{key: value for key, value in rule.items() if key not in ("rule", "transform")}
    )
    return selection if isinstance(selection, Selection) else Selection(selection)


def _grid_note(clip_id: str, selection: Selection, grid: tuple[int, int] | None) -> str:
    """Return a note on the image grid of a plan, or an empty string if each frame is a separate picture."""
    if grid is None or not selection.indices:
        return ""
    rows, columns = grid
    if len(selection.indices) > rows * columns:
        raise UserError(
            f"clip '{clip_id}': {len(selection.indices)} frames do not fit into a grid of {rows} x {columns}. Use a "
            "sampling whose rule never selects more frames than its `frames`."
        )
    return f"all in one picture, {rows} x {columns}"


def _rounded_rate(clip: SampledClip) -> int:
    """Return the frame rate rounded to a whole number as the references do, but at least 1 to prevent a step of 0."""
    return max(1, round(clip.fps))
