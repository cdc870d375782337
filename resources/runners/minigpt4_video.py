"""MiniGPT4-Video with Mistral, queried as in its authors' minigpt4_video_inference.py, without subtitles.

Decoding is greedy instead of sampled, without dropout, and the weights are not rounded to 8 bits. The folder holds
`Mistral-7B-Instruct-v0.2/`, `bert-base-uncased/`, `eva_vit_g.pth` from the address in the authors' code, and their
`video_mistral_checkpoint_last.pth`. The pickles are read with `weights_only`, torch's default.
"""

import importlib.util
import os
import sys
from pathlib import Path

import torch
from omegaconf import OmegaConf
from PIL import Image

# The package's __init__ imports modules that only training needs, so its submodules are imported without it.
package = importlib.util.module_from_spec(importlib.util.find_spec("minigpt4"))
sys.modules["minigpt4"] = package
from minigpt4.conversation.conversation import CONV_VISION  # noqa: E402
from minigpt4.models import MiniGPT4_Video, eva_vit  # noqa: E402
from minigpt4.processors.blip_processors import Blip2ImageTrainProcessor  # noqa: E402

VISION_WEIGHTS, VIDEO_WEIGHTS, LLM_FOLDER = (
    "eva_vit_g.pth",
    "video_mistral_checkpoint_last.pth",
    "Mistral-7B-Instruct-v0.2",
)
MAX_CONTEXT_TOKENS = 7500
process = Blip2ImageTrainProcessor(image_size=224)


def load(folder, device):
    global model
    os.chdir(folder)  # the authors' code uses a relative path to BERT
    eva_vit.download_cached_file = lambda url, **kwargs: VISION_WEIGHTS
    config = OmegaConf.load(Path(package.__path__[0]).parent / "test_configs" / "mistral_test_config.yaml").model
    config.update({"llama_model": LLM_FOLDER, "low_resource": False, "ckpt": "", "use_grad_checkpoint": False})
    model = MiniGPT4_Video.from_config(config)
    weights = [torch.load(path, map_location="cpu", weights_only=True) for path in (VISION_WEIGHTS, VIDEO_WEIGHTS)]
    model.load_state_dict(weights[1]["model"], strict=False)
    # The authors' loader ignores missing weights. Mistral's loader does not, and `ln_vision` has no weights.
    names = {f"visual_encoder.{name}" for name in weights[0]} | set(weights[1]["model"])
    prefixes = ("visual_encoder.", "llama_proj.")
    required = {name for name in model.state_dict() if name.startswith(prefixes) or "lora_" in name}
    if missing := sorted(required - names):
        raise RuntimeError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    model.to(device).eval()
    if device == "cpu":
        model.float()


def build_inputs(frames, prompt):
    """Return the frames as model inputs, and the whole prompt."""
    if not len(frames):
        raise ValueError("the authors' code requires frames")
    conversation = CONV_VISION.copy()
    conversation.append_message(conversation.roles[0], "<Img><ImageHere>" * len(frames) + f"\n{prompt}")
    conversation.append_message(conversation.roles[1], None)
    pixels = torch.stack([process(Image.fromarray(frame)) for frame in frames])
    return pixels.to(model.device), conversation.get_prompt()


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    pixels, text = build_inputs(frames, prompt)
    return model.generate(pixels[None], [text], max_new_tokens=max_tokens, lengths=[len(frames)])[0]


@torch.inference_mode()
def scores(frames, times, prompt, options):
    pixels, text = build_inputs(frames, prompt)
    features, _ = model.encode_img(pixels[None])
    embedded = model.get_context_emb(text, list(features[:, None]))[:, -MAX_CONTEXT_TOKENS:]
    with model.maybe_autocast():
        probabilities = model.llama_model(inputs_embeds=embedded).logits[0, -1].float().softmax(-1)
    ids = [model.llama_tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
