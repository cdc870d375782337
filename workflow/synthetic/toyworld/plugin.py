"""Plugin interface of the toy world: a function that writes releases, and a fetcher of videos."""

from pathlib import Path

from reprise.core.errors import unknown_name_error
from reprise.fetch.outcome import FetchedFile, Fetcher, fill_safe_name
from reprise.fetch.plugins import PLUGINS
from reprise.fetch.settings import ReleaseToy, Toyworld

from synthetic.toyworld import annotated_clips, mmbench_video, temporalbench, velociti, vinoground
from synthetic.toyworld.render import render_source

WRITERS = {
    "velociti": velociti.write_release,
    "vinoground": vinoground.write_release,
    "temporalbench": temporalbench.write_release,
    "mmbench_video": mmbench_video.write_release,
}


def write_release(benchmark: str, folder: Path, settings: ReleaseToy) -> None:
    """Write the toy world's release of a benchmark, in its authors' layout."""
    if benchmark not in WRITERS:
        raise unknown_name_error("benchmark of the toy world", benchmark, WRITERS, "release")
    WRITERS[benchmark](folder, settings.sources)
    if benchmark == "temporalbench":
        annotated_clips.write_annotations(folder)


def fetcher(settings: Toyworld) -> Fetcher:
    """Return a fetcher that renders the videos. The identity of a source contains the version of the toy world."""
    version = PLUGINS["toyworld"].version

    def fetch(source_id: str, folder: Path) -> FetchedFile:
        target = folder / fill_safe_name("{source_id}.mp4", source_id)
        render_source(source_id, target)
        return FetchedFile(target)

    return Fetcher(lambda source_id: ["toyworld", version, source_id], fetch)
