"""VILA 1.5 (13B, 40B) as llava/eval/run_vila.py of its authors asks it, by the likeliest tokens.

The folder is their repository of weights, with `llm/`, `vision_tower/` and `mm_projector/`. The conversation is the one
that they name for its language model. Attention of the vision tower of the 40B is PyTorch's in place of
flash-attention, and the language model is transformers' own in place of their copy, which packs sequences for training.
"""

import os
import sys
import types

import torch
from PIL import Image

# What is imported for towers of other models, and for flash-attention, although the tower has another way.
for name, missing in (("radio_encoder", "RADIOVisionTower"), ("intern.flash_attention", "FlashAttention")):
    module = types.ModuleType(f"llava.model.multimodal_encoder.{name}")
    setattr(module, missing, None)
    sys.modules[module.__name__] = module
from llava.constants import (  # noqa: E402
    DEFAULT_IM_END_TOKEN,
    DEFAULT_IM_START_TOKEN,
    DEFAULT_IMAGE_TOKEN,
    IMAGE_TOKEN_INDEX,
)
from llava.conversation import SeparatorStyle, conv_templates  # noqa: E402
from llava.mm_utils import KeywordsStoppingCriteria, process_images, tokenizer_image_token  # noqa: E402
from llava.model.builder import load_pretrained_model  # noqa: E402
from llava.model.multimodal_encoder.intern import modeling_intern_vit  # noqa: E402


def load(folder, device):
    global tokenizer, model, processor, template
    modeling_intern_vit.has_flash_attn = False
    os.chdir(folder)  # the authors' code looks for names of models in the path
    tokenizer, model, processor, _ = load_pretrained_model("./", "VILA1.5", device=device)
    template = conv_templates["hermes-2" if "<|im_end|>" in tokenizer.get_vocab() else "vicuna_v1"]


def asked(frames, prompt):
    """The tokens of a question, and what the language model takes of it, the frames inside."""
    shown = DEFAULT_IMAGE_TOKEN
    if model.config.mm_use_im_start_end:
        shown = DEFAULT_IM_START_TOKEN + shown + DEFAULT_IM_END_TOKEN
    conversation = template.copy()
    conversation.append_message(conversation.roles[0], f"{shown}\n" * len(frames) + prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    tokens = tokens.to(model.device)
    if not len(frames):
        return tokens, {"inputs_embeds": model.get_input_embeddings()(tokens)}
    pictures = process_images([Image.fromarray(one) for one in frames], processor, model.config)
    images = [pictures.to(model.device, torch.float16)]
    _, _, mask, _, embedded, _ = model.prepare_inputs_labels_for_multimodal(tokens, None, None, None, None, images)
    return tokens, {"inputs_embeds": embedded.to(model.dtype), "attention_mask": mask}


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, question = asked(frames, prompt)
    end = template.sep2 if template.sep_style == SeparatorStyle.TWO else template.sep
    stopping = [KeywordsStoppingCriteria([end], tokenizer, tokens)]
    how = {"do_sample": False, "max_new_tokens": max_tokens, "stopping_criteria": stopping}
    found = model.llm.generate(**question, **how)
    return tokenizer.decode(found[0], skip_special_tokens=True).strip().removesuffix(end).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    chances = model.llm(**asked(frames, prompt)[1]).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
