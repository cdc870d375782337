"""Training: nothing held out is shown or named, the packed forward pass is the model's own, and what is written loads."""

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
from synthetic.toyworld.pairs import Setting
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

from tests.unit.requests import BLIND, request, spec

# --- what training says and shows ------------------------------------------------------------------------------------

CAPTIONS = re.compile(r"\nA[.)] (?P<A>.+)\nB[.)] (?P<B>.+)\n")
VERBS = {words: one.name for one in ACTIONS for words in (f"{one.verb} {one.direction}".strip(), one.gerund)}
NAMED = re.compile(rf"[Tt]he (?P<colour>\w+) (?P<shape>\w+) (?P<verb>{'|'.join(VERBS)})")
RECIPES = {name: REPOSITORY / "resources" / "demo" / f"train-{name}.yaml" for name in ("siglip", "text")}


def samples(count: int) -> Iterator[Sample]:
    for number in range(count):
        dice = Dice(31, number)
        script, other = training_script(dice), training_script(dice)
        yield Sample(Setting(script, other, True), dice, 1.0, draw_joined(script, dice))


def small(name: str) -> SmallConfig:
    """A recipe with fewer clips a step."""
    return SmallConfig(**{**vars(load_small_config(RECIPES[name])), "batch": 6, "steps": 40})


def of_llava_ov() -> Iterator[tuple[list[Script], list[str]]]:
    tasks = [task.make for task in (*MIX.values(), *REASON.values())]
    tasks += [which_caption, caption_pair_choice, central_caption, open_question, which_segment, think_about_segments]
    for sample in samples(100):
        assert sample.joined
        segments = (segment for make in tasks for segment in make(sample))
        shown = [sample.setting.script, sample.joined.first, sample.joined.second]
        yield shown, [f"{segment.user} {segment.answer}" for segment in segments]


def of_siglip() -> Iterator[tuple[list[Script], list[str]]]:
    for step in range(40):
        batch = dual.batch_of_step(small("siglip"), step)
        texts = [one.text for one in batch.statements] + [text for of in batch.pairs for pair in of for text in pair]
        yield list(batch.scripts), texts


def of_text() -> Iterator[tuple[list[Script], list[str]]]:
    for step in range(40):
        yield [], [f"{one.user} {one.answer}" for one in text_only.segments_of_step(small("text"), step)]


@pytest.mark.parametrize("seen", [of_llava_ov, of_siglip, of_text])
def test_training_never_shows_or_names_a_held_out_pair_nor_shows_an_evaluation_clip(
    seen: Callable[[], Iterator[tuple[list[Script], list[str]]]],
) -> None:
    named: set[tuple[Agent, str]] = set()
    for shown, texts in seen():
        assert not evaluation_stories() & {script.story_digest() for script in shown}
        assert not any(is_held_out(event.agent, event.action) for script in shown for event in script.events)
        found = (match for text in texts for match in NAMED.finditer(text))
        named |= {(Agent(match["colour"], match["shape"]), VERBS[match["verb"]]) for match in found}
    assert len(named) > 150, "what is read off the texts is what they say"
    assert not [pair for pair in named if is_held_out(*pair)]


@pytest.mark.parametrize("make", [which_caption, caption_pair_choice])
def test_the_letter_names_the_caption_that_is_true(make: Callable[[Sample], list[Segment]]) -> None:
    for sample in samples(60):
        for segment in make(sample):
            texts = CAPTIONS.search(segment.user)
            assert texts, segment.user
            true = {letter: is_true(texts[letter], sample.setting.script) for letter in "AB"}
            assert true == {segment.answer: True, "BA"["AB".index(segment.answer)]: False}


# --- training itself -------------------------------------------------------------------------------------------------

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


def trained(config: TrainConfig, folder: Path, until: int = 0) -> Trainer:
    save_tokenizer(folder / "tokenizer")
    trainer = Trainer(config, folder)
    while trainer.step < until:
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
            found = processor.apply_chat_template(chat, add_generation_prompt=True)
            assert found == rendered(user, prompt.system, video)


@pytest.mark.parametrize("kind", ["mix", "reason", "blind", "subtitled"])
def test_packed_logits_are_the_models_own(kind: str, config_file: Path, tmp_path: Path) -> None:
    model = trained(load_config(config_file), tmp_path).exact_model()
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


def test_a_resumed_run_equals_an_unbroken_one(config_file: Path, tmp_path: Path) -> None:
    config = load_config(config_file)
    unbroken = trained(config, tmp_path / "a", config.total_steps)
    trained(config, tmp_path / "b", 7).save()
    second = Trainer(config, tmp_path / "b")
    second.resume()
    assert second.step == 7
    while second.step < config.total_steps:
        second.advance()
    assert torch.equal(second.optimiser.master, unbroken.optimiser.master)


def test_a_run_writes_loadable_checkpoints_and_no_other_goes_on_from_them(config_file: Path, tmp_path: Path) -> None:
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
    ContrastiveAdapter(spec(tmp_path / "siglip"))
    answer = next(iter(TextAdapter(spec(tmp_path / "text")).answers(BLIND, [request("Who?", "score", ("Yes", "No"))])))
    assert len(answer.scores) == 2 and 0 < sum(answer.scores) < 1
