"""LanguageBind's video model as its authors' README compares a video and a text.

Their transform flips half of the videos at random: that is left out here, since a number must be playable again. All
else of it is theirs. Their weights are a pickle, `pytorch_model.bin`, which `weights_only` reads.
"""

import importlib.util
import sys
import types
from pathlib import Path

import torch
from safetensors.torch import load_file

# The package's own beginning imports what only sounds need: its modules are taken one by one.
package = types.ModuleType("languagebind")
package.__path__ = list(importlib.util.find_spec("languagebind").submodule_search_locations)
sys.modules["languagebind"] = package
from languagebind.video.configuration_video import LanguageBindVideoConfig  # noqa: E402
from languagebind.video.modeling_video import LanguageBindVideo  # noqa: E402
from languagebind.video.processing_video import RandomHorizontalFlipVideo, get_video_transform  # noqa: E402
from languagebind.video.tokenization_video import LanguageBindVideoTokenizer  # noqa: E402


def load(folder, device):
    global model, tokenizer, transform, seen
    config, seen = LanguageBindVideoConfig.from_pretrained(folder), (None, None)
    config.vision_config.video_decode_backend = "decord"  # of its transforms the one that takes frames as they are
    model = LanguageBindVideo(config)
    files = sorted(Path(folder).glob("*.safetensors"))
    pickles = [torch.load(path, map_location="cpu", weights_only=True) for path in Path(folder).glob("*.bin")]
    weights = [load_file(path) for path in files] or pickles
    found = model.load_state_dict({name: one for part in weights for name, one in part.items()}, strict=False)
    missing = [one for one in found.missing_keys if "position_ids" not in one]
    if missing:
        raise RuntimeError(f"{folder} holds no {missing[0]}, and {len(missing) - 1} weights more are missing")
    model.to(device).eval()
    tokenizer = LanguageBindVideoTokenizer.from_pretrained(folder)
    transform = get_video_transform(config)
    transform.transforms = [one for one in transform.transforms if not isinstance(one, RandomHorizontalFlipVideo)]


@torch.inference_mode()
def similarity(frames, times, caption):
    global seen
    wanted = model.config.vision_config.num_frames
    if len(frames) != wanted:
        raise ValueError(f"this model takes {wanted} frames, and {len(frames)} are shown. Name a sampling of {wanted}.")
    if seen[0] is not frames:
        pixels = transform(torch.tensor(frames).permute(3, 0, 1, 2))[None].to(model.device)
        seen = frames, model.get_image_features(pixels)[0]
    how = {"max_length": 77, "padding": "max_length", "truncation": True, "return_tensors": "pt"}
    text = model.get_text_features(**tokenizer(caption, **how).to(model.device))[0]
    return torch.nn.functional.cosine_similarity(seen[1], text, dim=0).item()
