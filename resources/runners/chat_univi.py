"""Chat-UniVi, queried as in its authors' eval/model_video_general.py, but with greedy decoding instead of sampling.

The folder holds `Chat-UniVi/`, the authors' weights repository, and `openai/clip-vit-large-patch14/`. The pickles are
read with `weights_only`, torch's default. The model clusters similar patches with random numbers, so each request sets
the seed to 0.
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
    os.chdir(folder)  # the checkpoint uses a relative path to its vision tower
    tokenizer, model, process, _ = load_pretrained_model("Chat-UniVi", None, "ChatUniVi", device_map={"": device})
    if model.config.config["use_cluster"]:
        model.to(torch.bfloat16)
    model.eval()


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the frames as model inputs."""
    torch.manual_seed(0)
    image_tokens = DEFAULT_IMAGE_TOKEN * len(frames)
    if model.config.mm_use_im_start_end and len(frames):
        image_tokens = DEFAULT_IM_START_TOKEN + image_tokens + DEFAULT_IM_END_TOKEN
    conversation = conv_templates["v1"].copy()
    conversation.append_message(conversation.roles[0], f"{image_tokens}\n{prompt}" if len(frames) else prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    pixels = [process.preprocess(Image.fromarray(frame), return_tensors="pt")["pixel_values"][0] for frame in frames]
    images = torch.stack(pixels).half().to(model.device) if pixels else None
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
