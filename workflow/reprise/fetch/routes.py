"""From a configured route to something that can be asked; a route's own libraries are imported only when it is used."""

from reprise.core.store import Store
from reprise.fetch.outcome import Fetcher
from reprise.fetch.settings import Archive, Folder, Http, Huggingface, Rehearsal, Route, Toyworld


def fetcher_for(route: Route, store: Store) -> Fetcher:
    """The fetcher of a route."""
    from reprise.fetch import local

    if isinstance(route, Toyworld):
        return local.toyworld()
    if isinstance(route, Rehearsal):
        from synthetic.rehearsal.films import rehearsal

        return rehearsal(route)
    if isinstance(route, Folder):
        return local.folder(route, store)
    if isinstance(route, Archive):
        return local.archive(route, store)
    if isinstance(route, Http):
        from reprise.fetch.direct import http

        return http(route)
    if isinstance(route, Huggingface):
        from reprise.fetch.hub import huggingface

        return huggingface(route, store)
    from reprise.fetch.youtube import youtube

    return youtube(route, store)
