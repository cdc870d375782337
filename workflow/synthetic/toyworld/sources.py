"""The sources behind all of the toy world's evaluation clips, by their ids."""

from reprise.core.errors import UserError

from synthetic.toyworld.counterfactuals import counterfactual_sources
from synthetic.toyworld.generate import evaluation_sources
from synthetic.toyworld.script import Part, Source


def load_source_script(source_id: str) -> Source:
    """One evaluation source by its id, or one of its clips as a video of its own."""
    for source in (*evaluation_sources(), *counterfactual_sources()):
        if source.source_id == source_id:
            return source
        clips = source.clips()
        if source_id in clips:
            return Source(source_id, (Part(0, clips[source_id], is_clip=True),))
    raise UserError(f"toy world: no source '{source_id}'. The releases name those that there are.")
