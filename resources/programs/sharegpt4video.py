"""ShareGPT4Video as run.py of its authors asks it: the frames in one picture, with white bands between them.

The folder holds `sharegpt4video-8b/`, the authors' repository of weights, and `openai/clip-vit-large-patch14-336/`. The
question stands alone, without the sentence that their demonstration puts before it.
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
    os.chdir(folder)  # the checkpoint names its vision tower by a path from here
    tokenizer, model, processor, _ = load_pretrained_model(
        "sharegpt4video-8b", None, "sharegpt4video-8b", device_map=device
    )
    model.eval()


def asked(frames, prompt):
    """The tokens of a question, and the picture as the model takes it."""
    conversation = conv_templates["llava_llama_3"].copy()
    conversation.append_message(conversation.roles[0], f"{DEFAULT_IMAGE_TOKEN}\n{prompt}" if len(frames) else prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    shown = {}
    if len(frames):
        picture = resize_image_grid(Image.fromarray(create_frame_grid(frames)))
        pixels = process_images([picture], processor, model.config)[0]
        shown = {"images": pixels.to(model.device, torch.float16), "image_sizes": [picture.size]}
    return tokens[None].to(model.device), shown


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, shown = asked(frames, prompt)
    end = tokenizer.eos_token_id if tokenizer.pad_token is None else tokenizer.pad_token_id
    found = model.generate(tokens, **shown, do_sample=False, max_new_tokens=max_tokens, pad_token_id=end)
    return tokenizer.decode(found[0], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, shown = asked(frames, prompt)
    chances = model(tokens, **shown).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
