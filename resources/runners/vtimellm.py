"""VTimeLLM with Vicuna, queried as in its authors' inference.py, but with greedy decoding instead of sampling.

The folder holds `vicuna-7b-v1.5/`, and the authors' weights `clip/ViT-L-14.pt`, `vtimellm-vicuna-v1-5-7b-stage1/`,
`-stage2/` and `-stage3/`. The pickles are read with `weights_only`, torch's default; CLIP's file is a TorchScript
archive, of which only the weights are used.
"""

from argparse import Namespace
from pathlib import Path

import clip
import torch
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Normalize, Resize
from vtimellm.constants import IMAGE_TOKEN_INDEX
from vtimellm.conversation import conv_templates
from vtimellm.mm_utils import tokenizer_image_token
from vtimellm.model.builder import load_pretrained_model

STAGE_PREFIX = "vtimellm-vicuna-v1-5-7b-stage"


def load(folder, device):
    global tokenizer, model, tower, process
    weights = Path(folder)
    parts = Namespace(
        model_base=str(weights / "vicuna-7b-v1.5"),
        pretrain_mm_mlp_adapter=str(weights / f"{STAGE_PREFIX}1" / "mm_projector.bin"),
    )
    tokenizer, model, _ = load_pretrained_model(
        parts, str(weights / f"{STAGE_PREFIX}2"), str(weights / f"{STAGE_PREFIX}3")
    )
    model.to(device, torch.float16).eval()
    tower, _ = clip.load(str(weights / "clip" / "ViT-L-14.pt"), device)
    side = tower.visual.input_resolution
    mean, spread = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    process = Compose(
        [Resize(side, interpolation=InterpolationMode.BICUBIC), CenterCrop(side), Normalize(mean, spread)]
    )


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the frames as model inputs."""
    conversation = conv_templates["v1"].copy()
    conversation.append_message(conversation.roles[0], f"<video>\n {prompt}" if len(frames) else prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    images = None
    if len(frames):
        pixels = process(torch.from_numpy(frames.transpose(0, 3, 1, 2)) / 255).to(model.device, tower.dtype)
        images = tower.encode_image(pixels)[None].half()
    return tokens[None].to(model.device), images


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, images = build_inputs(frames, prompt)
    output = model.generate(tokens, images=images, do_sample=False, max_new_tokens=max_tokens, use_cache=True)
    return tokenizer.decode(output[0, tokens.shape[1] :], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, images = build_inputs(frames, prompt)
    probabilities = model(tokens, images=images).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
