"""LanguageBind's video model, used as in its authors' README.

The authors' transform flips half of the videos at random; that is left out here, because results must be reproducible.
The weights are a pickle, `pytorch_model.bin`, which is read with `weights_only`.
"""

import importlib.util
import sys
import types
from pathlib import Path

import torch
from safetensors.torch import load_file

# The package's __init__ imports modules that only audio needs, so its submodules are imported without it.
package = types.ModuleType("languagebind")
package.__path__ = list(importlib.util.find_spec("languagebind").submodule_search_locations)
sys.modules["languagebind"] = package
from languagebind.video.configuration_video import LanguageBindVideoConfig  # noqa: E402
from languagebind.video.modeling_video import LanguageBindVideo  # noqa: E402
from languagebind.video.processing_video import RandomHorizontalFlipVideo, get_video_transform  # noqa: E402
from languagebind.video.tokenization_video import LanguageBindVideoTokenizer  # noqa: E402


def load(folder, device):
    global model, tokenizer, transform, cached
    config, cached = LanguageBindVideoConfig.from_pretrained(folder), (None, None)
    config.vision_config.video_decode_backend = "decord"  # its transform accepts decoded frames
    model = LanguageBindVideo(config)
    files = sorted(Path(folder).glob("*.safetensors"))
    pickles = [torch.load(path, map_location="cpu", weights_only=True) for path in Path(folder).glob("*.bin")]
    weights = [load_file(path) for path in files] or pickles
    result = model.load_state_dict({name: tensor for part in weights for name, tensor in part.items()}, strict=False)
    missing = [name for name in result.missing_keys if "position_ids" not in name]
    if missing:
        raise RuntimeError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    model.to(device).eval()
    tokenizer = LanguageBindVideoTokenizer.from_pretrained(folder)
    transform = get_video_transform(config)
    transform.transforms = [step for step in transform.transforms if not isinstance(step, RandomHorizontalFlipVideo)]


@torch.inference_mode()
def similarity(frames, times, caption):
    global cached
    expected = model.config.vision_config.num_frames
    if len(frames) != expected:
        raise ValueError(
            f"this model takes {expected} frames, but got {len(frames)}. Use a sampling of {expected} frames."
        )
    if cached[0] is not frames:
        pixels = transform(torch.tensor(frames).permute(3, 0, 1, 2))[None].to(model.device)
        cached = frames, model.get_image_features(pixels)[0]
    settings = {"max_length": 77, "padding": "max_length", "truncation": True, "return_tensors": "pt"}
    text = model.get_text_features(**tokenizer(caption, **settings).to(model.device))[0]
    return torch.nn.functional.cosine_similarity(cached[1], text, dim=0).item()
