"""Batches of clips and questions, each a function of the seed and the step alone."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from reprise.media.subtitles import as_prompt
from synthetic.toyworld.generate import CLIPS_PER_SOURCE, Dice, filler, training_script
from synthetic.toyworld.image_choice import LETTERS, still_of
from synthetic.toyworld.mmbench_video import spoken
from synthetic.toyworld.pairs import Setting
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
MOST_GAP_SLOTS = 3


class Group(NamedTuple):
    """Segments of one length: ids and the kind of loss of each token, (clips, segments, length)."""

    ids: Ints
    kinds: Ints


@dataclass(frozen=True)
class Batch:
    """One step's input; `frames` is (clips, frames, height, width, 3), `prefix` the ids a clip's segments share."""

    kind: str
    frames: Image
    prefix: Ints
    groups: tuple[Group, ...]
    queries: Ints
    targets: Floats = field(repr=False)
    deeds: Ints = field(repr=False)


def camera(script: Script, times: list[float], dice: Dice) -> Image:
    """The frames a model sees: half size, with the small changes that a codec and a camera make."""
    gain, offset = dice.between(0.94, 1.06), dice.between(-6, 6)
    table = np.clip(np.arange(256) * gain + offset, 0, 255).astype(np.uint8)
    chroma = dice.chance(0.5)
    images = []
    for t in times:
        image = render_frame(script, t)
        if chroma:
            image = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2YUV_I420), cv2.COLOR_YUV2RGB_I420)
        images.append(cv2.LUT(cv2.resize(image, (IMAGE_SIZE, IMAGE_SIZE), interpolation=cv2.INTER_AREA), table))
    return np.stack(images)


def sample_times(frames: int) -> list[float]:
    """Evenly spread instants, each in the middle of its share of the clip."""
    return [CLIP_SECONDS * (i + 0.5) / frames for i in range(frames)]


def _target(script: Script, agent: Agent, t: float) -> list[float]:
    """Presence, place, size, turn and hollowness of one agent at one moment."""
    slot = int(t // SLOT_SECONDS)
    for figure in script.figures:
        if figure.slot == slot and figure.agent == agent:
            pose = pose_at(figure, t / SLOT_SECONDS - slot)
            return [1.0, pose.x, pose.y, 2 * pose.rx, 2 * pose.ry, np.cos(pose.angle), np.sin(pose.angle), pose.hollow]
    return [0.0] * TARGETS


def _queries(script: Script, times: list[float], dice: Dice) -> tuple[list[list[int]], list[list[list[float]]]]:
    """For every frame the same agents: those of the clip, filled up with others."""
    absent = [agent for agent in AGENTS if agent not in script.agents]
    asked = [*script.agents, *dice.sample(absent, QUERIES)][:QUERIES]
    return [[AGENTS.index(agent) for agent in asked]] * len(times), [
        [_target(script, agent, t) for agent in asked] for t in times
    ]


def _deeds(script: Script, asked: list[int]) -> list[list[tuple[int, int]]]:
    """For every slot and asked agent: the number of its action (or standing, or absence), and of its strength."""
    found = [[(ABSENT, 0)] * len(asked) for _ in range(script.slots)]
    for figure in script.figures:
        index = AGENTS.index(figure.agent)
        if index in asked:
            deed = (ACTION_NAMES.index(figure.action), STRENGTHS.index(figure.strength)) if figure.acts else (STANDS, 0)
            found[figure.slot][asked.index(index)] = deed
    return found


class Encoder:
    """Turns segments into ids; a prompt before the video is the prefix, the rest the segment."""

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
        """The ids before the first token that depends on the question."""
        ids, _ = self._encode(rendered("", system, video=video_tokens > 0))
        at = ids.index(self._video) if video_tokens else self._blind_cut(ids)
        return ids[:at] + [self._video] * video_tokens

    @staticmethod
    def _blind_cut(ids: list[int]) -> int:
        """Without a video the prefix is `<|im_start|>user` alone: what follows may merge with the question."""
        return 2

    def segment(self, segment: Segment, video: bool) -> tuple[list[int], list[int]]:
        """Ids after the prefix and each token's kind of loss as a target."""
        text = rendered(segment.user, segment.system, video)
        ids, offsets = self._spans(text)
        start = ids.index(self._video) + 1 if video else self._blind_cut(ids)
        kinds = [NO_LOSS] * len(ids)
        if segment.true_statement and video:
            low = text.index(segment.true_statement)
            high = low + len(segment.true_statement)
            # The first word has its blank before the statement; nothing can be known of it anyway.
            kinds = [STATEMENT if low < a and b <= high else NO_LOSS for a, b in offsets]
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
        """All segments of a task, padded to its length."""
        shape = (len(samples), task.calls * task.segments, task.length)
        ids, kinds = np.full(shape, self._pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, sample in enumerate(samples):
            segments = [segment for _ in range(task.calls) for segment in task.make(sample)]
            for column, segment in enumerate(segments):
                tokens, wanted = self.segment(segment, video)
                if len(tokens) > task.length:
                    raise ValueError(f"task {name}: a segment has {len(tokens)} tokens, {task.length} fit: {segment}")
                ids[row, column, : len(tokens)], kinds[row, column, : len(tokens)] = tokens, wanted
        return Group(ids, kinds)


class Shows(StrEnum):
    """What the samples of a batch show."""

    CLIP = "clip"
    STILL = "still"
    JOINED = "two clips and the black between them"
    ROW = "three clips and what is between them in their source"


class Kind(NamedTuple):
    """One kind of batch; `frames` are those of each clip."""

    tasks: dict[str, Task]
    frames: tuple[int, ...]
    system: str = ""
    shows: Shows = Shows.CLIP
    is_subtitled: bool = False
    clips_share: int = 1
    """one clip of so many, where each has many frames"""


def batch_kinds() -> dict[str, Kind]:
    """The kinds of batches by name."""
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
        "pictures": Kind(PICTURES, (8,), shows=Shows.STILL),
        "subtitled": Kind(SUBTITLED, (8,), is_subtitled=True),
        "central": Kind(CENTRAL, (0,)),
        "long": Kind(LONG, (10,), shows=Shows.ROW),
        "thinking": Kind(THINKING, (10,)),
        "joined": Kind(JOINED, (10,), shows=Shows.JOINED),
        "thinking joined": Kind(THINKING_JOINED, (10,), shows=Shows.JOINED),
    }


