"""Write slide shows for annotators: silent videos of the frames that a model gets, with equal time per frame."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from reprise.core.store import Store
from reprise.media.decoder import read_frames
from reprise.media.probe import open_video
from reprise.media.settings import Encode


def write_slide_show(source: Path, indices: Sequence[int], seconds: float, target: Path, settings: Encode) -> None:
    """Write the frames of a clip as a video that lasts `seconds`."""
    frames = read_frames(source, indices)
    height, width = (size // 2 * 2 for size in frames.shape[1:3])  # `yuv420p` needs even sizes.
    rate = Fraction(len(indices) / seconds).limit_denominator(1000)
    with av.open(str(target), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream(
            "libx264", rate=rate, options={"crf": str(settings.crf), "preset": settings.preset}
        )
        stream.width, stream.height, stream.pix_fmt, stream.thread_count = width, height, "yuv420p", 1
        for frame in frames:
            image = np.ascontiguousarray(frame[:height, :width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())


def get_slide_show(source: Path, sha256: str, indices: Sequence[int], seconds: float, store: Store) -> Path:
    """Return the path of a slide show in the store. Encode the slide show if the store does not have it."""
    settings = Encode()
    recipe = {"kind": "slides", "source": sha256, "frames": list(indices), "seconds": seconds, "av": av.__version__}
    return store.get_or_make(
        "clips", recipe, ".mp4", lambda scratch: write_slide_show(source, indices, seconds, scratch, settings)
    )[0]


def has_sound(path: Path) -> bool:
    """Return whether a video has an audio stream."""
    with open_video(path) as (container, _):
        return bool(container.streams.audio)
