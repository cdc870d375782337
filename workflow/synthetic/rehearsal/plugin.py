"""The rehearsal as the library sees it: its releases, and a route to its films."""

from synthetic.rehearsal.films import fetcher
from synthetic.rehearsal.releases import write_release

__all__ = ["fetcher", "write_release"]
