"""The sources behind all of the toy world's evaluation clips, by their ids."""

from reprise.errors import UserError
from reprise.toyworld.counterfactuals import counterfactual_sources
from reprise.toyworld.generate import evaluation_sources
from reprise.toyworld.script import Source


def load_source_script(source_id: str) -> Source:
    """One evaluation source by its id."""
    for source in (*evaluation_sources(), *counterfactual_sources()):
        if source.source_id == source_id:
            return source
    raise UserError(f"toy world: no source '{source_id}'. The releases name those that there are.")
