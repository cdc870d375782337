"""Create the fetcher of a configured route, and import only the libraries of this route."""

from reprise.core.store import Store
from reprise.fetch.outcome import Fetcher
from reprise.fetch.plugins import load_plugin
from reprise.fetch.settings import Archive, Folder, Http, Huggingface, RenderedVideos, Route


def create_fetcher(route: Route, store: Store) -> Fetcher:
    """Return the fetcher of a route."""
    if isinstance(route, RenderedVideos):
        return load_plugin(route.kind).fetcher(route)
    if isinstance(route, Folder):
        from reprise.fetch.local import create_folder_fetcher

        return create_folder_fetcher(route, store)
    if isinstance(route, Archive):
        from reprise.fetch.local import create_archive_fetcher

        return create_archive_fetcher(route, store)
    if isinstance(route, Http):
        from reprise.fetch.direct import create_http_fetcher

        return create_http_fetcher(route)
    if isinstance(route, Huggingface):
        from reprise.fetch.hub import create_hub_fetcher

        return create_hub_fetcher(route, store)
    from reprise.fetch.youtube import create_youtube_fetcher

    return create_youtube_fetcher(route, store)
