"""Define the tiny LLaVA-OneVision: configuration, processor, and auxiliary heads that are dropped after training."""

import torch
from synthetic.toyworld.script import AGENTS, COLOURS, SHAPES, STRENGTHS
from torch import Tensor, nn
from transformers import (
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    LlavaOnevisionImageProcessor,
    LlavaOnevisionProcessor,
    LlavaOnevisionVideoProcessor,
    PreTrainedTokenizerFast,
    Qwen2Config,
    SiglipVisionConfig,
)

from training.batches import ABSENT, IMAGE_SIZE, STANDS, TARGETS
from training.config import ModelSize

HALF = [0.5, 0.5, 0.5]
# Bicubic resampling comes closest to the plain halving of the training frames.
BICUBIC = 3


def build_model(size: ModelSize, tokenizer: PreTrainedTokenizerFast) -> LlavaOnevisionForConditionalGeneration:
    """Build a freshly initialised model; the global torch seed decides its weights."""
    vision = SiglipVisionConfig(
        hidden_size=size.vision_width,
        intermediate_size=size.vision_inner,
        num_hidden_layers=size.vision_layers,
        num_attention_heads=size.heads,
        image_size=IMAGE_SIZE,
        patch_size=size.patch,
        vision_use_head=False,
    )
    text = Qwen2Config(
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        vocab_size=size.vocabulary,
        tie_word_embeddings=True,
        initializer_range=0.04,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    config = LlavaOnevisionConfig(
        vision_config=vision,
        text_config=text,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=[[IMAGE_SIZE, IMAGE_SIZE]],
        tie_word_embeddings=True,
    )
    model = LlavaOnevisionForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def build_processor(tokenizer: PreTrainedTokenizerFast, patch: int) -> LlavaOnevisionProcessor:
    """Build the processor that belongs to the model."""
    square = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    shared = {"size": square, "resample": BICUBIC, "image_mean": HALF, "image_std": HALF}
    return LlavaOnevisionProcessor(
        image_processor=LlavaOnevisionImageProcessor(image_grid_pinpoints=[[IMAGE_SIZE, IMAGE_SIZE]], **shared),
        tokenizer=tokenizer,
        video_processor=LlavaOnevisionVideoProcessor(do_sample_frames=False, **shared),
        num_image_tokens=(IMAGE_SIZE // patch) ** 2,
        vision_feature_select_strategy="full",
        chat_template=tokenizer.chat_template,
    )


class AgentHead(nn.Module):  # type: ignore[misc]
    """Auxiliary head that predicts the state of one agent from a frame's tokens; dropped after training."""

    features: Tensor

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        table = torch.zeros(len(AGENTS), len(COLOURS) + len(SHAPES))
        for index, agent in enumerate(AGENTS):
            table[index, COLOURS.index(agent.colour)] = 1
            table[index, len(COLOURS) + SHAPES.index(agent.shape)] = 1
        self.register_buffer("features", table, persistent=False)
        self.frame = nn.Linear(width, 256)
        self.query = nn.Linear(table.shape[1], 256)
        self.mix = nn.Linear(256, 256)
        self.out = nn.Linear(256, outputs)

    def forward(self, frames: Tensor, queries: Tensor) -> Tensor:
        """Map `frames` (n, width) and `queries` (n, q), which are agent indices, to (n, q, outputs)."""
        query = self.query(self.features.to(frames.dtype)[queries])
        hidden = torch.relu(self.frame(frames)[:, None] * (1 + query) + query)
        return self.out(torch.relu(self.mix(hidden)))


def build_heads(size: ModelSize) -> tuple[AgentHead, AgentHead]:
    """Build a head for what a frame shows of an agent, and a head for what the agent does."""
    tokens = ((IMAGE_SIZE // size.patch) // 2) ** 2
    return AgentHead(size.width * tokens, TARGETS), AgentHead(size.width * tokens, ABSENT + 1 + len(STRENGTHS))


def scene_loss(predicted: Tensor, targets: Tensor) -> Tensor:
    """Return the loss of presence everywhere, and of position, size, rotation and hollowness of present agents."""
    predicted = predicted.float()
    present = targets[..., 0]
    presence = nn.functional.binary_cross_entropy_with_logits(predicted[..., 0], present)
    hollow = nn.functional.binary_cross_entropy_with_logits(predicted[..., 7], targets[..., 7], reduction="none")
    # Linear beyond a twentieth of the canvas, because small motions need exact positions.
    position = nn.functional.smooth_l1_loss(predicted[..., 1:5], targets[..., 1:5], reduction="none", beta=0.05).sum(-1)
    rotation = (predicted[..., 5:7] - targets[..., 5:7]).square().sum(-1)
    pose_loss = 5.0 * position + 3.0 * rotation + 0.5 * hollow
    return presence + (pose_loss * present).sum() / present.sum().clamp(min=1)


def deed_loss(predicted: Tensor, deeds: Tensor) -> Tensor:
    """Return the loss of the action of every queried agent in every slot, and of its strength."""
    actions, strengths = predicted.float().flatten(0, -2).split([ABSENT + 1, len(STRENGTHS)], -1)
    action, strength = deeds.flatten(0, -2).unbind(-1)
    is_acting = (action < STANDS).float()
    manner = nn.functional.cross_entropy(strengths, strength, reduction="none")
    return nn.functional.cross_entropy(actions, action) + (manner * is_acting).sum() / is_acting.sum().clamp(min=1)
