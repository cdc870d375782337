"""Video-ChatGPT as `video_chatgpt_infer` of its authors asks it, by the likeliest tokens in place of drawn ones.

The folder holds `LLaVA-7B-Lightening-v1-1/`, `openai/clip-vit-large-patch14/` and `video_chatgpt-7B.bin`, a pickle
that torch reads with `weights_only`, its own choice. The authors' function takes up to 100 frames.
"""

import os

import torch
from PIL import Image
from video_chatgpt.eval.model_utils import initialize_model
from video_chatgpt.inference import video_chatgpt_infer

MOST, SIZE = 100, (224, 224)


def load(folder, device):
    global model, parts
    os.chdir(folder)  # the authors' code names its parts by paths from here
    model, *parts = initialize_model("LLaVA-7B-Lightening-v1-1", "video_chatgpt-7B.bin")


def answer(frames, times, prompt, max_tokens):
    if not 0 < len(frames) <= MOST:
        raise ValueError(f"{len(frames)} frames are shown, and Video-ChatGPT takes 1 to {MOST}.")
    pixels = torch.tensor(frames).permute(0, 3, 1, 2).float()
    pixels = torch.nn.functional.interpolate(pixels, size=SIZE).permute(0, 2, 3, 1).to(torch.uint8).numpy()
    generate = type(model).generate
    model.generate = lambda tokens, **how: generate(
        model, tokens, **{**how, "do_sample": False, "max_new_tokens": max_tokens}
    )
    pictures = [Image.fromarray(one) for one in pixels]
    tower, tokenizer, process, length = parts
    return video_chatgpt_infer(pictures, prompt, "video-chatgpt_v1", model, tower, tokenizer, process, length)
