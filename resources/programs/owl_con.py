"""Owl-Con as entailment_inference.py of its authors asks it: mPLUG-Owl for videos with their LoRA.

The question is the protocol's. The folder holds `mplug-owl-llama-7b-video/` and `owl-con/pytorch_model.bin`, pickles
that torch reads with `weights_only`, its own choice. Frames are made 224 by 224 by Pillow in place of decord, and
there are as many as the plan has (theirs are 32).
"""

from pathlib import Path

import torch
from mplug_owl_video.configuration_mplug_owl import MplugOwlConfig
from mplug_owl_video.modeling_mplug_owl import MplugOwlForConditionalGeneration
from mplug_owl_video.processing_mplug_owl import MplugOwlImageProcessor
from peft import LoraConfig, get_peft_model
from PIL import Image
from transformers import LlamaTokenizer

START = (
    "The following is a conversation between a curious human and AI assistant. The assistant gives helpful, detailed, "
    "and polite answers to the user's questions."
)
VIDEO, VIDEO_TOKENS, SIZE = -2, 65, (224, 224)
HELD = MplugOwlConfig.to_dict
LORA = {
    "target_modules": r".*language_model.*\.(q_proj|v_proj|k_proj|o_proj|gate_proj|down_proj|up_proj)",
    "inference_mode": True, "r": 32, "lora_alpha": 32, "lora_dropout": 0.05,
}  # fmt: skip


def load(folder, device):
    global tokenizer, model, process
    # Their class copies what Llama's has, with transformers 4.31 a method too, which no log can show.
    MplugOwlConfig.to_dict = lambda self: {name: one for name, one in HELD(self).items() if not callable(one)}
    base, own = Path(folder) / "mplug-owl-llama-7b-video", Path(folder) / "owl-con" / "pytorch_model.bin"
    tokenizer, process = LlamaTokenizer.from_pretrained(base), MplugOwlImageProcessor.from_pretrained(base)
    model = MplugOwlForConditionalGeneration.from_pretrained(base, torch_dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(**LORA))
    found = model.load_state_dict(torch.load(own, map_location="cpu", weights_only=True), strict=False)
    missing = [one for one in found.missing_keys if "position_ids" not in one and "inv_freq" not in one]
    if missing:
        raise RuntimeError(f"{own} holds no {missing[0]}, and {len(missing) - 1} weights more are missing")
    model.to(device, torch.bfloat16).eval()


def asked(frames, prompt):
    """What the model is given of a question and its frames."""
    shown = [] if not len(frames) else [*_tokens("\nHuman: "), *[VIDEO] * VIDEO_TOKENS]
    parts = [*shown, *_tokens("\nHuman: "), *_tokens(f"{prompt}\n"), *_tokens("AI: ")]
    tokens, video = torch.tensor([[tokenizer.bos_token_id, *_tokens(START), *parts]], device=model.device), None
    if len(frames):
        pictures = [Image.fromarray(one).resize(SIZE, Image.Resampling.BILINEAR) for one in frames]
        video = process(pictures, return_tensors="pt")["pixel_values"].permute(1, 0, 2, 3)[None]
        video = video.to(model.device, torch.bfloat16)
    return {"input_ids": tokens, "pixel_values": None, "video_pixel_values": video}


def _tokens(text):
    return tokenizer(text, add_special_tokens=False).input_ids


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    found = model.base_model.model.generate(**asked(frames, prompt), do_sample=False, max_new_tokens=max_tokens)
    return tokenizer.decode(found[0], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    counts = {"num_images": torch.tensor([0]), "num_videos": torch.tensor([int(len(frames) > 0)])}
    chances = model(**asked(frames, prompt), **counts)["logits"][0, -1].float().softmax(-1)
    ids = [_tokens(option) for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
