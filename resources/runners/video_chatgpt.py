"""Video-ChatGPT, queried as in its authors' `video_chatgpt_infer`, but with greedy decoding instead of sampling.

The folder holds `LLaVA-7B-Lightening-v1-1/`, `openai/clip-vit-large-patch14/` and `video_chatgpt-7B.bin`, a pickle that
torch reads with `weights_only` by default. The authors' function accepts up to 100 frames.
"""

import os

import torch
from PIL import Image
from video_chatgpt.eval.model_utils import initialize_model
from video_chatgpt.inference import video_chatgpt_infer

MAX_FRAMES, SIZE = 100, (224, 224)


def load(folder, device):
    global model, parts
    os.chdir(folder)  # the authors' code uses relative paths
    model, *parts = initialize_model("LLaVA-7B-Lightening-v1-1", "video_chatgpt-7B.bin")


def answer(frames, times, prompt, max_tokens):
    if not 0 < len(frames) <= MAX_FRAMES:
        raise ValueError(f"Video-ChatGPT takes 1 to {MAX_FRAMES} frames, but got {len(frames)}. Use another sampling.")
    pixels = torch.tensor(frames).permute(0, 3, 1, 2).float()
    pixels = torch.nn.functional.interpolate(pixels, size=SIZE).permute(0, 2, 3, 1).to(torch.uint8).numpy()
    generate = type(model).generate
    model.generate = lambda tokens, **kwargs: generate(
        model, tokens, **{**kwargs, "do_sample": False, "max_new_tokens": max_tokens}
    )
    pictures = [Image.fromarray(frame) for frame in pixels]
    tower, tokenizer, process, length = parts
    return video_chatgpt_infer(pictures, prompt, "video-chatgpt_v1", model, tower, tokenizer, process, length)
