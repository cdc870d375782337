"""Which releases the toy world can write: one function a benchmark."""

from collections.abc import Callable
from pathlib import Path

from reprise.core.errors import unknown

from synthetic.toyworld import mmbench_video, temporalbench, velociti, vinoground

WRITERS: dict[str, Callable[[Path], None]] = {
    "velociti": velociti.write_release,
    "vinoground": vinoground.write_release,
    "temporalbench": temporalbench.write_release,
    "mmbench_video": mmbench_video.write_release,
}


def write_release(benchmark: str, folder: Path) -> None:
    """Write the toy world's release of a benchmark, in its authors' layout."""
    if benchmark not in WRITERS:
        raise unknown("benchmark of the toy world", benchmark, WRITERS, "release")
    WRITERS[benchmark](folder)
