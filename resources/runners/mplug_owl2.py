"""mPLUG-Owl2, queried as in the quick start of its authors' README, with one image per frame and greedy decoding.

The weights are pickles, which are read with `weights_only`, torch's default.
"""

import torch
from mplug_owl2.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from mplug_owl2.conversation import conv_templates
from mplug_owl2.mm_utils import process_images, tokenizer_image_token
from mplug_owl2.model.builder import load_pretrained_model
from PIL import Image


def load(folder, device):
    global tokenizer, model, process
    tokenizer, model, process, _ = load_pretrained_model(folder, None, "mplug_owl2", device_map={"": device})
    model.eval()


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the frames as model inputs."""
    conversation = conv_templates["mplug_owl2"].copy()
    conversation.append_message(conversation.roles[0], DEFAULT_IMAGE_TOKEN * len(frames) + prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    squares = [Image.fromarray(frame).resize((max(frame.shape[:2]),) * 2) for frame in frames]
    images = process_images(squares, process).to(model.device, torch.float16) if squares else None
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
