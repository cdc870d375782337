"""Run the model's forward pass over one video prefix and many question segments without repeating the prefix.

Every segment attends to the prefix and to itself, and its positions continue after the prefix. Each logit therefore
equals that of the plain forward pass over prefix + segment (a test compares them).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import LlavaOnevisionForConditionalGeneration

Shapes = tuple[tuple[int, int, int], ...]
LayerWeights = tuple[Tensor, ...]
# The tap is early: later layers of the text tokens can still read an agent's action from these states of the prefix.
TAPPED_LAYERS = 3


class Paths(NamedTuple):
    """The functions for one layer of each tower: plain, or compiled."""

    text: Callable[..., Tensor]
    vision: Callable[..., Tensor]


def _norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    full_precision = x.float()
    return weight * (full_precision * torch.rsqrt(full_precision.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def _causal(scores: Tensor) -> Tensor:
    length = scores.shape[-1]
    allowed = torch.ones(length, length, dtype=torch.bool, device=scores.device).tril()
    return scores.masked_fill(~allowed, -1e30)


def _attend(q: Tensor, k: Tensor, v: Tensor, shapes: Shapes, heads: int) -> Tensor:
    """Compute block attention; the flat rows hold the prefixes first, then each group of segments."""
    dim = q.shape[-1] // heads
    scale = dim**-0.5
    clips, _, length = shapes[0]
    rows = clips * length

    def block(x: Tensor, offset: int, shape: tuple[int, int, int]) -> Tensor:
        b, n, s = shape
        return x[offset : offset + b * n * s].view(b, n, s, heads, dim).transpose(2, 3)

    qp, kp, vp = (block(x, 0, shapes[0])[:, 0] for x in (q, k, v))
    weights = torch.softmax(_causal((qp @ kp.transpose(-1, -2)).float() * scale), -1).to(q.dtype)
    outputs = [(weights @ vp).transpose(1, 2).reshape(rows, heads * dim)]
    for b, n, s in shapes[1:]:
        qs, ks, vs = (block(x, rows, (b, n, s)) for x in (q, k, v))
        flat_queries = qs.transpose(1, 2).reshape(b, heads, n * s, dim)
        prefix_scores = (flat_queries @ kp.transpose(-1, -2)).float() * scale
        segment_scores = _causal((qs @ ks.transpose(-1, -2)).float() * scale)
        prefix_scores = prefix_scores.view(b, heads, n, s, length).transpose(1, 2)
        weights = torch.softmax(torch.cat((prefix_scores, segment_scores), -1), -1).to(q.dtype)
        from_prefix = weights[..., :length].transpose(1, 2).reshape(b, heads, n * s, length) @ vp
        attended = from_prefix.view(b, heads, n, s, dim).transpose(1, 2) + weights[..., length:] @ vs
        outputs.append(attended.transpose(2, 3).reshape(b * n * s, heads * dim))
        rows += b * n * s
    return torch.cat(outputs)


def text_layer(x: Tensor, cos: Tensor, sin: Tensor, w: LayerWeights, shapes: Shapes, heads: int, eps: float) -> Tensor:
    """Apply one decoder layer to flat rows."""
    norm1, wq, bq, wk, bk, wv, bv, wo, norm2, gate, up, down = w
    y = _norm(x, norm1, eps)
    count, width = y.shape
    linear = nn.functional.linear
    q, k, v = linear(y, wq, bq), linear(y, wk, bk), linear(y, wv, bv)
    q = _rotate(q.view(count, heads, -1), cos, sin).reshape(count, width)
    k = _rotate(k.view(count, heads, -1), cos, sin).reshape(count, width)
    x = x + linear(_attend(q, k, v, shapes, heads), wo)
    y = _norm(x, norm2, eps)
    return x + linear(nn.functional.silu(linear(y, gate)) * linear(y, up), down)


def vision_layer(x: Tensor, w: LayerWeights, heads: int, eps: float) -> Tensor:
    """Apply one encoder layer to (frames, patches, width)."""
    n1w, n1b, wq, bq, wk, bk, wv, bv, wo, bo, n2w, n2b, w1, b1, w2, b2 = w
    frames, patches, width = x.shape
    linear, functional = nn.functional.linear, nn.functional
    y = functional.layer_norm(x, (width,), n1w, n1b, eps)
    q, k, v = (
        linear(y, weight, bias).view(frames, patches, heads, -1).transpose(1, 2)
        for weight, bias in ((wq, bq), (wk, bk), (wv, bv))
    )
    weights = torch.softmax((q @ k.transpose(-1, -2)).float() * q.shape[-1] ** -0.5, -1).to(x.dtype)
    x = x + linear((weights @ v).transpose(1, 2).reshape(frames, patches, width), wo, bo)
    y = functional.layer_norm(x, (width,), n2w, n2b, eps)
    return x + linear(functional.gelu(linear(y, w1, b1), approximate="tanh"), w2, b2)


PLAIN = Paths(text_layer, vision_layer)


def compiled_paths() -> Paths:
    """Return the same functions compiled, which pays off for recurring shapes."""
    return Paths(torch.compile(text_layer, dynamic=False), torch.compile(vision_layer, dynamic=False))


def _text_weights(layer: nn.Module) -> LayerWeights:
    a, m = layer.self_attn, layer.mlp
    return (
        layer.input_layernorm.weight, a.q_proj.weight, a.q_proj.bias, a.k_proj.weight, a.k_proj.bias,
        a.v_proj.weight, a.v_proj.bias, a.o_proj.weight, layer.post_attention_layernorm.weight,
        m.gate_proj.weight, m.up_proj.weight, m.down_proj.weight,
    )  # fmt: skip


def _vision_weights(layer: nn.Module) -> LayerWeights:
    a, m, n1, n2 = layer.self_attn, layer.mlp, layer.layer_norm1, layer.layer_norm2
    return (
        n1.weight, n1.bias, a.q_proj.weight, a.q_proj.bias, a.k_proj.weight, a.k_proj.bias, a.v_proj.weight,
        a.v_proj.bias, a.out_proj.weight, a.out_proj.bias, n2.weight, n2.bias, m.fc1.weight, m.fc1.bias,
        m.fc2.weight, m.fc2.bias,
    )  # fmt: skip


def frame_tokens(model: LlavaOnevisionForConditionalGeneration, frames: Tensor, paths: Paths) -> Tensor:
    """Return the projected, pooled tokens (n, tokens, width) of uint8 frames (n, height, width, 3)."""
    inner = model.model
    tower = getattr(inner.vision_tower, "vision_model", inner.vision_tower)
    pixels = ((frames.permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5).to(inner.image_newline.dtype)
    x = tower.embeddings(pixels)
    config = model.config.vision_config
    for layer in tower.encoder.layers:
        x = paths.vision(x, _vision_weights(layer), config.num_attention_heads, config.layer_norm_eps)
    # Like the pipeline, use the last hidden state before the final norm (vision_feature_layer = -1).
    return inner.apply_pooling(inner.multi_modal_projector(x))


def _rope(model: LlavaOnevisionForConditionalGeneration, shapes: Shapes, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return cos and sin of every flat row."""
    length = shapes[0][2]
    positions = [torch.arange(length).repeat(shapes[0][0])]
    positions += [(length + torch.arange(s)).repeat(b * n) for b, n, s in shapes[1:]]
    rotary = model.model.language_model.rotary_emb
    cos, sin = rotary(torch.zeros(1, dtype=dtype), torch.cat(positions)[None])
    return cos[0][:, None], sin[0][:, None]


