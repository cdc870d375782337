"""Measure a checkpoint on the evaluation set like the pipeline: with video files, sampled frames and the processor."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from reprise.core.files import write_text
from reprise.media.decoder import read_frames
from reprise.media.ffmpeg import QUIET, ffmpeg_executable
from reprise.media.opening import ffmpeg_input
from synthetic.toyworld.generate import EVALUATION_SEED, evaluation_sources
from synthetic.toyworld.render import Image, render_source
from synthetic.toyworld.script import CLIP_SECONDS, FPS, Source
from synthetic.toyworld.velociti import clip_pairs
from transformers import AutoModelForImageTextToText, AutoProcessor

from training.prompts import messages, prompts
from training.score import FRAMES, Score, classic_and_strict, summary


def _trim(video: Path, start: int, clip: Path) -> None:
    """Cut ten seconds from `start` on, exactly, by re-encoding them."""
    stream = ffmpeg_input(video, ss=start, t=CLIP_SECONDS)
    output = stream.output(str(clip), vcodec="libx264", crf=18, pix_fmt="yuv420p", threads=1).global_args(*QUIET)
    output.run(cmd=ffmpeg_executable())


def _mid_second_frames(clip: Path) -> list[Image]:
    """Return the frames at 0.5 s, 1.5 s, ..."""
    return list(read_frames(clip, [int((second + 0.5) * FPS) for second in range(FRAMES)]))


def _clips_of(source: Source, folder: Path) -> Iterator[tuple[str, list[Image]]]:
    video = folder / "source.mp4"
    render_source(source.source_id, video)
    for part in source.parts:
        if part.is_clip:
            clip = folder / f"{part.start}.mp4"
            _trim(video, part.start, clip)
            yield source.clip_id(part), _mid_second_frames(clip)
            clip.unlink()


def evaluation_frames() -> dict[str, list[Image]]:
    """Return the sampled frames of every evaluation clip, after a real encode, trim and decode."""
    with tempfile.TemporaryDirectory() as folder:
        return {clip: frames for source in evaluation_sources() for clip, frames in _clips_of(source, Path(folder))}


class Checkpoint:
    """A checkpoint loaded by the plain transformers classes, as any user loads it."""

    def __init__(self, folder: Path) -> None:
        self.processor = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
        tokenizer = self.processor.tokenizer
        self._words = {word: tokenizer(word)["input_ids"][0] for word in ("Yes", "No", "A", "B")}

    def share(self, frames: list[Image] | None, user: str, first: str = "Yes", second: str = "No") -> float:
        """Return p(first) / (p(first) + p(second)) of the first token of the answer."""
        chat = messages(user, video=frames is not None)
        text = self.processor.apply_chat_template(chat, add_generation_prompt=True)
        videos = None if frames is None else [np.stack(frames)]
        inputs = self.processor(text=[text], videos=videos, return_tensors="pt")
        with torch.no_grad():
            logits = self.model(**inputs, logits_to_keep=1).logits[0, -1].float()
        gap = logits[self._words[first]] - logits[self._words[second]]
        return float(torch.sigmoid(gap))

    def write(self, frames: list[Image], user: str, system: str = "", tokens: int = 120) -> str:
        """Return the greedy answer."""
        text = self.processor.apply_chat_template(messages(user, system), add_generation_prompt=True)
        inputs = self.processor(text=[text], videos=[np.stack(frames)], return_tensors="pt")
        with torch.no_grad():
            output = self.model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
        answer: str = self.processor.tokenizer.decode(output[0, inputs["input_ids"].shape[1] :])
        return answer.removesuffix("<|im_end|>")


def entailment_scores(checkpoint: Checkpoint, frames: dict[str, list[Image]], view: str, prompt: str) -> list[Score]:
    """Score all pairs of the evaluation set, each caption on its own."""
    template, clips = prompts()[prompt].user, list(frames)
    scores = []
    for number, (clip, pairs) in enumerate(clip_pairs(evaluation_sources(), EVALUATION_SEED).items()):
        other_clip = clips[(number + len(clips) // 2) % len(clips)]
        visible_frames = {"own": frames[clip], "other": frames[other_clip], "none": None}[view]
        for pair in pairs:
            pos, neg = (
                checkpoint.share(visible_frames, template.format(caption=text)) for text in (pair.pos, pair.neg)
            )
            scores.append(Score(pair.test, pos, neg))
    return scores


def choice_scores(checkpoint: Checkpoint, frames: dict[str, list[Image]], prompt: str) -> dict[str, list[float]]:
    """Return the percentage right by test, first with A as the right answer, then with B."""
    template, correct_by_test = prompts()[prompt].user, dict[str, list[tuple[bool, bool]]]()
    for clip, pairs in clip_pairs(evaluation_sources(), EVALUATION_SEED).items():
        for pair in pairs:
            first = checkpoint.share(frames[clip], template.format(caption_a=pair.pos, caption_b=pair.neg), "A", "B")
            second = checkpoint.share(frames[clip], template.format(caption_a=pair.neg, caption_b=pair.pos), "A", "B")
            correct_by_test.setdefault(pair.test, []).append((first > 0.5, second < 0.5))
    return {
        test: [float(100 * np.mean(column)) for column in zip(*rows, strict=True)]
        for test, rows in correct_by_test.items()
    }


def measure(checkpoint_folder: Path, out: Path, views: Sequence[str]) -> None:
    """Write ClassicVLE and StrictVLE by test for each view, and the multiple-choice scores, as JSON."""
    checkpoint, frames = Checkpoint(checkpoint_folder), evaluation_frames()
    results: dict[str, object] = {}
    for view in views:
        if view == "mc":
            results[view] = choice_scores(checkpoint, frames, "mc")
            continue
        prompt, frame_view = ("entail.authors", "own") if view == "authors" else ("entail", view)
        scores = entailment_scores(checkpoint, frames, frame_view, prompt)
        results[view] = {
            test: {"classic": classic, "strict": strict}
            for test, (classic, strict) in classic_and_strict(scores).items()
        }
        print(f"{view}: {summary(scores)}", flush=True)
    write_text(out, json.dumps(results, indent=1) + "\n")
