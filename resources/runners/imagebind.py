"""ImageBind, used as in its authors' README, with videos as in `load_and_transform_video_data` of imagebind/data.py.

Two frames form a clip, each clip is encoded in three crops, and all features are averaged, as in the model's `forward`.
The weights are a conversion of the authors' weights to safetensors on the hub, or `imagebind_huge.pth`, which is read
with `weights_only`.
"""

import importlib.util
import sys
import types
from pathlib import Path

import torch
from pytorchvideo.transforms import ShortSideScale
from safetensors.torch import load_file

# The package's __init__ imports modules that only audio needs, so its submodules are imported without it.
package = types.ModuleType("imagebind")
package.__path__ = list(importlib.util.find_spec("imagebind").submodule_search_locations)
sys.modules["imagebind"] = package
from imagebind.models import imagebind_model, multimodal_preprocessors  # noqa: E402

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
FRAMES_PER_CLIP, SIZE, CROPS = 2, 224, 3


def load(folder, device):
    global model, tokenizer, cached
    model, cached = imagebind_model.imagebind_huge(), (None, None)
    files = sorted(Path(folder).glob("*.safetensors"))
    pickles = [torch.load(path, map_location="cpu", weights_only=True) for path in Path(folder).glob("*.pth")]
    weights = [load_file(path) for path in files] or pickles
    model.load_state_dict({name: tensor for part in weights for name, tensor in part.items()})
    model.to(device).eval()
    vocabulary = Path(package.__path__[0]) / "bpe" / "bpe_simple_vocab_16e6.txt.gz"
    tokenizer = multimodal_preprocessors.SimpleTokenizer(bpe_path=str(vocabulary))


def crop_clips(frames):
    """Return the crops of all clips, of shape (crops, channels, frames, height, width)."""
    if len(frames) % FRAMES_PER_CLIP or not len(frames):
        raise ValueError(
            f"{len(frames)} frames cannot be divided into clips of {FRAMES_PER_CLIP}. Use a sampling of an even number "
            "of frames."
        )
    crops = []
    for start in range(0, len(frames), FRAMES_PER_CLIP):
        clip = torch.tensor(frames[start : start + FRAMES_PER_CLIP]).permute(3, 0, 1, 2) / 255.0
        clip = ShortSideScale(SIZE)(clip)
        mean, std = (torch.tensor(values)[:, None, None, None] for values in (MEAN, STD))
        clip = (clip - mean) / std
        height, width = clip.shape[-2:]
        tops, lefts = ([0, -(-(side - SIZE) // 2), side - SIZE] for side in (height, width))
        for crop in range(CROPS):
            top, left = (tops[crop], lefts[1]) if height > width else (tops[1], lefts[crop])
            crops.append(clip[..., top : top + SIZE, left : left + SIZE])
    return torch.stack(crops)


@torch.inference_mode()
def similarity(frames, times, caption):
    global cached
    device = next(model.parameters()).device
    if cached[0] is not frames:
        cached = frames, model({"vision": crop_clips(frames)[None].to(device)})["vision"][0]
    text = model({"text": tokenizer(caption)[None].to(device)})["text"][0]
    return (cached[1] @ text).item()
