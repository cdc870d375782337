"""What the shared engine costs: questions about one clip against the ideal, and against the authors' loop.

Plain: for each question the clip is decoded, preprocessed with its prompt, and asked, as the benchmarks' own scripts
do. Ideal: one decoding, one preprocessing, one encoding of what the questions begin with, and one forward of all that
follows it, which looks at nothing before it: nobody can reach it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from os.path import commonprefix
from pathlib import Path
from random import Random
from typing import Any

from reprise.media.decoder import read_frames
from reprise.media.probe import packet_index
from reprise.media.sampling import plan
from reprise.models.base import Clip, ModelSpec, Request
from reprise.models.local.transformers import TransformersAdapter

from bench.checkpoints import FAMILIES, SMALL, random_model, write_processor
from bench.media import write_clip
from bench.rounds import ROUNDS, Ratio, medians
from bench.words import sentence

import torch  # isort: skip  reprise's adapters have prepared it

FRAMES, SIZE, SECONDS = 16, (640, 360), 10
# Of the ideal, by questions a clip; and what one question may cost more than by the authors' loop.
LEAST = {20: 0.80, 5: 0.85, 2: 0.85}
MOST_FOR_ONE = 1.05
START = "Carefully watch the video and pay attention to the sequence of events. Here is a caption of the video: "
END = "\nBased on your observation, does the given video entail the caption? Just answer with either Yes or No."


def ratios(folder: Path, rounds: int = ROUNDS) -> Iterator[Ratio]:
    path = write_clip(folder / "engine.mp4", SECONDS, SIZE)
    for family in FAMILIES:
        yield from _of(family, clip_of(path, FRAMES), folder / family, rounds)


def _of(family: str, clip: Clip, folder: Path, rounds: int) -> Iterator[Ratio]:
    config = write_processor(folder, family, SMALL)
    random_model(config, "cpu", torch.float32).save_pretrained(folder)
    adapter = TransformersAdapter(spec_of(folder))
    ways: dict[str, Callable[[], object]] = {"plain 1": partial(plain, adapter, clip, questions(1))}
    for count in (1, *LEAST):
        asked = questions(count)
        ways[f"shared {count}"] = partial(lambda asked: list(adapter.answers(clip, asked)), asked)
        ways[f"ideal {count}"] = partial(ideal, adapter, clip, asked)
    spent = medians(ways, rounds)
    yield Ratio(f"{family}, 1 question: shared / plain", spent["shared 1"] / spent["plain 1"], MOST_FOR_ONE)
    for count, least in LEAST.items():
        faster = count * spent["plain 1"] / spent[f"shared {count}"]
        name = f"{family}, {count} questions: ideal / shared ({faster:.1f} times plain)"
        yield Ratio(name, spent[f"ideal {count}"] / spent[f"shared {count}"], least, is_at_most=False)


def clip_of(path: Path, frames: int, name: str = "clip") -> Clip:
    index = packet_index(path)
    planned = plan({"rule": "linspace", "frames": frames}, index.frames, index.times)
    return Clip(name, path, planned.indices, planned.times_s)


def spec_of(folder: Path, device: str = "cpu", dtype: str = "float32") -> ModelSpec:
    return ModelSpec(folder, device, 1, dtype, "sdpa", False, {}, prompt_start=START)


def questions(count: int) -> list[Request]:
    draw = Random(5)  # noqa: S311
    texts = [START + sentence(draw, draw.randrange(8, 16)) + END for _ in range(count)]
    return [
        Request(str(at), str(at), "pos", "score", "", text, ("Yes", "No"), "Yes", 1) for at, text in enumerate(texts)
    ]


def plain(adapter: TransformersAdapter, clip: Clip, asked: list[Request]) -> list[Any]:
    """The authors' loop."""
    assert clip.path is not None
    return [answer_by_hand(adapter, read_frames(clip.path, clip.indices), request) for request in asked]


def answer_by_hand(adapter: TransformersAdapter, frames: Any, request: Request) -> Any:
    """A question about frames, preprocessed with its prompt and asked by the model's own classes."""
    model = adapter.model
    inputs = by_hand(adapter.preparer.processor.processor, frames, request)
    with torch.inference_mode():
        made = model.generate(
            **inputs.to(model.device, model.dtype), max_new_tokens=1, do_sample=False, output_scores=True,
            return_dict_in_generate=True,
        )  # fmt: skip
    return torch.softmax(made.scores[0][0].float(), -1).cpu()


def by_hand(processor: Any, frames: Any, request: Request) -> Any:
    """Frames preprocessed with one prompt."""
    text = rendered(processor, request.prompt)
    return processor(text=[text], videos=[frames], return_tensors="pt", do_sample_frames=False)


def rendered(processor: Any, prompt: str) -> str:
    content = [{"type": "video"}, {"type": "text", "text": prompt}]
    made = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    return str(made)


def ideal(adapter: TransformersAdapter, clip: Clip, asked: list[Request]) -> Any:
    """All that is needed, once, and the questions' own tokens in one forward that looks at nothing else."""
    processor, model = adapter.preparer.processor.processor, adapter.model
    assert clip.path is not None
    inputs = by_hand(processor, read_frames(clip.path, clip.indices), asked[0])
    first, *others = own_tokens(processor, [request.prompt for request in asked])
    length = inputs["input_ids"].shape[1] - len(first)
    given = {name: value for name, value in inputs.items() if name != "attention_mask"}
    cut = {name: given[name][:, :length] for name in ("input_ids", "mm_token_type_ids") if name in given}
    with torch.inference_mode():
        model(**{**given, **cut}, logits_to_keep=1, use_cache=True)
        embedded = model.get_input_embeddings()(torch.tensor([sum(others, first)]))
        return model.model.language_model(inputs_embeds=embedded, use_cache=False)


def own_tokens(processor: Any, prompts: list[str]) -> list[list[int]]:
    """The tokens of each prompt after those that all prompts with this start have after the clip's."""
    texts = [rendered(processor, prompt).rpartition(processor.video_token)[2] for prompt in [*prompts, f"{START}1"]]
    tokens = [list(ids) for ids in processor.tokenizer(texts, add_special_tokens=False)["input_ids"]]
    shared = len(commonprefix(tokens))  # noqa: RUF071  of tokens, not of paths
    return [ids[shared:] for ids in tokens[:-1]]
