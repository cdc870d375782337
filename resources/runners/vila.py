"""VILA 1.5 (13B, 40B), queried as in its authors' llava/eval/run_vila.py, with greedy decoding.

The folder is the authors' weights repository, with `llm/`, `vision_tower/` and `mm_projector/`. The conversation is the
one that they use for its language model. Attention of the 40B's vision tower is PyTorch's own instead of
flash-attention, and the language model is the class of transformers instead of their copy, which packs sequences for
training.
"""

import os
import sys
import types

import torch
from PIL import Image

# The authors' code imports these for other towers and for flash-attention, although this tower needs neither.
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
    os.chdir(folder)  # the authors' code searches the path for names of models
    tokenizer, model, processor, _ = load_pretrained_model("./", "VILA1.5", device=device)
    template = conv_templates["hermes-2" if "<|im_end|>" in tokenizer.get_vocab() else "vicuna_v1"]


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the language model's inputs, including the frames."""
    image_tokens = DEFAULT_IMAGE_TOKEN
    if model.config.mm_use_im_start_end:
        image_tokens = DEFAULT_IM_START_TOKEN + image_tokens + DEFAULT_IM_END_TOKEN
    conversation = template.copy()
    conversation.append_message(conversation.roles[0], f"{image_tokens}\n" * len(frames) + prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    tokens = tokens.to(model.device)
    if not len(frames):
        return tokens, {"inputs_embeds": model.get_input_embeddings()(tokens)}
    pictures = process_images([Image.fromarray(frame) for frame in frames], processor, model.config)
    images = [pictures.to(model.device, torch.float16)]
    _, _, mask, _, embedded, _ = model.prepare_inputs_labels_for_multimodal(tokens, None, None, None, None, images)
    return tokens, {"inputs_embeds": embedded.to(model.dtype), "attention_mask": mask}


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, question = build_inputs(frames, prompt)
    end = template.sep2 if template.sep_style == SeparatorStyle.TWO else template.sep
    stopping = [KeywordsStoppingCriteria([end], tokenizer, tokens)]
    settings = {"do_sample": False, "max_new_tokens": max_tokens, "stopping_criteria": stopping}
    output = model.llm.generate(**question, **settings)
    return tokenizer.decode(output[0], skip_special_tokens=True).strip().removesuffix(end).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    probabilities = model.llm(**build_inputs(frames, prompt)[1]).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
