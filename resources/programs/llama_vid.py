"""LLaMA-VID, and MovieLLM which is trained from it, as eval/model_msvd_qa.py of its authors asks it.

By the likeliest tokens in place of drawn ones. The folder holds `llama-vid/`, a repository of weights of theirs, and
what its config.json and their code name by paths from here: `model_zoo/LAVIS/eva_vit_g.pth`, `llamavid/processor/` of
their repository, and `bert-base-uncased/`. The pickles are read with torch's `weights_only`, torch's own choice.
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
    how = {"device_map": {"": device}, "device": device}
    tokenizer, model, process, _ = load_pretrained_model("llama-vid", None, "llama-vid", **how)
    model.eval()


def asked(frames, prompt):
    """The tokens of a question, and the frames as the model takes them: the question decides what it takes of each."""
    if not len(frames):
        raise ValueError("the authors' code asks about frames alone")
    shown = DEFAULT_IMAGE_TOKEN
    if model.config.mm_use_im_start_end:
        shown = DEFAULT_IM_START_TOKEN + shown + DEFAULT_IM_END_TOKEN
    conversation = conv_templates["vicuna_v1"].copy()
    conversation.append_message(conversation.roles[0], f"{shown}\n{prompt}")
    conversation.append_message(conversation.roles[1], None)
    before, after = conversation.get_prompt().split(DEFAULT_IMAGE_TOKEN)
    tokens = [*tokenizer(before).input_ids, IMAGE_TOKEN_INDEX, *tokenizer(after).input_ids[1:]]
    model.update_prompt([[prompt]])
    pixels = process.preprocess(frames, return_tensors="pt")["pixel_values"].half().to(model.device)
    return torch.tensor([tokens], device=model.device), [pixels]


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
