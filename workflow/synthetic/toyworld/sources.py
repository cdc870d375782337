"""Look up the toy world's evaluation sources and clips by id."""

from reprise.core.errors import UserError

from synthetic.toyworld.counterfactuals import counterfactual_sources
from synthetic.toyworld.generate import EVALUATION_SOURCES, MAX_EVALUATION_SOURCES, evaluation_sources
from synthetic.toyworld.script import Part, Source


def find_source(source_id: str) -> Source:
    """Return an evaluation source by its id, or one of its clips as a separate source."""
    for count in (EVALUATION_SOURCES, MAX_EVALUATION_SOURCES):
        for source in (*evaluation_sources(count), *counterfactual_sources(count)):
            if source.source_id == source_id:
                return source
            clips = source.clips()
            if source_id in clips:
                return Source(source_id, (Part(0, clips[source_id], is_clip=True),))
    raise UserError(f"toy world: no source '{source_id}'. The releases list all sources.")
