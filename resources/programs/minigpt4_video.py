"""MiniGPT4-Video of Mistral as minigpt4_video_inference.py of its authors asks it, without subtitles.

By the likeliest tokens in place of drawn ones, without dropout, and with weights that are not rounded to 8 bits. The
folder holds `Mistral-7B-Instruct-v0.2/`, `bert-base-uncased/`, `eva_vit_g.pth` from the address that the authors' code
names, and their `video_mistral_checkpoint_last.pth`. The pickles are read with torch's `weights_only`, its own choice.
"""

import importlib.util
import os
import sys
from pathlib import Path

import torch
from omegaconf import OmegaConf
from PIL import Image

# The package's own beginning imports what only training needs: its modules are taken one by one.
package = importlib.util.module_from_spec(importlib.util.find_spec("minigpt4"))
sys.modules["minigpt4"] = package
from minigpt4.conversation.conversation import CONV_VISION  # noqa: E402
from minigpt4.models import MiniGPT4_Video, eva_vit  # noqa: E402
from minigpt4.processors.blip_processors import Blip2ImageTrainProcessor  # noqa: E402

EYES, OWN, LLM = "eva_vit_g.pth", "video_mistral_checkpoint_last.pth", "Mistral-7B-Instruct-v0.2"
CONTEXT = 7500
process = Blip2ImageTrainProcessor(image_size=224)


def load(folder, device):
    global model
    os.chdir(folder)  # the authors' code names BERT by a path from here
    eva_vit.download_cached_file = lambda url, **how: EYES
    config = OmegaConf.load(Path(package.__path__[0]).parent / "test_configs" / "mistral_test_config.yaml").model
    config.update({"llama_model": LLM, "low_resource": False, "ckpt": "", "use_grad_checkpoint": False})
    model = MiniGPT4_Video.from_config(config)
    weights = [torch.load(one, map_location="cpu", weights_only=True) for one in (EYES, OWN)]
    model.load_state_dict(weights[1]["model"], strict=False)
    # Their loader passes over what is missing; Mistral's weights are read by one that does not, `ln_vision` has none.
    names = {f"visual_encoder.{one}" for one in weights[0]} | set(weights[1]["model"])
    own = ("visual_encoder.", "llama_proj.")
    wanted = {one for one in model.state_dict() if one.startswith(own) or "lora_" in one}
    if missing := sorted(wanted - names):
        raise RuntimeError(f"{folder} holds no {missing[0]}, and {len(missing) - 1} weights more are missing")
    model.to(device).eval()
    if device == "cpu":
        model.float()


def asked(frames, prompt):
    """The frames as the model takes them, and the whole prompt."""
    if not len(frames):
        raise ValueError("the authors' code asks about frames alone")
    conversation = CONV_VISION.copy()
    conversation.append_message(conversation.roles[0], "<Img><ImageHere>" * len(frames) + f"\n{prompt}")
    conversation.append_message(conversation.roles[1], None)
    pixels = torch.stack([process(Image.fromarray(one)) for one in frames])
    return pixels.to(model.device), conversation.get_prompt()


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    pixels, text = asked(frames, prompt)
    return model.generate(pixels[None], [text], max_new_tokens=max_tokens, lengths=[len(frames)])[0]


@torch.inference_mode()
def scores(frames, times, prompt, options):
    pixels, text = asked(frames, prompt)
    seen, _ = model.encode_img(pixels[None])
    embedded = model.get_context_emb(text, list(seen[:, None]))[:, -CONTEXT:]
    with model.maybe_autocast():
        chances = model.llama_model(inputs_embeds=embedded).logits[0, -1].float().softmax(-1)
    ids = [model.llama_tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
