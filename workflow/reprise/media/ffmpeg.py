"""Locate the ffmpeg executable, and define the options that make its output reproducible."""

import shutil
from functools import cache

# With one thread and without the encoder's tags, ffmpeg always writes the same bytes.
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
    """Return the system's ffmpeg if there is one, else the binary in imageio-ffmpeg's wheel."""
    path = shutil.which("ffmpeg")
    if path:
        return path
    import imageio_ffmpeg  # Only machines without ffmpeg need this package.

    return str(imageio_ffmpeg.get_ffmpeg_exe())
