"""ShareGPT4Video, queried as in its authors' run.py: all frames in one image, with white bands between them.

The folder holds `sharegpt4video-8b/`, the authors' weights repository, and `openai/clip-vit-large-patch14-336/`. The
question is sent without the sentence that the authors' demo puts before it.
"""

import os

import torch
from llava.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from llava.conversation import conv_templates
from llava.mm_utils import process_images, tokenizer_image_token
from llava.model.builder import load_pretrained_model
from PIL import Image
from run import create_frame_grid, resize_image_grid


def load(folder, device):
    global tokenizer, model, processor
    os.chdir(folder)  # the checkpoint uses a relative path to its vision tower
    tokenizer, model, processor, _ = load_pretrained_model(
        "sharegpt4video-8b", None, "sharegpt4video-8b", device_map=device
    )
    model.eval()


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the image as model input."""
    conversation = conv_templates["llava_llama_3"].copy()
    conversation.append_message(conversation.roles[0], f"{DEFAULT_IMAGE_TOKEN}\n{prompt}" if len(frames) else prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    visual_inputs = {}
    if len(frames):
        picture = resize_image_grid(Image.fromarray(create_frame_grid(frames)))
        pixels = process_images([picture], processor, model.config)[0]
        visual_inputs = {"images": pixels.to(model.device, torch.float16), "image_sizes": [picture.size]}
    return tokens[None].to(model.device), visual_inputs


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, visual_inputs = build_inputs(frames, prompt)
    end = tokenizer.eos_token_id if tokenizer.pad_token is None else tokenizer.pad_token_id
    output = model.generate(tokens, **visual_inputs, do_sample=False, max_new_tokens=max_tokens, pad_token_id=end)
    return tokenizer.decode(output[0], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, visual_inputs = build_inputs(frames, prompt)
    probabilities = model(tokens, **visual_inputs).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
