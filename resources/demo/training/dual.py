"""Train the dual encoder: a tiny SigLIP that learns which statements are true of a frame, and of a clip as the mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice, training_script
from synthetic.toyworld.pairs import PairInput
from synthetic.toyworld.render import Image
from synthetic.toyworld.script import AGENTS, SLOT_SECONDS, SLOTS, Agent, Figure, Script
from torch import Tensor, nn
from transformers import (
    LlavaOnevisionForConditionalGeneration,
    PreTrainedTokenizerFast,
    SiglipConfig,
    SiglipImageProcessor,
    SiglipModel,
)

from training.batches import IMAGE_SIZE, camera
from training.config import SmallConfig, TowerSize, load_small_config
from training.model import BICUBIC, HALF
from training.optimiser import MasterAdamW
from training.prompts import REPOSITORY
from training.short_run import DECAY, fit
from training.statements import TwoTexts, pair_texts, scenery_texts, two_event_texts
from training.tokenizer import build_tokenizer

# The vision tower comes from a trained model and stays frozen; only its head and the text tower are trained.
VISION_CHECKPOINT = REPOSITORY / "resources" / "demo" / "checkpoints" / "llava-ov-late"
VOCABULARY = 640
POSITIONS = 48
EVENTS = 2
SCALE, BIAS = 2.3, -3.0


@dataclass(frozen=True)
class Statement:
    """A statement about one event, or about the mere presence of an agent, that can be tested on any clip or slot."""

    text: str
    agent: Agent
    action: str = ""
    strength: str = ""

    def is_true_of(self, figures: Sequence[Figure]) -> bool:
        """Return whether one of the figures shows the statement."""
        deed = (self.agent, self.action, self.strength)
        return any(figure.agent == self.agent and (not self.action or figure.deed == deed) for figure in figures)


PRESENCES = tuple(Statement(f"There is a {agent.name}.", agent) for agent in AGENTS)


@dataclass(frozen=True)
class ClipBatch:
    """Frames (clips, slots, height, width, 3), statements to compare with all of them, and pairs about each clip."""

    scripts: tuple[Script, ...]
    frames: Image
    statements: tuple[Statement, ...]
    pairs: tuple[tuple[TwoTexts, ...], ...]

    def truth(self) -> Tensor:
        """Return a tensor (clips, slots, statements) with 1 where a statement is true of a slot."""
        figures_by_slot = [
            [[figure for figure in script.figures if figure.slot == slot] for slot in range(SLOTS)]
            for script in self.scripts
        ]
        rows = [
            [[float(statement.is_true_of(slot)) for statement in self.statements] for slot in slots]
            for slots in figures_by_slot
        ]
        return torch.tensor(rows)


def build_dual_encoder(text: TowerSize, tokenizer: PreTrainedTokenizerFast) -> SiglipModel:
    """Build a trained vision tower with a new head, and a new text tower; the global torch seed decides new weights."""
    vision_tower = LlavaOnevisionForConditionalGeneration.from_pretrained(
        VISION_CHECKPOINT, dtype=torch.float32
    ).model.vision_tower
    vision_config = {**vision_tower.config.to_dict(), "vision_use_head": True}
    text_config = {
        "hidden_size": text.width,
        "intermediate_size": text.inner,
        "num_hidden_layers": text.layers,
        "num_attention_heads": text.heads,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": POSITIONS,
        "projection_size": vision_tower.config.hidden_size,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    model = SiglipModel(SiglipConfig(text_config=text_config, vision_config=vision_config))
    unexpected = model.vision_model.load_state_dict(vision_tower.state_dict(), strict=False).unexpected_keys
    assert not unexpected, unexpected
    for name, parameter in model.vision_model.named_parameters():
        parameter.requires_grad_(name.startswith(("head.", "post_layernorm.")))
    with torch.no_grad():
        model.logit_scale.fill_(SCALE)
        model.logit_bias.fill_(BIAS)
    # On a CPU the backward pass of the fused attention is slower.
    model.set_attn_implementation("eager")
    return model


def batch_of_step(config: SmallConfig, step: int) -> ClipBatch:
    """Draw the clips and statements of a step, independently of earlier steps."""
    dice = Dice(config.seed, step)
    scripts = [training_script(dice) for _ in range(config.batch + 1)]
    frames, statements, pairs = [], list(PRESENCES), []
    for script, other_script in pairwise(scripts):
        times = [SLOT_SECONDS * (slot + dice.between(0.1, 0.9)) for slot in range(SLOTS)]
        frames.append(camera(script, times, dice))
        for event in dice.sample(script.events, EVENTS):
            statements.append(Statement(captions.caption(*event.deed), *event.deed))
        pairs.append(_pairs(PairInput(script, other_script, True), dice))
    return ClipBatch(tuple(scripts[:-1]), np.stack(frames), tuple(statements), tuple(pairs))


def _pairs(setting: PairInput, dice: Dice) -> tuple[TwoTexts, ...]:
    """Draw true and plausible false statements about one clip."""
    scenery = scenery_texts(setting.script, dice) if dice.chance(0.3) else None
    return (pair_texts(setting, dice), pair_texts(setting, dice), scenery or two_event_texts(setting, dice))


class DualTrainer:
    """The model with its tokenizer, and the losses of a batch."""

    def __init__(self, config: SmallConfig) -> None:
        self.tokenizer = build_tokenizer()
        self.tokenizer.padding_side = "right"
        self.tokenizer.chat_template = None
        self.tokenizer.model_max_length = POSITIONS
        self.model = build_dual_encoder(config.text, self.tokenizer)

    def frames(self, frames: Image) -> Tensor:
        """Return one feature per frame (clips, slots, width)."""
        pixels = (torch.from_numpy(frames).permute(0, 1, 4, 2, 3).to(self.model.dtype) / 255 - HALF[0]) / HALF[0]
        features = self.model.get_image_features(pixel_values=pixels.flatten(0, 1)).pooler_output
        return features.unflatten(0, pixels.shape[:2]).float()

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Return one normalised feature per text."""
        encoding = self.tokenizer(list(texts), padding="max_length", truncation=True, return_tensors="pt")
        features = self.model.get_text_features(input_ids=encoding["input_ids"]).pooler_output
        return nn.functional.normalize(features.float(), dim=-1)

    def losses(self, batch: ClipBatch) -> dict[str, Tensor]:
        """Return the sigmoid losses of statements on frames and on clips, and the loss of pairs on their clips."""
        frames, scale = self.frames(batch.frames), self.model.logit_scale.exp().float()
        # Average the raw features of the frames and normalise afterwards, as the adapter does.
        clips = nn.functional.normalize(frames.mean(1), dim=-1)
        pair_features = self.texts([text for pairs in batch.pairs for pair in pairs for text in pair])
        statement_features, truth = self.texts([statement.text for statement in batch.statements]), batch.truth()
        similarities = (clips[:, None] * pair_features.unflatten(0, (len(clips), -1))).sum(-1).unflatten(1, (-1, 2))
        gap = scale * (similarities[..., 0] - similarities[..., 1])
        return {
            "frames": self._balanced_loss(nn.functional.normalize(frames, dim=-1), statement_features, truth),
            "clips": self._balanced_loss(clips, statement_features, truth.amax(1)),
            "pairs": nn.functional.softplus(-gap).mean(),
        }

    def _balanced_loss(self, visual: Tensor, textual: Tensor, truth: Tensor) -> Tensor:
        """Compute a sigmoid loss in which the rare true statements weigh as much as all false ones."""
        logits = self.model.logit_scale.exp().float() * visual @ textual.T + self.model.logit_bias.float()
        losses = nn.functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
        return (losses * truth).sum() / truth.sum() + (losses * (1 - truth)).sum() / (1 - truth).sum()


def train_siglip(config_file: Path, folder: Path) -> None:
    """Train, and write the checkpoint with its tokenizer and image processor."""
    config = load_small_config(config_file)
    torch.manual_seed(config.seed)
    trainer = DualTrainer(config)
    optimiser = MasterAdamW([parameter for parameter in trainer.model.parameters() if parameter.requires_grad], DECAY)
    trainer.model.bfloat16()
    fit(optimiser, config, lambda step: trainer.losses(batch_of_step(config, step)))
    trainer.model.save_pretrained(folder)
    trainer.tokenizer.save_pretrained(folder)
    square = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    SiglipImageProcessor(size=square, resample=BICUBIC, image_mean=HALF, image_std=HALF).save_pretrained(folder)
