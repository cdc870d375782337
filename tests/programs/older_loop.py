"""A checkpoint with random weights, and what a plain loop makes of it: `python <this> <folder> <asked.json>`."""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import VanConfig, VanForImageClassification


def make(folder: str) -> None:
    torch.manual_seed(3)
    labels = {0: "Yes", 1: "No", 2: "Perhaps"}
    config = VanConfig(
        hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], mlp_ratios=[2, 2, 2, 2], initializer_range=1.0, id2label=labels,
        label2id={word: at for at, word in labels.items()},
    )  # fmt: skip
    VanForImageClassification(config).save_pretrained(folder)


if __name__ == "__main__":
    make(sys.argv[1])
    model = VanForImageClassification.from_pretrained(sys.argv[1]).eval()
    frames = np.load(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))["frames"])
    each = []
    with torch.no_grad():
        for frame in frames:
            pixels = torch.from_numpy(frame.transpose(2, 0, 1).copy()).float().div(255)
            each.append(model(pixels[None]).logits[0].softmax(0))
    mean = sum(each) / len(each)
    print(json.dumps({"text": model.config.id2label[int(mean.argmax())], "scores": mean.tolist()}))
