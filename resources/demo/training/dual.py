"""The dual encoder: a tiny SigLIP that learns which statements are true of a frame, and of a clip as their mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice, training_script
from synthetic.toyworld.pairs import Setting
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

# Its eyes are those of a model that has learned to see; only what reads them is trained.
EYES = REPOSITORY / "resources" / "demo" / "checkpoints" / "llava-ov-late"
VOCABULARY = 640
POSITIONS = 48
EVENTS = 2
SCALE, BIAS = 2.3, -3.0


@dataclass(frozen=True)
class Statement:
    """One event, or the mere presence of an agent: what any clip and any moment of it can be asked."""

    text: str
    agent: Agent
    action: str = ""
    strength: str = ""

    def is_true_of(self, figures: Sequence[Figure]) -> bool:
        """Whether one of the figures shows it."""
        deed = (self.agent, self.action, self.strength)
        return any(figure.agent == self.agent and (not self.action or figure.deed == deed) for figure in figures)


PRESENCES = tuple(Statement(f"There is a {agent.name}.", agent) for agent in AGENTS)


@dataclass(frozen=True)
class ClipBatch:
    """Frames (clips, slots, height, width, 3), statements to hold against all of them, and pairs about each clip."""

    scripts: tuple[Script, ...]
    frames: Image
    statements: tuple[Statement, ...]
    pairs: tuple[tuple[TwoTexts, ...], ...]

    def truth(self) -> Tensor:
        """(clips, slots, statements): 1 where a statement is true of what a slot shows."""
        shown = [
            [[figure for figure in script.figures if figure.slot == slot] for slot in range(SLOTS)]
            for script in self.scripts
        ]
        rows = [[[float(one.is_true_of(slot)) for one in self.statements] for slot in slots] for slots in shown]
        return torch.tensor(rows)


def build_dual_encoder(text: TowerSize, tokenizer: PreTrainedTokenizerFast) -> SiglipModel:
    """Trained eyes below a new head, and a new text tower; the global torch seed decides the new weights."""
    eyes = LlavaOnevisionForConditionalGeneration.from_pretrained(EYES, dtype=torch.float32).model.vision_tower
    vision = {**eyes.config.to_dict(), "vision_use_head": True}
    words = {
        "hidden_size": text.width,
        "intermediate_size": text.inner,
        "num_hidden_layers": text.layers,
        "num_attention_heads": text.heads,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": POSITIONS,
        "projection_size": eyes.config.hidden_size,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    model = SiglipModel(SiglipConfig(text_config=words, vision_config=vision))
    unknown = model.vision_model.load_state_dict(eyes.state_dict(), strict=False).unexpected_keys
    assert not unknown, unknown
    for name, parameter in model.vision_model.named_parameters():
        parameter.requires_grad_(name.startswith(("head.", "post_layernorm.")))
    with torch.no_grad():
        model.logit_scale.fill_(SCALE)
        model.logit_bias.fill_(BIAS)
    # On a CPU the fused attention's backward is the slower one.
    model.set_attn_implementation("eager")
    return model


def batch_of_step(config: SmallConfig, step: int) -> ClipBatch:
    """The clips of a step and what is said of them, whatever came before it."""
    dice = Dice(config.seed, step)
    scripts = [training_script(dice) for _ in range(config.batch + 1)]
    frames, statements, pairs = [], list(PRESENCES), []
    for script, other in pairwise(scripts):
        times = [SLOT_SECONDS * (slot + dice.between(0.1, 0.9)) for slot in range(SLOTS)]
        frames.append(camera(script, times, dice))
        for event in dice.sample(script.events, EVENTS):
            statements.append(Statement(captions.caption(*event.deed), *event.deed))
        pairs.append(_pairs(Setting(script, other, True), dice))
    return ClipBatch(tuple(scripts[:-1]), np.stack(frames), tuple(statements), tuple(pairs))


def _pairs(setting: Setting, dice: Dice) -> tuple[TwoTexts, ...]:
    """True and false statements about one clip, the false ones made to be taken for true."""
    last = scenery_texts(setting.script, dice) if dice.chance(0.3) else None
    return (pair_texts(setting, dice), pair_texts(setting, dice), last or two_event_texts(setting, dice))


class DualTrainer:
    """The model and its tokenizer, and the losses of a batch."""

    def __init__(self, config: SmallConfig) -> None:
        self.tokenizer = build_tokenizer()
        self.tokenizer.padding_side = "right"
        self.tokenizer.chat_template = None
        self.tokenizer.model_max_length = POSITIONS
        self.model = build_dual_encoder(config.text, self.tokenizer)

    def frames(self, frames: Image) -> Tensor:
        """One feature a frame (clips, slots, width)."""
        pixels = (torch.from_numpy(frames).permute(0, 1, 4, 2, 3).to(self.model.dtype) / 255 - HALF[0]) / HALF[0]
        features = self.model.get_image_features(pixel_values=pixels.flatten(0, 1)).pooler_output
        return features.unflatten(0, pixels.shape[:2]).float()

    def texts(self, texts: Sequence[str]) -> Tensor:
        """One normalised feature a text."""
        filled = self.tokenizer(list(texts), padding="max_length", truncation=True, return_tensors="pt")
        features = self.model.get_text_features(input_ids=filled["input_ids"]).pooler_output
        return nn.functional.normalize(features.float(), dim=-1)

    def losses(self, batch: ClipBatch) -> dict[str, Tensor]:
        """Each statement against each frame and each clip (sigmoid), and each pair against its own clip."""
        frames, scale = self.frames(batch.frames), self.model.logit_scale.exp().float()
        # The mean of the frames' features as they are, then to unit length: as the adapter does.
        clips = nn.functional.normalize(frames.mean(1), dim=-1)
        told = self.texts([text for pairs in batch.pairs for pair in pairs for text in pair])
        said, truth = self.texts([statement.text for statement in batch.statements]), batch.truth()
        own = (clips[:, None] * told.unflatten(0, (len(clips), -1))).sum(-1).unflatten(1, (-1, 2))
        gap = scale * (own[..., 0] - own[..., 1])
        return {
            "frames": self._known(nn.functional.normalize(frames, dim=-1), said, truth),
            "clips": self._known(clips, said, truth.amax(1)),
            "pairs": nn.functional.softplus(-gap).mean(),
        }

    def _known(self, seen: Tensor, said: Tensor, truth: Tensor) -> Tensor:
        """Sigmoid loss; what is true is rare, so it weighs as much as all that is false."""
        logits = self.model.logit_scale.exp().float() * seen @ said.T + self.model.logit_bias.float()
        losses = nn.functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
        return (losses * truth).sum() / truth.sum() + (losses * (1 - truth)).sum() / (1 - truth).sum()


def train_siglip(config_file: Path, folder: Path) -> None:
    """Train, and write the checkpoint with its tokenizer and image processor."""
    config = load_small_config(config_file)
    torch.manual_seed(config.seed)
    trainer = DualTrainer(config)
    optimiser = MasterAdamW([one for one in trainer.model.parameters() if one.requires_grad], DECAY)
    trainer.model.bfloat16()
    fit(optimiser, config, lambda step: trainer.losses(batch_of_step(config, step)))
    trainer.model.save_pretrained(folder)
    trainer.tokenizer.save_pretrained(folder)
    square = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    SiglipImageProcessor(size=square, resample=BICUBIC, image_mean=HALF, image_std=HALF).save_pretrained(folder)
