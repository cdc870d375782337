"""Build batches of clips and questions, each a function of the seed and the step alone."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from reprise.media.subtitles import format_as_prompt
from synthetic.toyworld.generate import CLIPS_PER_SOURCE, Dice, make_filler_script, training_script
from synthetic.toyworld.image_choice import LETTERS, still_of
from synthetic.toyworld.mmbench_video import build_cues
from synthetic.toyworld.pairs import PairInput
from synthetic.toyworld.poses import pose_at
from synthetic.toyworld.render import Image, render_frame
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, CLIP_SECONDS, SLOT_SECONDS, STRENGTHS, Agent, Script
from transformers import PreTrainedTokenizerFast

from training.benchmark_tasks import (
    BENCHMARKS,
    CENTRAL,
    EXAMPLES,
    JOINED,
    LONG,
    SPARSE,
    SUBTITLED,
    THINKING,
    THINKING_JOINED,
    draw_joined,
)
from training.pictures import PICTURES
from training.prompts import prompts, rendered
from training.tasks import BLIND, DESCRIBE_ONLY, MIX, REASON, Sample, Segment, Task

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
IMAGE_SIZE = 64
QUERIES = 4
TARGETS = 8
STANDS, ABSENT = len(ACTION_NAMES), len(ACTION_NAMES) + 1
NO_LOSS, VERDICT, LETTER, TEXT, STATEMENT = range(5)
JITTER_SECONDS = 0.08
BLACK_SECONDS = 2
MAX_GAP_SLOTS = 3


class Group(NamedTuple):
    """Segments of one padded length: token ids and the kind of loss of each token, both (clips, segments, length)."""

    ids: Ints
    kinds: Ints


@dataclass(frozen=True)
class Batch:
    """Input of a step; `frames` is (clips, frames, height, width, 3), `prefix` the ids that a clip's segments share."""

    kind: str
    frames: Image
    prefix: Ints
    groups: tuple[Group, ...]
    queries: Ints
    targets: Floats = field(repr=False)
    deeds: Ints = field(repr=False)


def camera(script: Script, times: list[float], dice: Dice) -> Image:
    """Render frames at half size, with the small variations of a codec and a camera."""
    gain, offset = dice.between(0.94, 1.06), dice.between(-6, 6)
    table = np.clip(np.arange(256) * gain + offset, 0, 255).astype(np.uint8)
    chroma = dice.chance(0.5)
    images = []
    for time in times:
        image = render_frame(script, time)
        if chroma:
            image = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2YUV_I420), cv2.COLOR_YUV2RGB_I420)
        images.append(cv2.LUT(cv2.resize(image, (IMAGE_SIZE, IMAGE_SIZE), interpolation=cv2.INTER_AREA), table))
    return np.stack(images)


def sample_times(frames: int) -> list[float]:
    """Return evenly spread times, each in the middle of its share of the clip."""
    return [CLIP_SECONDS * (index + 0.5) / frames for index in range(frames)]


