"""Chat-UniVi as eval/model_video_general.py of its authors asks it, by the likeliest tokens in place of drawn ones.

The folder holds `Chat-UniVi/`, the authors' repository of weights, and `openai/clip-vit-large-patch14/`. Its pickles
are read with torch's `weights_only`, which is torch's own choice. Their grouping of similar patches draws numbers:
each question begins anew at seed 0.
"""

import os

import torch
from ChatUniVi.constants import (
    DEFAULT_IM_END_TOKEN,
    DEFAULT_IM_START_TOKEN,
    DEFAULT_IMAGE_TOKEN,
    IMAGE_TOKEN_INDEX,
)
from ChatUniVi.conversation import conv_templates
from ChatUniVi.mm_utils import tokenizer_image_token
from ChatUniVi.model.builder import load_pretrained_model
from PIL import Image


def load(folder, device):
    global tokenizer, model, process
    os.chdir(folder)  # the checkpoint names its vision tower by a path from here
    tokenizer, model, process, _ = load_pretrained_model("Chat-UniVi", None, "ChatUniVi", device_map={"": device})
    if model.config.config["use_cluster"]:
        model.to(torch.bfloat16)
    model.eval()


def asked(frames, prompt):
    """The tokens of a question, and the frames as the model takes them."""
    torch.manual_seed(0)
    shown = DEFAULT_IMAGE_TOKEN * len(frames)
    if model.config.mm_use_im_start_end and len(frames):
        shown = DEFAULT_IM_START_TOKEN + shown + DEFAULT_IM_END_TOKEN
    conversation = conv_templates["v1"].copy()
    conversation.append_message(conversation.roles[0], f"{shown}\n{prompt}" if len(frames) else prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    pixels = [process.preprocess(Image.fromarray(one), return_tensors="pt")["pixel_values"][0] for one in frames]
    images = torch.stack(pixels).half().to(model.device) if pixels else None
    return tokens[None].to(model.device), images


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, images = asked(frames, prompt)
    found = model.generate(tokens, images=images, do_sample=False, max_new_tokens=max_tokens, use_cache=True)
    return tokenizer.decode(found[0, tokens.shape[1] :], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, images = asked(frames, prompt)
    chances = model(tokens, images=images).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
