"""ImageBind as its authors' README compares, with videos as `load_and_transform_video_data` of imagebind/data.py.

Two frames are a clip, each clip is seen in three crops, and the features of all are averaged, as the model's
`forward` does. The weights are the authors' as somebody else put them on the hub, in safetensors, or
`imagebind_huge.pth`, which `weights_only` reads.
"""

import importlib.util
import sys
import types
from pathlib import Path

import torch
from pytorchvideo.transforms import ShortSideScale
from safetensors.torch import load_file

# The package's own beginning imports what only sounds need: its modules are taken one by one.
package = types.ModuleType("imagebind")
package.__path__ = list(importlib.util.find_spec("imagebind").submodule_search_locations)
sys.modules["imagebind"] = package
from imagebind.models import imagebind_model, multimodal_preprocessors  # noqa: E402

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
A_CLIP, SIZE, CROPS = 2, 224, 3


def load(folder, device):
    global model, tokenizer, seen
    model, seen = imagebind_model.imagebind_huge(), (None, None)
    files = sorted(Path(folder).glob("*.safetensors"))
    pickles = [torch.load(path, map_location="cpu", weights_only=True) for path in Path(folder).glob("*.pth")]
    weights = [load_file(path) for path in files] or pickles
    model.load_state_dict({name: one for part in weights for name, one in part.items()})
    model.to(device).eval()
    words = Path(package.__path__[0]) / "bpe" / "bpe_simple_vocab_16e6.txt.gz"
    tokenizer = multimodal_preprocessors.SimpleTokenizer(bpe_path=str(words))


def clips(frames):
    """The crops of all clips (crops, channels, frames, height, width)."""
    if len(frames) % A_CLIP or not len(frames):
        raise ValueError(f"{len(frames)} frames are no clips of {A_CLIP}. Name a sampling of an even number of frames.")
    found = []
    for start in range(0, len(frames), A_CLIP):
        clip = torch.tensor(frames[start : start + A_CLIP]).permute(3, 0, 1, 2) / 255.0
        clip = ShortSideScale(SIZE)(clip)
        mean, std = (torch.tensor(one)[:, None, None, None] for one in (MEAN, STD))
        clip = (clip - mean) / std
        height, width = clip.shape[-2:]
        tops, lefts = ([0, -(-(one - SIZE) // 2), one - SIZE] for one in (height, width))
        for crop in range(CROPS):
            top, left = (tops[crop], lefts[1]) if height > width else (tops[1], lefts[crop])
            found.append(clip[..., top : top + SIZE, left : left + SIZE])
    return torch.stack(found)


@torch.inference_mode()
def similarity(frames, times, caption):
    global seen
    device = next(model.parameters()).device
    if seen[0] is not frames:
        seen = frames, model({"vision": clips(frames)[None].to(device)})["vision"][0]
    text = model({"text": tokenizer(caption)[None].to(device)})["text"][0]
    return (seen[1] @ text).item()
