"""A tiny LLaVA-Video with random weights, made by the authors' classes in their environment: `python <this> <folder>`."""

import json
import sys
from pathlib import Path

import torch
from llava.model.language_model.llava_qwen import LlavaQwenConfig, LlavaQwenForCausalLM
from llava.model.multimodal_encoder import siglip_encoder
from transformers import Qwen2Tokenizer
from transformers.models.qwen2.tokenization_qwen2 import bytes_to_unicode

MERGES = ("Y e", "Ye s", "N o")


def shrink_tower() -> None:
    """The authors' tower has its size by default: a small one in its place, which needs no file."""
    kept = siglip_encoder.SigLipVisionConfig.__init__.__defaults__[8:]
    small = (32, (0.5, 0.5, 0.5), 64, 2, 2, 3, 384, 14, *kept)
    siglip_encoder.SigLipVisionConfig.__init__.__defaults__ = small

    def made(cls, name, **more):  # noqa: ANN001, ANN003, ANN202  # as in its library
        return cls(siglip_encoder.SigLipVisionConfig())

    siglip_encoder.SigLipVisionModel.from_pretrained = classmethod(made)


def make(folder: Path) -> None:
    shrink_tower()
    folder.mkdir(parents=True)
    words = [*bytes_to_unicode().values(), *("".join(one.split()) for one in MERGES)]
    (folder / "vocab.json").write_text(json.dumps({word: at for at, word in enumerate(words)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES, ""]))
    special = ["<|im_start|>", "<|im_end|>"]
    files = folder / "vocab.json", folder / "merges.txt"
    tokenizer = Qwen2Tokenizer(*files, additional_special_tokens=special)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlavaQwenConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=8192, tokenizer_model_max_length=8192, initializer_range=0.5,
        tie_word_embeddings=False,
        mm_vision_tower="google/siglip-so400m-patch14-384", mm_hidden_size=32, mm_projector_type="mlp2x_gelu",
        mm_patch_merge_type="spatial_unpad", mm_newline_position="grid", mm_spatial_pool_mode="bilinear",
        mm_spatial_pool_stride=2, mm_tunable_parts="mm_vision_tower,mm_mlp_adapter,mm_language_model",
        mm_use_im_start_end=False, mm_use_im_patch_token=False, image_aspect_ratio="anyres_max_9", add_faster_video=False,
    )  # fmt: skip
    model = LlavaQwenForCausalLM(config)
    for name, one in model.named_parameters():
        if "vision_tower" in name or "mm_projector" in name:
            torch.nn.init.normal_(one, std=0.3)
    model.to(torch.bfloat16).save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
