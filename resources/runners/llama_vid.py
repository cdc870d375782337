"""LLaMA-VID, and MovieLLM, which is trained from it, queried as in the authors' eval/model_msvd_qa.py.

Decoding is greedy instead of sampled. The folder holds `llama-vid/`, one of the authors' weights repositories, and the
files that its config.json and their code reference by relative paths: `model_zoo/LAVIS/eva_vit_g.pth`,
`llamavid/processor/` of their repository, and `bert-base-uncased/`. The pickles are read with `weights_only`, torch's
default.
"""

import os

import torch
from llamavid.constants import (
    DEFAULT_IM_END_TOKEN,
    DEFAULT_IM_START_TOKEN,
    DEFAULT_IMAGE_TOKEN,
    IMAGE_TOKEN_INDEX,
)
from llamavid.conversation import conv_templates
from llamavid.model.builder import load_pretrained_model


def load(folder, device):
    global tokenizer, model, process
    os.chdir(folder)
    placement = {"device_map": {"": device}, "device": device}
    tokenizer, model, process, _ = load_pretrained_model("llama-vid", None, "llama-vid", **placement)
    model.eval()


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the frames as model inputs; their encoding depends on the question."""
    if not len(frames):
        raise ValueError("the authors' code requires frames")
    image_tokens = DEFAULT_IMAGE_TOKEN
    if model.config.mm_use_im_start_end:
        image_tokens = DEFAULT_IM_START_TOKEN + image_tokens + DEFAULT_IM_END_TOKEN
    conversation = conv_templates["vicuna_v1"].copy()
    conversation.append_message(conversation.roles[0], f"{image_tokens}\n{prompt}")
    conversation.append_message(conversation.roles[1], None)
    before, after = conversation.get_prompt().split(DEFAULT_IMAGE_TOKEN)
    tokens = [*tokenizer(before).input_ids, IMAGE_TOKEN_INDEX, *tokenizer(after).input_ids[1:]]
    model.update_prompt([[prompt]])
    pixels = process.preprocess(frames, return_tensors="pt")["pixel_values"].half().to(model.device)
    return torch.tensor([tokens], device=model.device), [pixels]


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
