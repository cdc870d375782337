"""Where ffmpeg is, and the settings that make its output the same every time."""

import shutil
from functools import cache

# One thread and no tags of the encoder: the same bytes on every run, the same frames for any number of cores.
BIT_EXACT = {
    "fflags": "+bitexact",
    "flags:v": "+bitexact",
    "flags:a": "+bitexact",
    "map_metadata": -1,
    "map_chapters": -1,
    "threads": 1,
    "movflags": "+faststart",
}
QUIET = ("-hide_banner", "-loglevel", "error", "-nostdin")


@cache
def ffmpeg_executable() -> str:
    """The system's ffmpeg if there is one, else the binary that imageio-ffmpeg's wheel carries."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    import imageio_ffmpeg  # only machines without ffmpeg need it

    return str(imageio_ffmpeg.get_ffmpeg_exe())