@dataclass
class _Shown:
    """What the frames of one sample show, and what the throw-away heads are asked about them."""

    frames: list[Image] = field(default_factory=list)
    queries: list[list[int]] = field(default_factory=list)
    targets: list[list[list[float]]] = field(default_factory=list)

    def add(self, script: Script, times: list[float], dice: Dice) -> None:
        self.frames.append(camera(script, times, dice))
        asked, wanted = _queries(script, times, dice)
        self.queries += asked
        self.targets += wanted

    def add_black(self, seconds: int) -> None:
        self.frames.append(np.zeros_like(self.frames[-1][:1]).repeat(seconds, 0))
        self.queries += [list(range(QUERIES))] * seconds
        self.targets += [[[0.0] * TARGETS] * QUERIES] * seconds


def _jittered(times: list[float], dice: Dice) -> list[float]:
    return [t + dice.between(-JITTER_SECONDS, JITTER_SECONDS) for t in times]


def _show(sample: Sample, shows: Shows, frames: int, gaps: tuple[int, ...]) -> _Shown:
    """One sample's frames; in a row one a second, as everywhere."""
    dice, shown = sample.dice, _Shown()
    match shows:
        case Shows.STILL:
            still = still_of(sample.setting.script)
            shown.add(still.script, [still.seconds] * frames, dice)
        case Shows.JOINED:
            assert sample.joined is not None
            shown.add(sample.joined.first, _jittered(sample_times(frames), dice), dice)
            shown.add_black(BLACK_SECONDS)
            shown.add(sample.joined.second, _jittered(sample_times(frames), dice), dice)
        case Shows.ROW:
            for script, gap in zip(sample.row, (*gaps, 0), strict=True):
                shown.add(script, _jittered(sample_times(frames), dice), dice)
                if gap:
                    between = filler(dice, gap)
                    shown.add(between, [second + 0.5 for second in range(between.seconds)], dice)
        case Shows.CLIP:
            shown.add(sample.setting.script, _jittered(sample_times(frames), dice), dice)
    return shown


def _sample(kind: Kind, dice: Dice, progress: float) -> Sample:
    """What the tasks of a kind draw on."""
    script, other = training_script(dice), training_script(dice)
    if kind.shows == Shows.JOINED:
        joined = draw_joined(script, dice)
        return Sample(Setting(joined.first, joined.second, True), dice, progress, joined)
    row = (script, other, training_script(dice)) if kind.shows == Shows.ROW else ()
    return Sample(Setting(script, other, True), dice, progress, row=row)


def _samples_and_systems(
    kind: Kind, encoder: Encoder, clips: int, dice: Dice, progress: float
) -> tuple[list[Sample], list[str]]:
    """The samples and their system texts, which are of one length in tokens: packed clips share their positions."""
    if not kind.is_subtitled:
        return [_sample(kind, dice, progress) for _ in range(clips)], [kind.system] * clips
    by_length: dict[int, list[tuple[Sample, str]]] = {}
    while True:
        sample = _sample(kind, dice, progress)
        system = f"\nSubtitle: {as_prompt(spoken(sample.setting.script))}"
        alike = by_length.setdefault(len(encoder.prefix(system, 1)), [])
        alike.append((sample, system))
        if len(alike) == clips:
            return [one for one, _ in alike], [text for _, text in alike]


def make_batch(encoder: Encoder, kind_name: str, clips: int, seed: tuple[int, ...], progress: float) -> Batch:
    """A batch of a kind."""
    kind, dice = batch_kinds()[kind_name], Dice(*seed)
    clips = max(1, clips // kind.clips_share)
    frames = dice.pick(kind.frames)
    gaps = tuple(1 + dice.below(MOST_GAP_SLOTS) for _ in range(CLIPS_PER_SOURCE - 1))
    samples, systems = _samples_and_systems(kind, encoder, clips, dice, progress)
    shown = [_show(sample, kind.shows, frames, gaps) for sample in samples] if frames else []
    count = len(shown[0].queries) if shown else 0
    groups = tuple(encoder.group(name, task, samples, frames > 0) for name, task in kind.tasks.items())
    prefix = [encoder.prefix(system, count * 4 + 1 if frames else 0) for system in systems]
    deeds = [
        _deeds(sample.setting.script, one.queries[0])
        for sample, one in zip(samples, shown, strict=bool(shown))
        if kind.shows == Shows.CLIP
    ]
    return Batch(
        kind_name,
        np.stack([np.concatenate(one.frames) for one in shown])
        if shown
        else np.zeros((clips, 0, IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8),
        np.array(prefix, dtype=np.int64),
        groups,
        np.array([one.queries for one in shown], dtype=np.int64),
        np.array([one.targets for one in shown], dtype=np.float32),
        np.array(deeds, dtype=np.int64),
    )
