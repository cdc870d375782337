"""Batches of clips and questions, each a function of the seed and the step alone."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from synthetic.toyworld.generate import Dice, training_script
from synthetic.toyworld.pairs import Setting
from synthetic.toyworld.poses import pose_at
from synthetic.toyworld.render import Image, render_frame
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, CLIP_SECONDS, SLOT_SECONDS, STRENGTHS, Agent, Script
from transformers import PreTrainedTokenizerFast

from training.benchmark_tasks import (
    BENCHMARKS,
    EXAMPLES,
    JOINED,
    SPARSE,
    THINKING,
    THINKING_JOINED,
    draw_joined,
)
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


class Group(NamedTuple):
    """Segments of one length: ids and the kind of loss of each token, (clips, segments, length)."""

    ids: Ints
    kinds: Ints


@dataclass(frozen=True)
class Batch:
    """One step's input; `frames` is (clips, frames, height, width, 3), `prefix` the ids all segments share."""

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
        if answer in ("A", "B"):
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


class Kind(NamedTuple):
    """One kind of batch."""

    tasks: dict[str, Task]
    frames: tuple[int, ...]
    system: str = ""
    is_joined: bool = False
    """two clips and the black between them; `frames` are those of each"""


def batch_kinds() -> dict[str, Kind]:
    """The kinds of batches by name."""
    return {
        "see": Kind({}, (10,)),
        "describe": Kind(DESCRIBE_ONLY, (10,)),
        "mix": Kind(MIX, (10,)),
        "counts": Kind(MIX, (1, 2, 4, 8, 16)),
        "reason": Kind(REASON, (10,), prompts()["cot"].system),
        "blind": Kind(BLIND, (0,)),
        "benchmarks": Kind(BENCHMARKS, (10,)),
        "sparse": Kind(SPARSE, (1, 8, 8, 8)),
        "examples": Kind(EXAMPLES, (8, 10)),
        "thinking": Kind(THINKING, (10,)),
        "joined": Kind(JOINED, (10,), is_joined=True),
        "thinking joined": Kind(THINKING_JOINED, (10,), is_joined=True),
    }


def _joined_batch(kind_name: str, kind: Kind, encoder: Encoder, clips: int, dice: Dice, progress: float) -> Batch:
    """A batch of concatenations, one frame a second as everywhere: a clip, black, another clip."""
    pairs = [draw_joined(training_script(dice), dice) for _ in range(clips)]
    frames = dice.pick(kind.frames)
    images, queries, targets = [], [], []
    for pair in pairs:
        moments = [t + dice.between(-JITTER_SECONDS, JITTER_SECONDS) for t in sample_times(frames)]
        parts = [camera(script, moments, dice) for script in (pair.first, pair.second)]
        images.append(np.concatenate([parts[0], np.zeros_like(parts[0][:BLACK_SECONDS]), parts[1]]))
        seen = [_queries(script, moments, dice) for script in (pair.first, pair.second)]
        nobody = [[[0.0] * TARGETS] * QUERIES] * BLACK_SECONDS
        queries.append([*seen[0][0], *seen[0][0][:BLACK_SECONDS], *seen[1][0]])
        targets.append([*seen[0][1], *nobody, *seen[1][1]])
    samples = [Sample(Setting(pair.first, pair.second, True), dice, progress, pair) for pair in pairs]
    groups = tuple(encoder.group(name, task, samples, video=True) for name, task in kind.tasks.items())
    return Batch(
        kind_name,
        np.stack(images),
        np.array(encoder.prefix(kind.system, (2 * frames + BLACK_SECONDS) * 4 + 1), dtype=np.int64),
        groups,
        np.array(queries, dtype=np.int64),
        np.array(targets, dtype=np.float32),
        np.zeros((clips, 0, QUERIES, 2), dtype=np.int64),
    )


def make_batch(encoder: Encoder, kind_name: str, clips: int, seed: tuple[int, ...], progress: float) -> Batch:
    """A batch of a kind."""
    kind = batch_kinds()[kind_name]
    dice = Dice(*seed)
    if kind.is_joined:
        return _joined_batch(kind_name, kind, encoder, clips, dice, progress)
    frames = dice.pick(kind.frames)
    scripts = [training_script(dice) for _ in range(clips + 1)]
    times = [[t + dice.between(-JITTER_SECONDS, JITTER_SECONDS) for t in sample_times(frames)] for _ in range(clips)]
    images, queries, targets, deeds = [], [], [], []
    for script, moments in zip(scripts, times, strict=False):
        if frames:
            images.append(camera(script, moments, dice))
            asked, wanted = _queries(script, moments, dice)
            queries.append(asked)
            targets.append(wanted)
            deeds.append(_deeds(script, asked[0]))
    samples = [Sample(Setting(scripts[i], scripts[i + 1], True), dice, progress) for i in range(clips)]
    groups = tuple(encoder.group(name, task, samples, frames > 0) for name, task in kind.tasks.items())
    prefix = encoder.prefix(kind.system, frames * 4 + 1 if frames else 0)
    return Batch(
        kind_name,
        np.stack(images) if images else np.zeros((clips, 0, IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8),
        np.array(prefix, dtype=np.int64),
        groups,
        np.array(queries, dtype=np.int64),
        np.array(targets, dtype=np.float32),
        np.array(deeds, dtype=np.int64),
    )
