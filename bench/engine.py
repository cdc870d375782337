"""Benchmark the shared engine on questions about one clip, in comparison with the ideal and with the authors' loop.

Plain: every question decodes the clip, preprocesses it with its prompt and runs the model, as the benchmarks' own
scripts do. Ideal: one decoding, one preprocessing, one encoding of the shared prefix, and one forward pass over all
remaining tokens without attention to the prefix. No engine can reach the ideal.
"""

from collections.abc import Callable, Iterator
from functools import partial
from os.path import commonprefix
from pathlib import Path
from random import Random
from typing import Any

from reprise.media.decoder import read_frames
from reprise.media.probe import read_packet_index
from reprise.media.sampling import plan_frames
from reprise.models.base import ClipFrames, ModelSpec, Request
from reprise.models.local.transformers import TransformersAdapter

from bench.checkpoints import FAMILIES, SMALL_SIZE, random_model, write_checkpoint_without_weights
from bench.media import write_clip
from bench.rounds import ROUNDS, Ratio, medians
from bench.words import sentence

import torch  # isort: skip  reprise's adapters must set it up first

FRAMES, SIZE, SECONDS = 16, (640, 360), 10  # Planned frames, frame size and length of the clip.
# Minimum ideal / shared by questions per clip, and maximum shared / plain for a single question.
MIN_IDEAL_SHARES = {20: 0.80, 5: 0.85, 2: 0.85}
MAX_SINGLE_RATIO = 1.05
PROMPT_START = "Carefully watch the video and pay attention to the sequence of events. Here is a caption of the video: "
PROMPT_END = "\nBased on your observation, does the given video entail the caption? Just answer with either Yes or No."


def ratios(folder: Path, rounds: int = ROUNDS) -> Iterator[Ratio]:
    """Yield the ratios of each family of models."""
    path = write_clip(folder / "engine.mp4", SECONDS, SIZE)
    for family in FAMILIES:
        yield from _family_ratios(family, clip_of(path, FRAMES), folder / family, rounds)


def _family_ratios(family: str, clip: ClipFrames, folder: Path, rounds: int) -> Iterator[Ratio]:
    """Yield the ratio to the plain loop for one question, and to the ideal for several questions."""
    config = write_checkpoint_without_weights(folder, family, SMALL_SIZE)
    random_model(config, "cpu", torch.float32).save_pretrained(folder)
    adapter = TransformersAdapter(spec_of(folder))
    calls: dict[str, Callable[[], object]] = {"plain 1": partial(run_authors_loop, adapter, clip, questions(1))}
    for count in (1, *MIN_IDEAL_SHARES):
        requests = questions(count)
        calls[f"shared {count}"] = partial(lambda requests: list(adapter.answers(clip, requests)), requests)
        calls[f"ideal {count}"] = partial(run_ideal, adapter, clip, requests)
    cpu_s = medians(calls, rounds)
    yield Ratio(f"{family}, 1 question: shared / plain", cpu_s["shared 1"] / cpu_s["plain 1"], MAX_SINGLE_RATIO)
    for count, minimum in MIN_IDEAL_SHARES.items():
        speedup = count * cpu_s["plain 1"] / cpu_s[f"shared {count}"]
        name = f"{family}, {count} questions: ideal / shared ({speedup:.1f} times plain)"
        yield Ratio(name, cpu_s[f"ideal {count}"] / cpu_s[f"shared {count}"], minimum, is_at_most=False)


def clip_of(path: Path, frames: int, name: str = "clip") -> ClipFrames:
    """Return a clip with so many evenly spread planned frames."""
    index = read_packet_index(path)
    planned = plan_frames({"rule": "linspace", "frames": frames}, index.frame_count, index.times)
    return ClipFrames(name, path, planned.indices, planned.times_s)


def spec_of(folder: Path, device: str = "cpu", dtype: str = "float32") -> ModelSpec:
    """Return the specification with which an adapter loads the model in a folder."""
    return ModelSpec(folder, device, 1, dtype, "sdpa", False, {}, prompt_start=PROMPT_START)


def questions(count: int) -> list[Request]:
    """Return so many Yes/No questions about made-up captions."""
    random = Random(5)  # noqa: S311
    texts = [PROMPT_START + sentence(random, random.randrange(8, 16)) + PROMPT_END for _ in range(count)]
    return [
        Request(str(number), str(number), "pos", "score", "", text, ("Yes", "No"), "Yes", 1)
        for number, text in enumerate(texts)
    ]


def run_authors_loop(adapter: TransformersAdapter, clip: ClipFrames, requests: list[Request]) -> list[Any]:
    """Answer each question by the authors' loop."""
    assert clip.path is not None
    return [answer_plainly(adapter, read_frames(clip.path, clip.indices), request) for request in requests]


def answer_plainly(adapter: TransformersAdapter, frames: Any, request: Request) -> Any:
    """Answer one question about frames with the model's own classes."""
    model = adapter.model
    inputs = preprocess(adapter.preparer.processor.processor, frames, request)
    with torch.inference_mode():
        output = model.generate(
            **inputs.to(model.device, model.dtype), max_new_tokens=1, do_sample=False, output_scores=True,
            return_dict_in_generate=True,
        )  # fmt: skip
    return torch.softmax(output.scores[0][0].float(), -1).cpu()


def preprocess(processor: Any, frames: Any, request: Request) -> Any:
    """Preprocess frames with one prompt."""
    text = render_prompt(processor, request.prompt)
    return processor(text=[text], videos=[frames], return_tensors="pt", do_sample_frames=False)


def render_prompt(processor: Any, prompt: str) -> str:
    """Return the text of a chat with a video and a prompt, by the processor's chat template."""
    content = [{"type": "video"}, {"type": "text", "text": prompt}]
    text = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    return str(text)


def run_ideal(adapter: TransformersAdapter, clip: ClipFrames, requests: list[Request]) -> Any:
    """Do all necessary work once, with the questions' own tokens in one forward pass without the prefix."""
    processor, model = adapter.preparer.processor.processor, adapter.model
    assert clip.path is not None
    inputs = preprocess(processor, read_frames(clip.path, clip.indices), requests[0])
    first_tokens, *other_tokens = question_tokens(processor, [request.prompt for request in requests])
    length = inputs["input_ids"].shape[1] - len(first_tokens)
    model_inputs = {name: value for name, value in inputs.items() if name != "attention_mask"}
    prefix_inputs = {
        name: model_inputs[name][:, :length] for name in ("input_ids", "mm_token_type_ids") if name in model_inputs
    }
    with torch.inference_mode():
        model(**{**model_inputs, **prefix_inputs}, logits_to_keep=1, use_cache=True)
        all_tokens = sum(other_tokens, first_tokens)  # the tokens of all questions in one list
        embeddings = model.get_input_embeddings()(torch.tensor([all_tokens]))
        return model.model.language_model(inputs_embeds=embeddings, use_cache=False)


def question_tokens(processor: Any, prompts: list[str]) -> list[list[int]]:
    """Return the tokens of each prompt after the prefix that all prompts share."""
    other_prompt = f"{PROMPT_START}1"  # Without it, a single prompt would share all of its tokens.
    texts = [
        render_prompt(processor, prompt).rpartition(processor.video_token)[2] for prompt in [*prompts, other_prompt]
    ]
    tokens = [list(ids) for ids in processor.tokenizer(texts, add_special_tokens=False)["input_ids"]]
    shared_length = len(commonprefix(tokens))  # noqa: RUF071  of tokens, not of paths
    return [ids[shared_length:] for ids in tokens[:-1]]
