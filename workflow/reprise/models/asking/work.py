"""All that is asked about one clip, and how clips are shared out among copies of a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from reprise.core.files import value_digest
from reprise.models.asking.journal import entry_id
from reprise.models.base import Clip, Request

NO_CLIP = ""


@dataclass(frozen=True)
class Work:
    """All that is asked about one clip."""

    clip: Clip
    recipe: str
    requests: tuple[Request, ...]
    check: Callable[[], object] = str
    """Stops the job where the clip's file is not what its ledger names: nobody is asked about damaged frames."""

    @cached_property
    def digests(self) -> list[str]:
        """Of each question, what the model is really asked."""
        return [prompt_digest(request) for request in self.requests]

    @cached_property
    def entries(self) -> list[str]:
        """Of each question, its entry in the journal."""
        return [entry_id(self.recipe, digest) for digest in self.digests]

    @property
    def questions(self) -> dict[str, Request]:
        """Entry -> question."""
        return dict(zip(self.entries, self.requests, strict=True))


def prompt_digest(request: Request) -> str:
    """Digest of what the model is really asked."""
    names = ("system", "prompt", "ask", "options", "max_tokens")
    return value_digest({name: getattr(request, name) for name in names})


def shares_of(works: Sequence[Work], count: int) -> list[Sequence[Work]]:
    """The clips in so many shares, always the same; those with the same frames are in one."""
    names = [work.recipe or work.clip.clip_id for work in works]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    shares: list[list[Work]] = [[] for _ in range(count)]
    for name, work in zip(names, works, strict=True):
        shares[places[name] % count].append(work)
    return list(shares)
