"""Test similarities of captions and clips against a plain computation with the same checkpoint."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from reprise.core.errors import UserError
from reprise.media.decoder import read_frames
from reprise.models.base import ClipFrames
from reprise.models.local.contrastive import ContrastiveAdapter, load_open_clip
from safetensors.torch import load_file, save_file
from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

from tests.unit.models.adapters import tiny
from tests.unit.requests import clip_frames, make_request, model_spec

CAPTIONS = [
    "The red circle slides left quickly.",
    "The blue star jumps high.",
    "First, the red circle spins slowly. Then, it blinks.",
]
INDICES = (0, 9, 20, 33)
SIGLIP = Path("resources/demo/checkpoints/siglip")


def compute_scores(folder: Path, clip: ClipFrames) -> list[float]:
    answers = ContrastiveAdapter(model_spec(folder)).answers(
        clip, [make_request(text, "similarity") for text in CAPTIONS]
    )
    return [answer.scores[0] for answer in answers]


def preprocess_frames(folder: Path, video: Path) -> torch.Tensor:
    """Return the frames, preprocessed by the checkpoint's processor."""
    pictures = [Image.fromarray(frame) for frame in read_frames(video, INDICES)]
    pixels = AutoImageProcessor.from_pretrained(folder, backend="pil")(pictures, return_tensors="pt")["pixel_values"]
    return pixels.reshape(len(pictures), *pixels.shape[-3:])


@pytest.mark.parametrize(("make", "padding"), [(tiny.clip, False), (lambda _: SIGLIP, "max_length")])
def test_clip_and_siglip_score_the_mean_of_frame_features(
    make: Callable[[Path], Path], padding: bool | str, video: Path, tmp_path: Path
) -> None:
    folder = make(tmp_path / "model")
    model, tokenizer = AutoModel.from_pretrained(folder, dtype="float32").eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        frame_features = model.get_image_features(pixel_values=preprocess_frames(folder, video)).pooler_output
        mean = frame_features.mean(0)
        expected = []
        for text in CAPTIONS:
            token_ids = tokenizer(
                text, padding=padding, max_length=model.config.text_config.max_position_embeddings, return_tensors="pt"
            )["input_ids"]
            text_feature = model.get_text_features(input_ids=token_ids).pooler_output[0]
            expected.append(float(torch.nn.functional.cosine_similarity(mean, text_feature, dim=0)))
        mean_of_normalized = torch.nn.functional.normalize(frame_features, dim=-1).mean(0)
    assert compute_scores(folder, clip_frames(video, INDICES)) == pytest.approx(expected, abs=1e-5)
    assert not torch.allclose(mean_of_normalized / mean_of_normalized.norm(), mean / mean.norm(), atol=1e-5), (
        "the order of mean and norm matters"
    )


def test_xclip_gives_the_logits_of_its_own_forward(video: Path, tmp_path: Path) -> None:
    folder = tiny.xclip(tmp_path / "model", len(INDICES))
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        inputs = tokenizer(CAPTIONS, padding=True, return_tensors="pt")
        ids = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, 0)
        pixels = preprocess_frames(folder, video)[None]
        output = model(pixel_values=pixels, input_ids=ids, attention_mask=inputs["attention_mask"])
    scores = compute_scores(folder, clip_frames(video, INDICES))
    assert scores == pytest.approx(output.logits_per_video[0].tolist(), rel=1e-4)
    assert len({round(value, 6) for value in scores}) == len(CAPTIONS)


# --- open_clip's layout ------------------------------------------------------------------------------------------


