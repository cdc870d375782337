"""Models on a server: who answered, and questions about many clips that are answered in any order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from reprise.models.adapters.base import Answer, Clip, Request


@dataclass(frozen=True)
class ServedAnswer(Answer):
    """An answer that a server gave."""

    served: str = ""
    """id of the model that answered, by the server"""


def served_by(answer: Answer | None) -> str:
    """Id of the model that answered; empty where no server did."""
    return answer.served if isinstance(answer, ServedAnswer) else ""


class Due(NamedTuple):
    """A clip and the questions that are due about it."""

    clip: Clip
    requests: tuple[Request, ...]
    check: Callable[[], object] = str
    """stops the job where the clip's file is not what its ledger names"""


class Arrived(NamedTuple):
    """An answer or a failure as soon as it is there, and how long the question was on its way."""

    clip: Clip
    request: Request
    answer: Answer
    seconds: float
    parts: Mapping[str, float] = {}
    """what was done once for the clip; stands at one of its answers"""


@runtime_checkable
class ServedModel(Protocol):
    """A model that is asked about many clips at a time."""

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]: ...
