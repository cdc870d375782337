"""VideoCLIP as its authors' README of MMPT compares: the dot product of a caption and S3D's features of 30 frames each.

The folder is laid out as theirs: `bert-base-uncased/`, `pretrained_models/` with `s3d_dict.npy` and
`s3d_howto100m.pth`, and `runs/retri/videoclip/checkpoint_best.pt`, pickles that torch reads with `weights_only`.
Pictures are made smaller and cut as their script for features does, by Pillow in place of ffmpeg. Their code is for
transformers 3.4: three names of it are given to it here.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers.activations import ACT2FN
from transformers.models.bert import modeling_bert

SIZE, A_SECOND = 224, 30
# The layer is called with one argument less than today's takes.
BEFORE_PAST = 5


class BertLayer(modeling_bert.BertLayer):
    """As of transformers 3.4, which knows no past keys and values, and as of today."""

    def forward(self, *given, **named):
        past = (None,) if len(given) == BEFORE_PAST + 1 else ()
        return super().forward(*given[:BEFORE_PAST], *past, *given[BEFORE_PAST:], **named)


modeling_bert.BertLayer, modeling_bert.ACT2FN = BertLayer, ACT2FN
sys.modules["transformers.modeling_bert"] = modeling_bert
from mmpt.models import MMPTModel  # noqa: E402

torch.serialization.add_safe_globals([argparse.Namespace])  # settings of the training, beside the weights


def load(folder, device):
    global model, tokenizer, aligner, seen
    os.chdir(folder)  # the authors' configuration names its parts by paths from here
    seen = None, None
    here = Path(importlib.util.find_spec("mmpt").origin).parents[1]
    model, tokenizer, aligner = MMPTModel.from_pretrained(str(here / "projects/retri/videoclip/how2.yaml"))
    # Their loader passes over what is missing.
    weights = torch.load("runs/retri/videoclip/checkpoint_best.pt", map_location="cpu", weights_only=True)["model"]
    wanted = {f"mmmodel.{one}" for one in model.model.state_dict() if "position_ids" not in one}
    if missing := sorted(wanted - set(weights)):
        raise RuntimeError(f"{folder} holds no {missing[0]}, and {len(missing) - 1} weights more are missing")
    model.to(device).eval()


def pixels(frames):
    """Seconds of 30 frames, (1, seconds, 30, height, width, 3)."""
    if len(frames) % A_SECOND or not len(frames):
        raise ValueError(
            f"{len(frames)} frames are no seconds of {A_SECOND}. Name a sampling of {A_SECOND}, 60, ... frames."
        )
    height, width = frames.shape[1:3]
    size = (SIZE, int(height * SIZE / width)) if height >= width else (int(width * SIZE / height), SIZE)
    left, top = (int((one - SIZE) / 2) for one in size)
    smaller = [np.asarray(Image.fromarray(one).resize(size, Image.Resampling.BICUBIC)) for one in frames]
    cut = np.stack(smaller)[:, top : top + SIZE, left : left + SIZE]
    return torch.tensor(cut).float().div(255).reshape(1, -1, A_SECOND, SIZE, SIZE, 3)


@torch.inference_mode()
def similarity(frames, times, caption):
    global seen
    device = next(model.parameters()).device
    if seen[0] is not frames:
        seen = frames, pixels(frames).to(device)
    text = aligner._build_text_seq(tokenizer(caption, add_special_tokens=False)["input_ids"])
    with torch.device(device):
        found = model(seen[1], *(one[None].to(device) for one in text), return_score=True)
    return found["score"].item()
