"""Run ImageBind with its authors' code: the loop of their README, with a video of `load_and_transform_video_data`."""

from functools import partial

from theirs import randomize, stub_modules

stub_modules("torchaudio")
import torch
from imagebind import data
from imagebind.models import imagebind_model
from safetensors.torch import load_file, save_file

SMALL = {f"{one}_num_blocks": 1 for one in ("vision", "text", "audio", "depth", "thermal", "imu")} | {
    "vision_embed_dim": 32, "vision_num_heads": 2, "text_embed_dim": 32, "text_num_heads": 2, "out_embed_dim": 32,
}  # fmt: skip


def shrink():
    """Replace the authors' large model by a small one."""
    imagebind_model.imagebind_huge = partial(imagebind_model.ImageBindModel, **SMALL)


def make(folder):
    save_file(randomize(imagebind_model.imagebind_huge()).state_dict(), folder / "model.safetensors")


class Video:
    """Two frames as a whole video."""

    duration = 2.0

    def __init__(self, frames):
        self._frames = frames

    def get_clip(self, start, end):
        return {"video": torch.tensor(self._frames).permute(3, 0, 1, 2).float()}


def ask(folder, frames, asked):
    model = imagebind_model.imagebind_huge().eval()
    model.load_state_dict(load_file(f"{folder}/model.safetensors"))
    data.EncodedVideo.from_path = lambda pair, **options: Video(pair)
    pairs = [frames[start : start + 2] for start in range(0, len(frames), 2)]
    video = data.load_and_transform_video_data(pairs, "cpu", clips_per_video=1)
    inputs = {"vision": video.flatten(0, 1)[None], "text": data.load_and_transform_text(asked["questions"], "cpu")}
    found = model(inputs)
    return (found["vision"] @ found["text"].T)[0].tolist()


shrink()