def _target(script: Script, agent: Agent, time: float) -> list[float]:
    """Return presence, position, size, rotation and hollowness of one agent at one time."""
    slot = int(time // SLOT_SECONDS)
    for figure in script.figures:
        if figure.slot == slot and figure.agent == agent:
            pose = pose_at(figure, time / SLOT_SECONDS - slot)
            return [
                1.0,
                pose.x,
                pose.y,
                2 * pose.rx,
                2 * pose.ry,
                np.cos(pose.angle),
                np.sin(pose.angle),
                pose.is_hollow,
            ]
    return [0.0] * TARGETS


def _queries(script: Script, times: list[float], dice: Dice) -> tuple[list[list[int]], list[list[list[float]]]]:
    """Query the same agents in every frame: those of the clip, filled up with absent ones."""
    absent = [agent for agent in AGENTS if agent not in script.agents]
    queried = [*script.agents, *dice.sample(absent, QUERIES)][:QUERIES]
    return [[AGENTS.index(agent) for agent in queried]] * len(times), [
        [_target(script, agent, time) for agent in queried] for time in times
    ]


def _deeds(script: Script, queried: list[int]) -> list[list[tuple[int, int]]]:
    """Return the indices of action (or standing, or absence) and strength for every slot and queried agent."""
    deeds = [[(ABSENT, 0)] * len(queried) for _ in range(script.slots)]
    for figure in script.figures:
        index = AGENTS.index(figure.agent)
        if index in queried:
            deed = (
                (ACTION_NAMES.index(figure.action), STRENGTHS.index(figure.strength))
                if figure.is_acting
                else (STANDS, 0)
            )
            deeds[figure.slot][queried.index(index)] = deed
    return deeds


class Encoder:
    """Encodes segments as token ids; the prompt up to the video is the prefix, the rest belongs to the segment."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, video_tokens: int) -> None:
        self._core = tokenizer.backend_tokenizer
        self._video = tokenizer.convert_tokens_to_ids("<video>")
        self._end = tokenizer.convert_tokens_to_ids("<|im_end|>")
        self._pad = tokenizer.pad_token_id
        self._video_tokens = video_tokens
        self._spans = lru_cache(maxsize=50_000)(self._encode)

    def _encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoding = self._core.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def prefix(self, system: str, video_tokens: int) -> list[int]:
        """Return the ids before the first token that depends on the question."""
        ids, _ = self._encode(rendered("", system, video=video_tokens > 0))
        cut = ids.index(self._video) if video_tokens else self._blind_cut(ids)
        return ids[:cut] + [self._video] * video_tokens

    @staticmethod
    def _blind_cut(ids: list[int]) -> int:
        """Return the length of a prefix without video: `<|im_start|>user`; later text may merge with the question."""
        return 2

    def segment(self, segment: Segment, video: bool) -> tuple[list[int], list[int]]:
        """Return the ids after the prefix, and each token's kind of loss as a target."""
        text = rendered(segment.user, segment.system, video)
        ids, offsets = self._spans(text)
        start = ids.index(self._video) + 1 if video else self._blind_cut(ids)
        kinds = [NO_LOSS] * len(ids)
        if segment.true_statement and video:
            low = text.index(segment.true_statement)
            high = low + len(segment.true_statement)
            # The first word is excluded: its blank stands before the statement, and it is unpredictable anyway.
            kinds = [
                STATEMENT if low < token_start and token_end <= high else NO_LOSS for token_start, token_end in offsets
            ]
        answer = [*self._spans(segment.answer)[0], self._end]
        return ids[start:] + answer, kinds[start:] + self._answer_kinds(segment.answer, len(answer))

    @staticmethod
    def _answer_kinds(answer: str, count: int) -> list[int]:
        if answer in ("Yes", "No"):
            return [VERDICT, TEXT]
        if answer in LETTERS:
            return [LETTER, TEXT]
        kinds = [TEXT] * count
        if answer.endswith("<<</output>>>"):
            kinds[-4] = VERDICT
        return kinds

    def group(self, name: str, task: Task, samples: list[Sample], video: bool) -> Group:
        """Encode all segments of a task, padded to its length."""
        shape = (len(samples), task.calls * task.segments, task.length)
        ids, kinds = np.full(shape, self._pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, sample in enumerate(samples):
            segments = [segment for _ in range(task.calls) for segment in task.make(sample)]
            for column, segment in enumerate(segments):
                tokens, token_kinds = self.segment(segment, video)
                if len(tokens) > task.length:
                    raise ValueError(f"task {name}: a segment has {len(tokens)} tokens, {task.length} fit: {segment}")
                ids[row, column, : len(tokens)], kinds[row, column, : len(tokens)] = tokens, token_kinds
        return Group(ids, kinds)


class Content(StrEnum):
    """The content of the samples in a batch."""

    CLIP = "clip"
    STILL = "still"
    JOINED = "two clips and the black between them"
    ROW = "three clips and what is between them in their source"


class Kind(NamedTuple):
    """One kind of batch; `frames` are the possible numbers of frames per clip."""

    tasks: dict[str, Task]
    frames: tuple[int, ...]
    system: str = ""
    content: Content = Content.CLIP
    is_subtitled: bool = False
    clips_share: int = 1
    """divisor of the number of clips, for kinds with many frames per clip"""


def batch_kinds() -> dict[str, Kind]:
    """Return the kinds of batches by name."""
    return {
        "see": Kind({}, (10,)),
        "describe": Kind(DESCRIBE_ONLY, (10,)),
        "mix": Kind(MIX, (10,)),
        "counts": Kind(MIX, (1, 2, 4, 8, 16)),
        "dense": Kind(MIX, (80,), clips_share=6),
        "reason": Kind(REASON, (10,), prompts()["cot"].system),
        "blind": Kind(BLIND, (0,)),
        "benchmarks": Kind(BENCHMARKS, (10,)),
        "sparse": Kind(SPARSE, (1, 8, 8, 8)),
        "examples": Kind(EXAMPLES, (8, 10)),
        "pictures": Kind(PICTURES, (8,), content=Content.STILL),
        "subtitled": Kind(SUBTITLED, (8,), is_subtitled=True),
        "central": Kind(CENTRAL, (0,)),
        "long": Kind(LONG, (10,), content=Content.ROW),
        "thinking": Kind(THINKING, (10,)),
        "joined": Kind(JOINED, (10,), content=Content.JOINED),
        "thinking joined": Kind(THINKING_JOINED, (10,), content=Content.JOINED),
    }


@dataclass
class _RenderedSample:
    """The frames of one sample, with the queries and targets of the auxiliary heads."""

    frames: list[Image] = field(default_factory=list)
    queries: list[list[int]] = field(default_factory=list)
    targets: list[list[list[float]]] = field(default_factory=list)

    def add(self, script: Script, times: list[float], dice: Dice) -> None:
        self.frames.append(camera(script, times, dice))
        queries, targets = _queries(script, times, dice)
        self.queries += queries
        self.targets += targets

    def add_black(self, seconds: int) -> None:
        self.frames.append(np.zeros_like(self.frames[-1][:1]).repeat(seconds, 0))
        self.queries += [list(range(QUERIES))] * seconds
        self.targets += [[[0.0] * TARGETS] * QUERIES] * seconds


def _jitter(times: list[float], dice: Dice) -> list[float]:
    return [time + dice.between(-JITTER_SECONDS, JITTER_SECONDS) for time in times]


def _render(sample: Sample, content: Content, frames: int, gaps: tuple[int, ...]) -> _RenderedSample:
    """Render one sample; clips in a row have one frame per second between them."""
    dice, rendered = sample.dice, _RenderedSample()
    match content:
        case Content.STILL:
            still = still_of(sample.setting.script)
            rendered.add(still.script, [still.seconds] * frames, dice)
        case Content.JOINED:
            assert sample.joined is not None
            rendered.add(sample.joined.first, _jitter(sample_times(frames), dice), dice)
            rendered.add_black(BLACK_SECONDS)
            rendered.add(sample.joined.second, _jitter(sample_times(frames), dice), dice)
        case Content.ROW:
            for script, gap in zip(sample.row, (*gaps, 0), strict=True):
                rendered.add(script, _jitter(sample_times(frames), dice), dice)
                if gap:
                    gap_script = make_filler_script(dice, gap)
                    rendered.add(gap_script, [second + 0.5 for second in range(gap_script.seconds)], dice)
        case Content.CLIP:
            rendered.add(sample.setting.script, _jitter(sample_times(frames), dice), dice)
    return rendered


def _draw_sample(kind: Kind, dice: Dice, progress: float) -> Sample:
    """Draw the clips that the tasks of a kind use."""
    script, other_script = training_script(dice), training_script(dice)
    if kind.content == Content.JOINED:
        joined = draw_joined(script, dice)
        return Sample(PairInput(joined.first, joined.second, True), dice, progress, joined)
    row = (script, other_script, training_script(dice)) if kind.content == Content.ROW else ()
    return Sample(PairInput(script, other_script, True), dice, progress, row=row)


def _draw_samples(
    kind: Kind, encoder: Encoder, clips: int, dice: Dice, progress: float
) -> tuple[list[Sample], list[str]]:
    """Draw samples whose system texts have the same number of tokens, because packed clips share their positions."""
    if not kind.is_subtitled:
        return [_draw_sample(kind, dice, progress) for _ in range(clips)], [kind.system] * clips
    by_length: dict[int, list[tuple[Sample, str]]] = {}
    while True:
        sample = _draw_sample(kind, dice, progress)
        system = f"\nSubtitle: {format_as_prompt(build_cues(sample.setting.script))}"
        candidates = by_length.setdefault(len(encoder.prefix(system, 1)), [])
        candidates.append((sample, system))
        if len(candidates) == clips:
            return [candidate for candidate, _ in candidates], [text for _, text in candidates]


def make_batch(encoder: Encoder, kind_name: str, clips: int, seed: tuple[int, ...], progress: float) -> Batch:
    """Build a batch of a kind."""
    kind, dice = batch_kinds()[kind_name], Dice(*seed)
    clips = max(1, clips // kind.clips_share)
    frames = dice.pick(kind.frames)
    gaps = tuple(1 + dice.below(MAX_GAP_SLOTS) for _ in range(CLIPS_PER_SOURCE - 1))
    samples, systems = _draw_samples(kind, encoder, clips, dice, progress)
    rendered_samples = [_render(sample, kind.content, frames, gaps) for sample in samples] if frames else []
    count = len(rendered_samples[0].queries) if rendered_samples else 0
    groups = tuple(encoder.group(name, task, samples, frames > 0) for name, task in kind.tasks.items())
    prefix = [encoder.prefix(system, count * 4 + 1 if frames else 0) for system in systems]
    deeds = [
        _deeds(sample.setting.script, rendered.queries[0])
        for sample, rendered in zip(samples, rendered_samples, strict=bool(rendered_samples))
        if kind.content == Content.CLIP
    ]
    return Batch(
        kind_name,
        np.stack([np.concatenate(rendered.frames) for rendered in rendered_samples])
        if rendered_samples
        else np.zeros((clips, 0, IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8),
        np.array(prefix, dtype=np.int64),
        groups,
        np.array([rendered.queries for rendered in rendered_samples], dtype=np.int64),
        np.array([rendered.targets for rendered in rendered_samples], dtype=np.float32),
        np.array(deeds, dtype=np.int64),
    )
