"""A program for a class of an older transformers: which of its labels a Visual Attention Network gives the frames."""

import torch
from transformers import VanForImageClassification


def load(folder, device):
    global model
    model = VanForImageClassification.from_pretrained(folder).to(device).eval()


@torch.inference_mode()
def chances(frames):
    pixels = torch.tensor(frames, device=model.device).permute(0, 3, 1, 2) / 255
    return model(pixels).logits.softmax(-1).mean(0)


def answer(frames, times, prompt, max_tokens):
    return model.config.id2label[chances(frames).argmax().item()]


def scores(frames, times, prompt, options):
    return [chances(frames)[model.config.label2id[option]].item() for option in options]
