"""Test training: no held-out pairs, the packed forward pass equals the model's, and the checkpoints can be loaded."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from reprise.core.errors import UserError
from reprise.models.local.contrastive import ContrastiveAdapter
from reprise.models.local.text import TextAdapter
from synthetic.reviewer import is_true
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.pairs import PairInput
from synthetic.toyworld.script import ACTIONS, Agent, Script, is_held_out
from training import dual, text_only
from training.batches import Encoder, make_batch
from training.benchmark_tasks import (
    caption_pair_choice,
    central_caption,
    draw_joined,
    open_question,
    think_about_segments,
    which_caption,
    which_segment,
)
from training.config import SmallConfig, TrainConfig, load_config, load_small_config
from training.loop import Trainer
from training.model import build_processor
from training.packed import PLAIN, frame_tokens, packed_hidden
from training.prompts import REPOSITORY, messages, phrases, prompts, rendered
from training.ranks import train
from training.schedule import VIDEO_TOKENS
from training.tasks import MIX, REASON, Sample, Segment
from training.tokenizer import build_tokenizer, save_tokenizer
from transformers import AutoModelForImageTextToText, AutoProcessor

from tests.unit.requests import NO_FRAMES, make_request, model_spec

# --- training data ---------------------------------------------------------------------------------------------------

CAPTIONS = re.compile(r"\nA[.)] (?P<A>.+)\nB[.)] (?P<B>.+)\n")
ACTION_BY_VERB = {
    verb: action.name for action in ACTIONS for verb in (f"{action.verb} {action.direction}".strip(), action.gerund)
}
AGENT_AND_VERB = re.compile(rf"[Tt]he (?P<colour>\w+) (?P<shape>\w+) (?P<verb>{'|'.join(ACTION_BY_VERB)})")
RECIPES = {name: REPOSITORY / "resources" / "demo" / f"train-{name}.yaml" for name in ("siglip", "text")}


def draw_samples(count: int) -> Iterator[Sample]:
    for number in range(count):
        dice = Dice(31, number)
        script, other = training_script(dice), training_script(dice)
        yield Sample(PairInput(script, other, True), dice, 1.0, draw_joined(script, dice))


def load_small_recipe(name: str) -> SmallConfig:
    """Return a recipe with fewer clips per step."""
    return SmallConfig(**{**vars(load_small_config(RECIPES[name])), "batch": 6, "steps": 40})


def iterate_llava_ov_data() -> Iterator[tuple[list[Script], list[str]]]:
    tasks = [task.make for task in (*MIX.values(), *REASON.values())]
    tasks += [which_caption, caption_pair_choice, central_caption, open_question, which_segment, think_about_segments]
    for sample in draw_samples(100):
        assert sample.joined
        segments = (segment for make_segments in tasks for segment in make_segments(sample))
        scripts = [sample.setting.script, sample.joined.first, sample.joined.second]
        yield scripts, [f"{segment.user} {segment.answer}" for segment in segments]


def iterate_siglip_data() -> Iterator[tuple[list[Script], list[str]]]:
    for step in range(40):
        batch = dual.batch_of_step(load_small_recipe("siglip"), step)
        texts = [statement.text for statement in batch.statements]
        texts += [text for pairs in batch.pairs for pair in pairs for text in pair]
        yield list(batch.scripts), texts


def iterate_text_data() -> Iterator[tuple[list[Script], list[str]]]:
    for step in range(40):
        yield (
            [],
            [
                f"{segment.user} {segment.answer}"
                for segment in text_only.segments_of_step(load_small_recipe("text"), step)
            ],
        )


@pytest.mark.parametrize("iterate_data", [iterate_llava_ov_data, iterate_siglip_data, iterate_text_data])
def test_training_never_shows_or_names_a_held_out_pair_nor_shows_an_evaluation_clip(
    iterate_data: Callable[[], Iterator[tuple[list[Script], list[str]]]],
) -> None:
    named_pairs: set[tuple[Agent, str]] = set()
    for scripts, texts in iterate_data():
        assert not evaluation_stories() & {script.story_digest() for script in scripts}
        assert not any(is_held_out(event.agent, event.action) for script in scripts for event in script.events)
        matches = (match for text in texts for match in AGENT_AND_VERB.finditer(text))
        named_pairs |= {(Agent(match["colour"], match["shape"]), ACTION_BY_VERB[match["verb"]]) for match in matches}
    assert len(named_pairs) > 150, "the pattern finds many pairs in the texts"
    assert not [pair for pair in named_pairs if is_held_out(*pair)]


@pytest.mark.parametrize("make_segments", [which_caption, caption_pair_choice])
def test_the_letter_names_the_caption_that_is_true(make_segments: Callable[[Sample], list[Segment]]) -> None:
    for sample in draw_samples(60):
        for segment in make_segments(sample):
            texts = CAPTIONS.search(segment.user)
            assert texts, segment.user
            is_true_by_letter = {letter: is_true(texts[letter], sample.setting.script) for letter in "AB"}
            assert is_true_by_letter == {segment.answer: True, "BA"["AB".index(segment.answer)]: False}


# --- training runs ---------------------------------------------------------------------------------------------------

CONFIG = {
    "seed": 1, "clips": 2,
    "ranks": 1, "see_steps": 3, "describe_steps": 3, "mix_steps": 6, "tune_steps": 0, "early_step": 6, "see_rate": 0.001,
    "rate": 0.001, "warmup_steps": 2, "flat_share": 0.3, "compile": False, "save_every_seconds": 600,
    "evaluate_every_steps": 1000,
    "size": {"vision_width": 16, "vision_inner": 16, "vision_layers": 1, "patch": 16, "width": 16, "inner": 16,
             "layers": 4, "heads": 2, "vocabulary": 640},
}  # fmt: skip
VALUES = {
    "caption": "First, the red circle slides left quickly. Then, the blue star jumps high.",
    "caption_a": "The red circle slides left quickly.",
    "caption_b": "The thing that is spinning slowly is also the one that is jumping low.",
    "question": "Who is spinning slowly?",
}


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    path = tmp_path / "train.yaml"
    path.write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    return path


def train_until(config: TrainConfig, folder: Path, last_step: int = 0) -> Trainer:
    save_tokenizer(folder / "tokenizer")
    trainer = Trainer(config, folder)
    while trainer.step < last_step:
        trainer.advance()
    return trainer


def test_every_fixed_sentence_is_one_token_and_the_template_renders_what_training_uses() -> None:
    tokenizer = build_tokenizer()
    assert all(len(tokenizer(phrase)["input_ids"]) == 1 for phrase in [*phrases(), "Yes", "No", "A", "B"])
    processor = build_processor(tokenizer, 16)
    for prompt in prompts().values():
        user = prompt.user.format(**VALUES)
        for video in (True, False):
            chat = messages(user, prompt.system, video)
            text = processor.apply_chat_template(chat, add_generation_prompt=True)
            assert text == rendered(user, prompt.system, video)


@pytest.mark.parametrize("kind", ["mix", "reason", "blind", "subtitled"])
def test_packed_logits_equal_those_of_the_model(kind: str, config_file: Path, tmp_path: Path) -> None:
    model = train_until(load_config(config_file), tmp_path).exact_model()
    tokenizer = build_tokenizer()
    batch = make_batch(Encoder(tokenizer, VIDEO_TOKENS), kind, 2, (5, 7), 0.5)
    frames, clip = torch.from_numpy(batch.frames), 1
    with torch.no_grad():
        tokens, pixels = None, None
        if frames.shape[1]:
            tokens = frame_tokens(model, frames.flatten(0, 1), PLAIN).reshape(2, -1, 16)
            pixels = ((frames.permute(0, 1, 4, 2, 3).float() / 255 - 0.5) / 0.5)[clip : clip + 1]
        groups = [torch.from_numpy(group.ids) for group in batch.groups]
        hidden = packed_hidden(model, torch.from_numpy(batch.prefix), tokens, groups).groups
        for group, states in zip(batch.groups, hidden, strict=True):
            length = int((group.ids[clip, -1] != tokenizer.pad_token_id).sum())
            ids = torch.tensor(np.concatenate([batch.prefix[clip], group.ids[clip, -1, :length]]))[None]
            plain = model(input_ids=ids, pixel_values_videos=pixels).logits[0, batch.prefix.shape[1] :]
            assert torch.allclose(plain, model.lm_head(states[clip, -1, :length]), atol=1e-4)


def test_a_resumed_run_equals_an_uninterrupted_run(config_file: Path, tmp_path: Path) -> None:
    config = load_config(config_file)
    uninterrupted = train_until(config, tmp_path / "a", config.total_steps)
    train_until(config, tmp_path / "b", 7).save()
    resumed = Trainer(config, tmp_path / "b")
    resumed.resume()
    assert resumed.step == 7
    while resumed.step < config.total_steps:
        resumed.advance()
    assert torch.equal(resumed.optimiser.master, uninterrupted.optimiser.master)


def test_a_run_writes_loadable_checkpoints_and_is_only_resumed_on_request(config_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(config_file, out, resume=False)
    for name in ("llava-ov-early", "llava-ov-late"):
        processor = AutoProcessor.from_pretrained(out / name)
        model = AutoModelForImageTextToText.from_pretrained(out / name, dtype=torch.float32).eval()
        text = processor.apply_chat_template(messages("Describe the video."), add_generation_prompt=True)
        inputs = processor(text=[text], videos=[np.zeros((10, 128, 128, 3), np.uint8)], return_tensors="pt")
        assert int((inputs["input_ids"] == model.config.video_token_id).sum()) == VIDEO_TOKENS
        assert torch.isfinite(model(**inputs).logits).all()
    with pytest.raises(UserError, match="add --resume"):
        train(config_file, out, resume=False)
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump({**CONFIG, "seed": 2}), encoding="utf-8")
    with pytest.raises(UserError, match="another configuration"):
        train(changed, out, resume=True)


def test_short_runs_write_checkpoints_that_the_adapters_load(tmp_path: Path) -> None:
    for name, train_one in (("siglip", dual.train_siglip), ("text", text_only.train_text)):
        values = yaml.safe_load(RECIPES[name].read_text(encoding="utf-8")) | {"batch": 3, "steps": 2}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        train_one(tmp_path / f"{name}.yaml", tmp_path / name)
    ContrastiveAdapter(model_spec(tmp_path / "siglip"))
    answer = next(
        iter(
            TextAdapter(model_spec(tmp_path / "text")).answers(
                NO_FRAMES, [make_request("Who?", "score", ("Yes", "No"))]
            )
        )
    )
    assert len(answer.scores) == 2 and 0 < sum(answer.scores) < 1
