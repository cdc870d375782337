"""Create the fetcher of a configured route; a route's own libraries are imported only when it is used."""

from reprise.core.store import Store
from reprise.fetch.outcome import Fetcher
from reprise.fetch.plugins import load_world
from reprise.fetch.settings import Archive, Folder, Http, Huggingface, Made, Route


def fetcher_for(route: Route, store: Store) -> Fetcher:
    """Return the fetcher of a route."""
    if isinstance(route, Made):
        return load_world(route.kind).fetcher(route)
    if isinstance(route, Folder):
        from reprise.fetch.local import folder

        return folder(route, store)
    if isinstance(route, Archive):
        from reprise.fetch.local import archive

        return archive(route, store)
    if isinstance(route, Http):
        from reprise.fetch.direct import http

        return http(route)
    if isinstance(route, Huggingface):
        from reprise.fetch.hub import huggingface

        return huggingface(route, store)
    from reprise.fetch.youtube import youtube

    return youtube(route, store)
