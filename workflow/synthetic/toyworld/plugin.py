"""The toy world as the library sees it: its releases, and a route to its videos."""

from pathlib import Path

from reprise.core.files import file_digest, value_digest
from reprise.fetch.outcome import Fetched, Fetcher, nothing, safe_name
from reprise.fetch.settings import Toyworld

from synthetic.toyworld.releases import write_release
from synthetic.toyworld.render import render_source

__all__ = ["fetcher", "write_release"]


def fetcher(settings: Toyworld) -> Fetcher:
    """Render the toy world's videos; a change of its code makes other sources."""
    code = value_digest({path.name: file_digest(path) for path in sorted(Path(__file__).parent.glob("*.py"))})

    def fetch(source_id: str, folder: Path) -> Fetched:
        target = folder / safe_name("{source_id}.mp4", source_id)
        render_source(source_id, target)
        return Fetched(target)

    return Fetcher(lambda source_id: ["toyworld", code, source_id], fetch, nothing)
