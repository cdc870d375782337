"""Training: the packed forward pass is the model's own, a resumed run equals an unbroken one, exports load."""

from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from reprise.core.errors import UserError
from safetensors.torch import load_file
from training.batches import LETTER, STATEMENT, TEXT, VERDICT, Encoder, make_batch
from training.config import TrainConfig, load_config
from training.loop import STATE, Trainer
from training.model import build_processor
from training.packed import PLAIN, frame_tokens, packed_hidden
from training.prompts import messages, phrases, prompts, rendered
from training.ranks import train
from training.schedule import VIDEO_TOKENS, batch_kind, batch_of_step, learning_rate
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


def _trainer(config: TrainConfig, folder: Path) -> Trainer:
    save_tokenizer(folder / "tokenizer")
    return Trainer(config, folder)


def _advance(trainer: Trainer, until: int) -> None:
    while trainer.step < until:
        trainer.advance()


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
    model = _trainer(load_config(config_file), tmp_path).exact_model()
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


def test_a_batch_reads_as_its_segments_say(config_file: Path) -> None:
    tokenizer = build_tokenizer()
    encoder = Encoder(tokenizer, VIDEO_TOKENS)
    batch = make_batch(encoder, "mix", 3, (9, 1), 1.0)
    assert tokenizer.decode(batch.prefix[0]) == "<|im_start|>user " + "<video>" * VIDEO_TOKENS
    assert batch.frames.shape == (3, 10, 64, 64, 3)
    for group in batch.groups:
        for ids, kinds in zip(group.ids.reshape(-1, group.ids.shape[-1]), group.kinds.reshape(ids_shape(group)),
                              strict=True):  # fmt: skip
            verdict = [tokenizer.decode([token]) for token, kind in zip(ids, kinds, strict=True) if kind == VERDICT]
            letter = [tokenizer.decode([token]) for token, kind in zip(ids, kinds, strict=True) if kind == LETTER]
            assert len(verdict) + len(letter) <= 1
            assert set(verdict) <= {"Yes", "No"} and set(letter) <= {"A", "B"}
            assert (kinds == TEXT).any()
    short = batch.groups[0]
    yes = (short.ids == tokenizer.convert_tokens_to_ids("Yes")) & (short.kinds == VERDICT)
    assert (yes.any(-1) == (short.kinds == STATEMENT).any(-1)).all()
    assert yes.any(-1).mean() == 0.5


def ids_shape(group: object) -> tuple[int, int]:
    """One row a segment."""
    return (-1, group.ids.shape[-1])  # type: ignore[attr-defined]


def test_chain_of_thought_ends_on_its_verdict() -> None:
    tokenizer = build_tokenizer()
    batch = make_batch(Encoder(tokenizer, VIDEO_TOKENS), "reason", 2, (9, 1), 1.0)
    words = [tokenizer.decode([t]).strip() for t in batch.groups[0].ids[batch.groups[0].kinds == VERDICT]]
    assert sorted(set(words)) == ["No", "Yes"] and len(words) == batch.groups[0].ids[..., 0].size
    assert tokenizer.decode(batch.prefix[0]).startswith("<|im_start|>system \nYou are an AI assistant")


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    encoder = Encoder(build_tokenizer(), VIDEO_TOKENS)
    one, two = (make_batch(encoder, "mix", 2, (3, 40), 0.2) for _ in range(2))
    assert np.array_equal(one.frames, two.frames)
    assert all(np.array_equal(a.ids, b.ids) for a, b in zip(one.groups, two.groups, strict=True))
    assert not np.array_equal(one.frames, make_batch(encoder, "mix", 2, (3, 41), 0.2).frames)


def test_the_kinds_of_steps_take_their_shares(config_file: Path) -> None:
    config = load_config(config_file)
    kinds = [batch_kind(config, step) for step in range(6, 2406)]
    assert kinds.count("mix") > 0.85 * len(kinds)
    assert {"blind", "counts", "reason"} <= set(kinds)


def test_a_resumed_run_equals_an_unbroken_one(config_file: Path, tmp_path: Path) -> None:
    config = load_config(config_file)
    unbroken = _trainer(config, tmp_path / "a")
    _advance(unbroken, config.total_steps)
    first = _trainer(config, tmp_path / "b")
    _advance(first, 7)
    first.save()
    second = Trainer(config, tmp_path / "b")
    second.resume()
    assert second.step == 7
    _advance(second, config.total_steps)
    assert torch.equal(second.optimiser.master, unbroken.optimiser.master)


def test_training_lowers_the_loss(config_file: Path, tmp_path: Path) -> None:
    trainer = _trainer(load_config(config_file), tmp_path)
    batch = batch_of_step(trainer.config, trainer.encoder, 3, rank=0)
    before = trainer.losses(batch)[1]["text"]
    for _ in range(8):
        loss, _parts = trainer.losses(batch)
        loss.backward()
        trainer.optimiser.step(trainer.optimiser.take_gradient(), 0.001)
    assert trainer.losses(batch)[1]["text"] < before - 0.1


def test_two_ranks_train_one_model(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "ranks": 2, "mix_steps": 2}), encoding="utf-8")
    train(path, tmp_path / "run", resume=False)
    config = load_config(path)
    alone = _trainer(config, tmp_path / "alone")
    for step in range(config.total_steps):
        gradients = []
        for rank in (0, 1):
            loss, _parts = alone.losses(batch_of_step(config, alone.encoder, step, rank))
            loss.backward()
            gradients.append(alone.optimiser.take_gradient())
        if step == config.see_steps:
            alone.optimiser.restart()
        alone.optimiser.step(torch.stack(gradients).mean(0), learning_rate(config, step))
    assert torch.equal(load_file(tmp_path / "run" / STATE)["master"], alone.optimiser.master)


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
    train(config_file, out, resume=True)


def test_a_run_can_begin_with_a_checkpoint(config_file: Path, tmp_path: Path) -> None:
    first = _trainer(load_config(config_file), tmp_path / "first")
    _advance(first, 4)
    first.export("saved")
    second = Trainer(first.config, tmp_path / "first", tmp_path / "first" / "saved")
    rounded = first.optimiser.master.bfloat16().float()
    weights = sum(parameter.numel() for parameter in second.model.parameters())
    assert torch.equal(second.optimiser.master[:weights], rounded[:weights])


def test_another_configuration_is_refused_on_resume(config_file: Path, tmp_path: Path) -> None:
    trainer = _trainer(load_config(config_file), tmp_path / "run")
    trainer.save()
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump({**CONFIG, "seed": 2}), encoding="utf-8")
    with pytest.raises(UserError, match="another configuration"):
        train(changed, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"sede": 3}, "unknown key 'sede'.*'seed'"), ({"seed": None}, "missing seed")],
    ids=["unknown", "missing"],
)
def test_a_bad_configuration_is_a_users_mistake(change: dict[str, object], message: str, tmp_path: Path) -> None:
    values = {key: value for key, value in {**CONFIG, **change}.items() if value is not None}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load_config(tmp_path / "c.yaml")
