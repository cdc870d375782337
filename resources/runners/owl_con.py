"""Owl-Con, queried as in its authors' entailment_inference.py: mPLUG-Owl for videos with their LoRA.

The question is the protocol's. The folder holds `mplug-owl-llama-7b-video/` and `owl-con/pytorch_model.bin`, pickles
that torch reads with `weights_only` by default. Frames are resized to 224 by 224 with Pillow instead of decord, and
their number is that of the plan instead of the authors' 32.
"""

from pathlib import Path

import torch
from mplug_owl_video.configuration_mplug_owl import MplugOwlConfig
from mplug_owl_video.modeling_mplug_owl import MplugOwlForConditionalGeneration
from mplug_owl_video.processing_mplug_owl import MplugOwlImageProcessor
from peft import LoraConfig, get_peft_model
from PIL import Image
from transformers import LlamaTokenizer

SYSTEM_PROMPT = (
    "The following is a conversation between a curious human and AI assistant. The assistant gives helpful, detailed, "
    "and polite answers to the user's questions."
)
VIDEO_TOKEN_ID, VIDEO_TOKENS, SIZE = -2, 65, (224, 224)
ORIGINAL_TO_DICT = MplugOwlConfig.to_dict
LORA_CONFIG = {
    "target_modules": r".*language_model.*\.(q_proj|v_proj|k_proj|o_proj|gate_proj|down_proj|up_proj)",
    "inference_mode": True, "r": 32, "lora_alpha": 32, "lora_dropout": 0.05,
}  # fmt: skip


def load(folder, device):
    global tokenizer, model, process
    # The authors' class copies the attributes of Llama's. In transformers 4.31 one is a method, which cannot be logged.
    MplugOwlConfig.to_dict = lambda self: {
        name: value for name, value in ORIGINAL_TO_DICT(self).items() if not callable(value)
    }
    base, lora_weights = Path(folder) / "mplug-owl-llama-7b-video", Path(folder) / "owl-con" / "pytorch_model.bin"
    tokenizer, process = LlamaTokenizer.from_pretrained(base), MplugOwlImageProcessor.from_pretrained(base)
    model = MplugOwlForConditionalGeneration.from_pretrained(base, torch_dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(**LORA_CONFIG))
    result = model.load_state_dict(torch.load(lora_weights, map_location="cpu", weights_only=True), strict=False)
    missing = [name for name in result.missing_keys if "position_ids" not in name and "inv_freq" not in name]
    if missing:
        raise RuntimeError(f"{lora_weights}: {len(missing)} weights are missing, such as {missing[0]}")
    model.to(device, torch.bfloat16).eval()


def build_inputs(frames, prompt):
    """Return the model inputs for a question and its frames."""
    visual_tokens = [] if not len(frames) else [*_tokens("\nHuman: "), *[VIDEO_TOKEN_ID] * VIDEO_TOKENS]
    parts = [*visual_tokens, *_tokens("\nHuman: "), *_tokens(f"{prompt}\n"), *_tokens("AI: ")]
    tokens, video = torch.tensor([[tokenizer.bos_token_id, *_tokens(SYSTEM_PROMPT), *parts]], device=model.device), None
    if len(frames):
        pictures = [Image.fromarray(frame).resize(SIZE, Image.Resampling.BILINEAR) for frame in frames]
        video = process(pictures, return_tensors="pt")["pixel_values"].permute(1, 0, 2, 3)[None]
        video = video.to(model.device, torch.bfloat16)
    return {"input_ids": tokens, "pixel_values": None, "video_pixel_values": video}


def _tokens(text):
    return tokenizer(text, add_special_tokens=False).input_ids


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    output = model.base_model.model.generate(**build_inputs(frames, prompt), do_sample=False, max_new_tokens=max_tokens)
    return tokenizer.decode(output[0], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    counts = {"num_images": torch.tensor([0]), "num_videos": torch.tensor([int(len(frames) > 0)])}
    probabilities = model(**build_inputs(frames, prompt), **counts)["logits"][0, -1].float().softmax(-1)
    ids = [_tokens(option) for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