def compute_reference_blocks(
    state: dict[str, torch.Tensor], prefix: str, x: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """Compute OpenAI's residual attention blocks with torch's own layer."""
    torch_names = {"attn.": "self_attn.", "ln_": "norm", "mlp.c_fc": "linear1", "mlp.c_proj": "linear2"}
    for index in range(2):
        layer = torch.nn.TransformerEncoderLayer(16, 2, 64, 0.0, "gelu", batch_first=True, norm_first=True)
        layer_state, prefix_of_block = {}, f"{prefix}.resblocks.{index}."
        for name, tensor in state.items():
            for open_clip_name, torch_name in torch_names.items():
                if name.startswith(prefix_of_block + open_clip_name):
                    layer_state[torch_name + name.removeprefix(prefix_of_block + open_clip_name)] = tensor
        layer.load_state_dict(layer_state)
        x = layer.train()(x, src_mask=mask)
    return x


def test_open_clip_weights_give_the_features_of_their_layout(tmp_path: Path) -> None:
    folder = tiny.open_clip(tmp_path / "model")
    model, _ = load_open_clip(folder, "cpu")
    state = load_file(folder / "open_clip_model.safetensors")
    norm = torch.nn.functional.layer_norm
    pixels = torch.randn(2, 3, tiny.SIDE, tiny.SIDE, generator=torch.Generator().manual_seed(1))
    ids = torch.tensor([[5, 90, 17, tiny.VOCABULARY - 1]])
    with torch.no_grad():
        patches = torch.nn.functional.conv2d(pixels, state["visual.conv1.weight"], stride=16).flatten(2).transpose(1, 2)
        first = state["visual.class_embedding"].expand(2, 1, -1)
        x = torch.cat([first, patches], 1) + state["visual.positional_embedding"]
        x = norm(x, (16,), state["visual.ln_pre.weight"], state["visual.ln_pre.bias"])
        x = compute_reference_blocks(state, "visual.transformer", x, None)[:, 0]
        image = norm(x, (16,), state["visual.ln_post.weight"], state["visual.ln_post.bias"]) @ state["visual.proj"]
        x = state["token_embedding.weight"][ids] + state["positional_embedding"][:4]
        x = compute_reference_blocks(state, "transformer", x, torch.nn.Transformer.generate_square_subsequent_mask(4))
        x = norm(x, (16,), state["ln_final.weight"], state["ln_final.bias"])[:, -1]
        text = x @ state["text_projection"]
        assert torch.allclose(model.get_image_features(pixel_values=pixels).pooler_output, image, atol=1e-5)
        assert torch.allclose(model.get_text_features(input_ids=ids).pooler_output, text, atol=1e-5)


def test_an_open_clip_folder_gives_scores(video: Path, tmp_path: Path) -> None:
    folder = tiny.open_clip(tmp_path / "model")
    scores = compute_scores(folder, clip_frames(video, INDICES))
    assert len(scores) == len(CAPTIONS) and all(-1 <= value <= 1 for value in scores)
    quick_gelu_scores = compute_scores(tiny.open_clip(tmp_path / "quick", quick_gelu=True), clip_frames(video, INDICES))
    assert quick_gelu_scores != pytest.approx(scores, abs=1e-7)


def save_renamed(folder: Path) -> Path:
    path = tiny.open_clip(folder) / "open_clip_model.safetensors"
    save_file({name.replace("visual.", "image_encoder."): t for name, t in load_file(path).items()}, path)
    return folder


@pytest.mark.parametrize(("make", "message"), [
    (lambda folder: tiny.xclip(folder, 8), r"takes 8 frames, but the run's sampling selects 4\. Use a sampling of 8"),
    (tiny.llama, "supports clip, siglip, xclip and open_clip checkpoints, found model_type 'llama'"),
    (lambda folder: tiny.open_clip(folder, vision_cfg={"timm_model_name": "x"}), "plain CLIP .*found timm_model_name"),
    (save_renamed, r"not open_clip's layout of a CLIP: \d+ weights are missing .* are unknown \(image_encoder"),
])  # fmt: skip
def test_an_unsupported_checkpoint_or_sampling_is_named(
    make: Callable[[Path], Path], message: str, tmp_path: Path, video: Path
) -> None:
    with pytest.raises(UserError, match=message):
        compute_scores(make(tmp_path / "model"), clip_frames(video, INDICES))
