"""Which frames a model sees: every reference's rule as a named pure function, and the plan it gives for a clip.

A rule follows its reference even where that repeats a frame (a clip shorter than the frames asked) or gives fewer or
more frames than asked; the plan's note then says so. Frame counts and times come from the real packet index. A rule
may have a view, which says how its frames are shown.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from inspect import signature
from itertools import pairwise
from typing import Any, NamedTuple

from reprise.core.errors import UserError, unknown
from reprise.media.views import ANOTHER, MIDDLE, NONE, Span, within_clip

GRID = "grid"
BLIND = {"rule": "none"}


class Plan(NamedTuple):
    indices: tuple[int, ...]  # the frames in the order in which they are shown
    times_s: tuple[float, ...]  # the moments of the rule's frames, which a model is told, whatever a view shows at them
    note: str
    grid: tuple[int, int] | None = None  # rows and columns of the one picture as which the frames are shown


class Clip(NamedTuple):
    frames: int
    fps: float
    clip_id: str = ""
    black: Span | None = None  # frame numbers [start, end) of the black span between the parts of a concatenation


class Chosen(NamedTuple):
    indices: list[int]
    note: str = ""


def linspace(clip: Clip, frames: int) -> list[int]:
    """floor of numpy.linspace(0, N-1, n): Vinoground's and TemporalBench's LLaVA-OneVision runners; n=1 is frame 0."""
    if frames == 1:
        return [0]
    step = (clip.frames - 1) / (frames - 1)
    return [int(i * step) for i in range(frames - 1)] + [clip.frames - 1]


def linspace_round(clip: Clip, frames: int) -> list[int]:
    """rint of numpy.linspace(0, N-1, n): Vinoground's MA-LMM runner."""
    if frames == 1:
        return [0]
    step = (clip.frames - 1) / (frames - 1)
    return [round(i * step) for i in range(frames - 1)] + [clip.frames - 1]


def linspace_capped(clip: Clip, frames: int) -> list[int]:
    """linspace of min(n, N) frames: TemporalBench's GPT-4o runner, lmms-eval's read_video."""
    return linspace(clip, min(frames, clip.frames))


def linspace_and_last(clip: Clip, frames: int) -> list[int]:
    """linspace with the last frame appended if it is missing (n=1): lmms-eval's vllm and gpt4v models."""
    chosen = linspace(clip, frames)
    return chosen if clip.frames - 1 in chosen else [*chosen, clip.frames - 1]


def midpoint(clip: Clip, frames: int) -> list[int]:
    """int((i + 0.5) * N / n): the middle of each of n equal parts."""
    return [int((i + 0.5) * clip.frames / frames) for i in range(frames)]


def segment(clip: Clip, frames: int) -> list[int]:
    """int(s/2 + round(s*i)) with s = (N-1)/n: InternVL's, PLLaVA's, VideoChat2's and ShareGPT4Video's segments."""
    size = (clip.frames - 1) / frames
    return [int(size / 2 + round(size * i)) for i in range(frames)]


def segment_center(clip: Clip, frames: int) -> list[int]:
    """round(s*(i+1/2) + 0.000001) with s = (N-1)/n: VideoLLaMA2's processor since August 2024."""
    size = (clip.frames - 1) / frames
    return [round((size * i + size * (i + 1)) / 2 + 1e-6) for i in range(frames)]


