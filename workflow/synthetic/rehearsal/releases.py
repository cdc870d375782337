"""Which releases a rehearsal can write: one function a benchmark."""

from collections.abc import Callable
from pathlib import Path

from reprise.core.errors import unknown

from synthetic.rehearsal import mmbench_video, temporalbench, velociti, vinoground

WRITERS: dict[str, Callable[[Path], None]] = {
    "velociti": velociti.write_release,
    "vinoground": vinoground.write_release,
    "temporalbench": temporalbench.write_release,
    "mmbench_video": mmbench_video.write_release,
}


def write_release(benchmark: str, folder: Path) -> None:
    """Write a synthetic release of a benchmark, in its authors' layout and as large as the paper's."""
    if benchmark not in WRITERS:
        raise unknown("benchmark of the rehearsal", benchmark, WRITERS, "release")
    WRITERS[benchmark](folder)
