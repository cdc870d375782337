"""VideoCLIP, used as in its authors' MMPT README: the dot product of a caption and S3D features of 30 frames each.

The folder has the authors' layout: `bert-base-uncased/`, `pretrained_models/` with `s3d_dict.npy` and
`s3d_howto100m.pth`, and `runs/retri/videoclip/checkpoint_best.pt`, pickles that are read with `weights_only`. Frames
are downscaled and cropped as in the authors' feature script, with Pillow instead of ffmpeg. Their code is for
transformers 3.4, so three names that it uses are defined here.
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

SIZE, FRAMES_PER_SECOND = 224, 30
# The authors' code calls the layer with one argument less than current transformers expects.
ARGS_BEFORE_PAST = 5


class BertLayer(modeling_bert.BertLayer):
    """Accept the calls of transformers 3.4, which has no past keys and values, and those of current versions."""

    def forward(self, *args, **kwargs):
        past = (None,) if len(args) == ARGS_BEFORE_PAST + 1 else ()
        return super().forward(*args[:ARGS_BEFORE_PAST], *past, *args[ARGS_BEFORE_PAST:], **kwargs)


modeling_bert.BertLayer, modeling_bert.ACT2FN = BertLayer, ACT2FN
sys.modules["transformers.modeling_bert"] = modeling_bert
from mmpt.models import MMPTModel  # noqa: E402

torch.serialization.add_safe_globals([argparse.Namespace])  # training settings, stored with the weights


def load(folder, device):
    global model, tokenizer, aligner, cached
    os.chdir(folder)  # the authors' configuration uses relative paths
    cached = None, None
    root = Path(importlib.util.find_spec("mmpt").origin).parents[1]
    model, tokenizer, aligner = MMPTModel.from_pretrained(str(root / "projects/retri/videoclip/how2.yaml"))
    # The authors' loader ignores missing weights.
    weights = torch.load("runs/retri/videoclip/checkpoint_best.pt", map_location="cpu", weights_only=True)["model"]
    required = {f"mmmodel.{name}" for name in model.model.state_dict() if "position_ids" not in name}
    if missing := sorted(required - set(weights)):
        raise RuntimeError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    model.to(device).eval()


def preprocess(frames):
    """Return the frames in seconds of 30, of shape (1, seconds, 30, height, width, 3)."""
    if len(frames) % FRAMES_PER_SECOND or not len(frames):
        raise ValueError(
            f"{len(frames)} frames cannot be divided into seconds of {FRAMES_PER_SECOND}. Use a sampling of "
            f"{FRAMES_PER_SECOND}, 60, ... frames."
        )
    height, width = frames.shape[1:3]
    size = (SIZE, int(height * SIZE / width)) if height >= width else (int(width * SIZE / height), SIZE)
    left, top = (int((length - SIZE) / 2) for length in size)
    resized = [np.asarray(Image.fromarray(frame).resize(size, Image.Resampling.BICUBIC)) for frame in frames]
    cropped = np.stack(resized)[:, top : top + SIZE, left : left + SIZE]
    return torch.tensor(cropped).float().div(255).reshape(1, -1, FRAMES_PER_SECOND, SIZE, SIZE, 3)


@torch.inference_mode()
def similarity(frames, times, caption):
    global cached
    device = next(model.parameters()).device
    if cached[0] is not frames:
        cached = frames, preprocess(frames).to(device)
    text = aligner._build_text_seq(tokenizer(caption, add_special_tokens=False)["input_ids"])
    with torch.device(device):
        output = model(cached[1], *(part[None].to(device) for part in text), return_score=True)
    return output["score"].item()
