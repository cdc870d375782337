"""Plugin interface of the rehearsal: a function that writes releases, and a fetcher of films."""

from pathlib import Path

from reprise.core.errors import unknown_name_error
from reprise.fetch.settings import ReleaseRehearsal

from synthetic.rehearsal import mmbench_video, temporalbench, velociti, vinoground
from synthetic.rehearsal.films import fetcher

__all__ = ["WRITERS", "fetcher", "write_release"]

WRITERS = {
    "velociti": velociti.write_release,
    "vinoground": vinoground.write_release,
    "temporalbench": temporalbench.write_release,
    "mmbench_video": mmbench_video.write_release,
}


def write_release(benchmark: str, folder: Path, settings: ReleaseRehearsal) -> None:
    """Write a synthetic release of a benchmark, in its authors' layout and as large as the paper's."""
    if benchmark not in WRITERS:
        raise unknown_name_error("benchmark of the rehearsal", benchmark, WRITERS, "release")
    WRITERS[benchmark](folder)