def segment_mid(clip: Clip, frames: int) -> list[int]:
    """(round(s*i) + round(s*(i+1))) // 2 with s = (N-1)/n and n at most N: Video-ChatGPT's loader."""
    count = min(frames, clip.frames)
    size = (clip.frames - 1) / count
    return [(round(size * i) + round(size * (i + 1))) // 2 for i in range(count)]


def interior(clip: Clip, frames: int) -> list[int]:
    """int(i*N/(n+1)) for i = 1..n, never an end: VLMEvalKit's frame lists, MMBench-Video's reference harness."""
    step = clip.frames / (frames + 1)
    return [int(i * step) for i in range(1, frames + 1)]


def spaced(clip: Clip, frames: int) -> list[int]:
    """int of arange(0, N, N/n), which rounding can make n+1 long: VLMEvalKit's Video-LLaVA, transformers' Qwen2-VL.

    The frame too many can be number N, on which the references fail; here it is the last frame once more.
    """
    step = clip.frames / frames
    return [min(int(i * step), clip.frames - 1) for i in range(math.ceil(clip.frames / step))]


def stride_head(clip: Clip, frames: int) -> list[int]:
    """range(0, N, max(1, N//n))[:n], which drops the tail: Vinoground's VideoCLIP runner, MiniGPT4-Video's loader."""
    return list(range(0, clip.frames, max(1, clip.frames // frames)))[:frames]


def stride_thinned(clip: Clip, frames: int) -> Chosen:
    """range(0, N, N//n), its midpoints only beyond 64 frames: Vinoground's MiniCPM and Phi (up to 2n-1 frames)."""
    if clip.frames < frames:
        return Chosen([], "the reference's step is 0 for a clip this short: it loses the sample")
    chosen = list(range(0, clip.frames, clip.frames // frames))
    if len(chosen) > 64:
        gap = len(chosen) / 64
        chosen = [chosen[int(i * gap + gap / 2)] for i in range(64)]
    return Chosen(chosen)


def fps_mid(clip: Clip, fps: float) -> list[int]:
    """int(t*round(f)) at the middle t of each 1/fps interval below N/round(f): VELOCITI's runner at fps=1."""
    rate = _whole_rate(clip)
    chosen: list[int] = []
    while (time := (len(chosen) + 0.5) / fps) < clip.frames / rate:
        chosen.append(min(int(time * rate), clip.frames - 1))
    return chosen


def fps_floor(clip: Clip, fps: float) -> list[int]:
    """int(i*f/fps) for i < int(N/f*fps): VLMEvalKit's frames by fps."""
    return [int(i * (clip.fps / fps)) for i in range(int(clip.frames / clip.fps * fps))]


def fps_stride(clip: Clip, fps: float) -> list[int]:
    """range(0, N, round(f)/fps): LLaMA-VID's loader, by which MovieLLM is asked too."""
    return list(range(0, clip.frames, max(1, int(_whole_rate(clip) / fps))))


def velociti_clip(clip: Clip) -> list[int]:
    """round((s+0.25)*f)-1 and round((s+0.75)*f)-1 for s = 0..9: VELOCITI's CLIP frames, first 10 s only."""
    wanted = {round((second + part) * clip.fps) - 1 for second in range(10) for part in (0.25, 0.75)}
    return sorted(index for index in wanted if 0 <= index < clip.frames)


def second_capped(clip: Clip, frames: int) -> list[int]:
    """range(0, N, round(f)), linspace only beyond n frames: LLaVA-NeXT's video demo, VLMEvalKit's LLaVA-OneVision."""
    chosen = fps_stride(clip, 1)
    return chosen if len(chosen) <= frames else linspace(clip, frames)


def second_thinned(clip: Clip, frames: int) -> list[int]:
    """range(0, N, round(f)), linspace over its places beyond n of them: Chat-UniVi's loader."""
    chosen = fps_stride(clip, 1)
    if len(chosen) <= frames:
        return chosen
    return [chosen[place] for place in linspace(Clip(len(chosen), 1.0), frames)]


def qwen(clip: Clip, frames: int) -> Chosen:
    """round(linspace(0, N-1, n)), n even and at most N: qwen_vl_utils `nframes`, capped by VLMEvalKit."""
    even = min(round(frames / 2) * 2, clip.frames // 2 * 2)
    if even < 2:
        return Chosen([], "the reference needs at least two frames: it loses the sample")
    note = f"qwen_vl_utils itself refuses {frames} of {clip.frames} frames" if frames > clip.frames else ""
    return Chosen(linspace_round(clip, even), note)


def qwen_fps(clip: Clip, fps: float) -> Chosen:
    """round(linspace(0, N-1, n)) with n = N/f*fps, even, 4 to 768: qwen_vl_utils `fps`."""
    most = min(768, clip.frames) // 2 * 2
    even = int(min(max(clip.frames / clip.fps * fps, 4), most, clip.frames)) // 2 * 2
    if even < 2:
        return Chosen([], "the reference needs at least two frames: it loses the sample")
    return Chosen(linspace_round(clip, even))


def qwen_capped(clip: Clip, frames: int) -> Chosen:
    """linspace over qwen_vl_utils' 2 fps frames, last one forced: lmms-eval's simple qwen2_vl and qwen2_5_vl."""
    sampled = qwen_fps(clip, 2)
    if not sampled.indices:
        return sampled
    places = sorted(set(linspace_and_last(Clip(len(sampled.indices), 2.0), frames)))
    return Chosen([sampled.indices[place] for place in places])


def black_aware(clip: Clip, frames: int) -> Chosen:
    """(n-1)//2 midpoints of each part and the rest of the black span: Vinoground section 4.2.

    The paper's (n-1)/2 is whole for odd n only: even n gets a second black frame. Below 3 frames the rule is undefined
    (the paper greys these scores out) and linspace stands in. A clip without a black span is sampled by linspace.
    """
    if clip.black is None:
        return Chosen(linspace(clip, frames))
    if frames < 3:
        return Chosen(linspace(clip, frames), "the black-aware rule is undefined below 3 frames: linspace")
    start, end = clip.black
    each = (frames - 1) // 2
    parts = [(0, start, each), (start, end, frames - 2 * each), (end, clip.frames, each)]
    return Chosen([first + int((i + 0.5) * (last - first) / n) for first, last, n in parts for i in range(n)])


def every(clip: Clip) -> list[int]:
    """Every frame."""
    return list(range(clip.frames))


def blind(clip: Clip) -> list[int]:
    """No frame: what a language model makes of the text alone."""
    return []


def random_one(clip: Clip, of: dict[str, Any], seed: int = 0) -> Chosen:
    """One of another rule's frames, drawn per clip id with a hash that is the same on every machine."""
    pool = _choose(of, clip)
    if not pool.indices:
        return pool
    draw = int(sha256(f"{seed}:{clip.clip_id}".encode()).hexdigest()[:15], 16)
    return Chosen([pool.indices[draw % len(pool.indices)]])


_FUNCTIONS: dict[str, Callable[..., list[int] | Chosen]] = {
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
    "all": every,
    "none": blind,
    "random_one": random_one,
}
RULES = {name: frozenset(signature(function).parameters) - {"clip"} for name, function in _FUNCTIONS.items()}
"""rule -> its parameters"""


def description(rule: str) -> str:
    return str(_FUNCTIONS[rule].__doc__).partition("\n")[0]


def plan(
    rule: dict[str, Any], frames: int, times: Sequence[float], clip_id: str = "", black: Span | None = None
) -> Plan:
    """The frames that a named rule shows of a clip with these frame times."""
    if len(times) != frames:
        raise ValueError(f"{frames} frames but {len(times)} times")
    check(rule)
    if rule["rule"] == "none":
        return Plan((), (), "")
    if frames == 0:
        return Plan((), (), "the clip has no frames")
    span = times[-1] - times[0]
    rate = (frames - 1) / span if span > 0 else 1.0  # over the clip's real times; one frame counts as one second
    chosen, grid = _choose(rule, Clip(frames, rate, clip_id, black)), cells_of(rule)
    shown, order = within_clip(rule.get("view", {"show": ""}), chosen.indices, clip_id, black)
    asked, notes = rule.get("frames", len(chosen.indices)), [chosen.note]
    if len(chosen.indices) != asked:
        notes.append(f"{len(chosen.indices)} frames for {asked} asked")
    if any(left == right for left, right in pairwise(chosen.indices)):
        notes.append(f"repeats frames: the clip has {frames}")
    notes += [_pictured(clip_id, chosen, grid), order]
    return Plan(
        tuple(chosen.indices[place] for _, place in shown),
        tuple(times[chosen.indices[moment]] for moment, _ in shown),
        "; ".join(filter(None, notes)),
        grid,
    )


def frames_shown(rule: Mapping[str, Any]) -> int | None:
    """How many frames a rule shows of every clip; None where that depends on the clip."""
    if show_of(rule) == MIDDLE:
        return None  # of a concatenation that of each side, and what is black
    if "frames" in rule:
        return int(rule["frames"])
    return {"none": 0, "random_one": 1}.get(str(rule["rule"]))


def pictures_shown(rule: Mapping[str, Any]) -> int | None:
    """The same in pictures, which a grid has one of, about."""
    return 1 if show_of(rule) in (GRID, MIDDLE) else frames_shown(rule)


def with_view(rule: Mapping[str, Any], view: Mapping[str, Any]) -> dict[str, Any]:
    """A rule whose frames are shown by a view; a UserError where that makes no sense."""
    show, frames = view["show"], frames_shown(rule)
    if "view" in rule:
        raise UserError(f"it has the view '{show_of(rule)}' already, and a sampling has one. Leave one of them out.")
    if show == GRID:
        cells = view["rows"] * view["columns"]
        if frames != cells:
            shown = "a number that depends on the clip" if frames is None else str(frames)
            raise UserError(
                f"a grid of {view['rows']} x {view['columns']} holds {cells} frames, rule '{rule['rule']}' shows "
                f"{shown}."
            )
        return {**rule, "view": dict(view)}
    if frames == 0:
        raise UserError(f"it shows no frame, so that there is none to show '{show}'.")
    if show == NONE:
        return dict(BLIND)
    if frames == 1 and show != ANOTHER:
        raise UserError(f"rule '{rule['rule']}' shows one frame, which is the same '{show}' as planned.")
    return {**rule, "view": dict(view)}


def show_of(rule: Mapping[str, Any]) -> str:
    return str(rule["view"]["show"]) if "view" in rule else ""


def cells_of(rule: Mapping[str, Any]) -> tuple[int, int] | None:
    """Rows and columns of the grid as which a rule's frames are shown; None where each is a picture of its own."""
    return (rule["view"]["rows"], rule["view"]["columns"]) if show_of(rule) == GRID else None


def check(rule: Any) -> None:
    """Raise a UserError that says what is wrong with a rule."""
    if not isinstance(rule, Mapping):
        raise UserError(f"a sampling should be a group of keys, such as {{rule: all}}, found {rule!r}.")
    name = str(rule.get("rule"))
    if name not in RULES:
        raise unknown("sampling rule", name, RULES, "rule")
    given = set(rule) - {"rule", "view"}
    for extra in sorted(given - RULES[name]):
        raise unknown("parameter", extra, RULES[name], f"rule '{name}'")
    for absent in sorted(RULES[name] - given - {"seed"}):
        raise UserError(f"rule '{name}': '{absent}' is missing.")
    if "frames" in rule and not (type(rule["frames"]) is int and rule["frames"] >= 1):
        raise UserError(
            f"rule '{name}': frames must be a whole number of at least 1, found {rule['frames']!r}; for a "
            "blind run use rule 'none'."
        )
    if "fps" in rule and not (type(rule["fps"]) in (int, float) and 0 < rule["fps"] < math.inf):
        raise UserError(f"rule '{name}': fps must be a number above 0, found {rule['fps']!r}.")
    if "seed" in rule and type(rule["seed"]) is not int:
        raise UserError(f"rule '{name}': seed must be a whole number, found {rule['seed']!r}.")
    if "of" in rule:
        try:
            check(rule["of"])
        except UserError as error:
            raise UserError(f"rule '{name}': of: {error}") from None
        if "view" in rule["of"]:
            raise UserError(f"rule '{name}': of: a view is declared in `views:`. Remove it here.")


def _choose(rule: dict[str, Any], clip: Clip) -> Chosen:
    found = _FUNCTIONS[rule["rule"]](clip, **{key: value for key, value in rule.items() if key not in ("rule", "view")})
    return found if isinstance(found, Chosen) else Chosen(found)


def _pictured(clip_id: str, chosen: Chosen, grid: tuple[int, int] | None) -> str:
    """How frames are shown, where not each as a picture of its own."""
    if grid is None or not chosen.indices:
        return ""
    rows, columns = grid
    if len(chosen.indices) > rows * columns:
        raise UserError(
            f"clip '{clip_id}': {len(chosen.indices)} frames do not fit into a grid of {rows} x {columns}. Use a "
            "sampling whose rule never shows more frames than it names."
        )
    return f"all in one picture, {rows} x {columns}"


def _whole_rate(clip: Clip) -> int:
    """The references round the rate; a clip below 0.5 fps would give them a step of 0."""
    return max(1, round(clip.fps))