class Hidden(NamedTuple):
    """The final states of each group (clips, n, length, width), and those of the prefixes after the tapped layer."""

    groups: tuple[Tensor, ...]
    tapped: Tensor


def packed_hidden(
    model: LlavaOnevisionForConditionalGeneration,
    prefix: Tensor,
    tokens: Tensor | None,
    segments: Sequence[Tensor],
    paths: Paths = PLAIN,
) -> Hidden:
    """Run the language model; `prefix` (clips, length) and `tokens`, the frame tokens, are each clip's own.

    Without segments the pass stops at the tapped layer.
    """
    language = model.model.language_model
    embed = language.embed_tokens
    prefix_embeddings = embed(prefix)
    clips, length = prefix.shape
    if tokens is not None:
        newline = model.model.image_newline[None, None].expand(clips, 1, -1)
        video = torch.cat((tokens.reshape(clips, -1, tokens.shape[-1]), newline), 1)
        text_count = int((prefix[0] != model.config.video_token_id).sum())
        prefix_embeddings = torch.cat((prefix_embeddings[:, :text_count], video), 1)
    shapes: Shapes = ((clips, 1, length), *((s.shape[0], s.shape[1], s.shape[2]) for s in segments))
    width = prefix_embeddings.shape[-1]
    x = torch.cat([prefix_embeddings.reshape(-1, width), *(embed(s).reshape(-1, width) for s in segments)])
    cos, sin = _rope(model, shapes, x.dtype)
    config = model.config.text_config
    tapped = x
    for number, layer in enumerate(language.layers[: None if segments else TAPPED_LAYERS]):
        weights = _text_weights(layer)
        x = paths.text(x, cos, sin, weights, shapes, config.num_attention_heads, config.rms_norm_eps)
        if number + 1 == TAPPED_LAYERS:
            tapped = x[: clips * length].view(clips, length, width)
    x = _norm(x, language.norm.weight, config.rms_norm_eps)
    parts = torch.split(x, [b * n * s for b, n, s in shapes])[1:]
    groups = tuple(part.view(b, n, s, width) for part, (b, n, s) in zip(parts, shapes[1:], strict=True))
    return Hidden(groups, tapped)
