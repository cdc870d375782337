"""Training: the packed forward pass is the model's own, a resumed run equals an unbroken one, exports load."""

from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from reprise.core.errors import UserError
from training.batches import Encoder, make_batch
from training.config import TrainConfig, load_config
from training.loop import Trainer
from training.model import build_processor
from training.packed import PLAIN, frame_tokens, packed_hidden
from training.prompts import messages, phrases, prompts, rendered
from training.ranks import train
from training.schedule import VIDEO_TOKENS
from training.tokenizer import build_tokenizer, save_tokenizer
from transformers import AutoModelForImageTextToText, AutoProcessor

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


@pytest.fixture(scope="module")
def config_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "train.yaml"
    path.write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    return path


def trained(config: TrainConfig, folder: Path, until: int = 0) -> Trainer:
    save_tokenizer(folder / "tokenizer")
    trainer = Trainer(config, folder)
    while trainer.step < until:
        trainer.advance()
    return trainer


def test_every_fixed_sentence_is_one_token_and_answers_are_single() -> None:
    tokenizer = build_tokenizer()
    assert all(len(tokenizer(phrase)["input_ids"]) == 1 for phrase in phrases())
    assert all(len(tokenizer(word)["input_ids"]) == 1 for word in ("Yes", "No", "A", "B"))
    assert len(tokenizer) <= 640
    odd = "Wholly unknown words: schön, 你好."
    assert tokenizer.decode(tokenizer(odd)["input_ids"]) == odd


@pytest.mark.parametrize("video", [True, False], ids=["video", "blind"])
def test_the_processors_template_renders_what_training_uses(video: bool) -> None:
    processor = build_processor(build_tokenizer(), 16)
    for prompt in prompts().values():
        user = prompt.user.format(**VALUES)
        chat = messages(user, prompt.system, video)
        assert processor.apply_chat_template(chat, add_generation_prompt=True) == rendered(user, prompt.system, video)


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


def test_a_run_writes_loadable_checkpoints_and_can_be_resumed(config_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(config_file, out, resume=False)
    for name in ("llava-ov-early", "llava-ov-late"):
        processor = AutoProcessor.from_pretrained(out / name)
        model = AutoModelForImageTextToText.from_pretrained(out / name, dtype=torch.float32).eval()
        text = processor.apply_chat_template(messages("Describe the video."), add_generation_prompt=True)
        inputs = processor(text=[text], videos=[np.zeros((10, 128, 128, 3), np.uint8)], return_tensors="pt")
        assert int((inputs["input_ids"] == model.config.video_token_id).sum()) == VIDEO_TOKENS
        assert torch.isfinite(model(**inputs).logits).all()
        assert not list((out / name).glob("*.bin"))
    with pytest.raises(UserError, match="add --resume"):
        train(config_file, out, resume=False)
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump({**CONFIG, "seed": 2}), encoding="utf-8")
    with pytest.raises(UserError, match="another configuration"):
        train(changed, out, resume=True)
    train(config_file, out, resume=True)
